//! `cargo xtask tour [--write] [--all | PAGE…]`: builds Milepost and runs the commands of
//! documentation pages, `README.md` by default, each page against a server of its own in a
//! temporary directory.
//!
//! A command that fails where the page shows no error, or the reverse, fails the tour. Output that
//! differs is only listed: ids and times always do. With `--write` the page gets the new output.

mod page;
mod server;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use self::page::{Page, Part, Step};
use self::server::Server;
use crate::shell::{cargo, root, run as run_command, target_dir};

/// How long the command that follows logs may run.
const FOLLOW_SECONDS: u32 = 4;

pub fn run(arguments: &[&str]) -> Result<()> {
    let (options, names): (Vec<&str>, Vec<&str>) = arguments.iter().partition(|argument| argument.starts_with("--"));
    if let Some(unknown) = options.iter().find(|option| !["--write", "--all"].contains(option)) {
        bail!("unknown option `{unknown}`; the options are --write and --all");
    }
    let pages = match (options.contains(&"--all"), names.is_empty()) {
        (true, _) => all_pages()?,
        (false, true) => vec![root().join("README.md")],
        (false, false) => names.iter().map(PathBuf::from).collect(),
    };
    // Not quiet, because the first time this takes minutes.
    run_command(&mut cargo(&["build", "--locked", "-p", "milepost-cli"]))?;
    let binary = target_dir()?.join("debug/milepost");
    let mut failures = 0;
    for path in pages {
        let text = fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
        let mut page = Page::parse(&text);
        if page.commands() == 0 {
            continue;
        }
        println!("\n# {}", path.display());
        failures += walk(&mut page, &binary).with_context(|| format!("could not run {}", path.display()))?;
        if options.contains(&"--write") {
            fs::write(&path, page.render())?;
        }
    }
    if failures > 0 {
        bail!("{failures} commands did not end as their page says")
    }
    Ok(())
}

fn all_pages() -> Result<Vec<PathBuf>> {
    let mut pages = vec![root().join("README.md")];
    for entry in fs::read_dir(root().join("docs"))? {
        pages.push(entry?.path());
    }
    pages.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    Ok(pages)
}

/// Runs a page, prints its transcript and puts the new output into it. Returns how many commands
/// did not end as the page says.
fn walk(page: &mut Page, binary: &Path) -> Result<usize> {
    let folder = std::env::temp_dir().join(format!("milepost-tour-{}", std::process::id()));
    fs::create_dir_all(folder.join("shop"))?;
    let outcome = walk_in(page, binary, &folder);
    fs::remove_dir_all(&folder).context("could not remove the folder of the tour")?;
    outcome
}

fn walk_in(page: &mut Page, binary: &Path, folder: &Path) -> Result<usize> {
    let server = Server::start(binary, folder)?;
    let mut script = String::new();
    for (number, part) in page.parts.iter().enumerate() {
        match part {
            Part::Text(_) => {}
            Part::File { path, body, .. } => {
                let from = folder.join(format!("file-{number}"));
                fs::write(&from, body)?;
                script += &format!("mkdir -p \"$(dirname {path})\" && cp {} {path}\n", from.display());
            }
            Part::Hidden { commands, .. } => script += &server.step(&format!("{number}"), commands, folder)?,
            Part::Console { steps, .. } => {
                for (index, step) in steps.iter().enumerate() {
                    let follows = step.command == "milepost up" || step.command.starts_with("milepost up ");
                    let before = if follows { format!("timeout {FOLLOW_SECONDS} ") } else { String::new() };
                    let command = format!("{before}{}", step.command);
                    script += &server.step(&format!("{number}.{index}"), &command, folder)?;
                }
            }
        }
    }
    let output = server.shell(&script, folder)?;
    let mut failures = 0;
    for (number, part) in page.parts.iter_mut().enumerate() {
        match part {
            Part::Text(_) | Part::File { .. } => {}
            Part::Hidden { commands, .. } => {
                let (text, code) = output.of(&format!("{number}"));
                if code != Some(0) {
                    failures += 1;
                    println!("FAILED ({code:?}): {commands}\n{}", text.join("\n"));
                }
            }
            Part::Console { steps, .. } => {
                for (index, step) in steps.iter_mut().enumerate() {
                    let (text, code) = output.of(&format!("{number}.{index}"));
                    failures += usize::from(!settle(step, text, code));
                }
            }
        }
    }
    Ok(failures)
}

/// Prints a step and gives it its new output. Returns whether it ended as the page says.
fn settle(step: &mut Step, text: Vec<String>, code: Option<i32>) -> bool {
    println!("$ {}\n{}", step.command, text.join("\n"));
    let fails = step.output.iter().any(|line| line.to_lowercase().starts_with("error"));
    // `timeout` ends with 124 what follows the logs.
    let as_shown = matches!(code, Some(0 | 124)) != fails && code.is_some();
    if !as_shown {
        println!("FAILED: exit code {code:?}");
    }
    // An output of `…` is left out on purpose.
    if !step.output.iter().any(|line| line.contains('…')) {
        step.output = text;
    }
    as_shown
}

/// A command that runs as the page's reader would, without the settings of this shell.
fn reader(program: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("MILEPOST") {
            command.env_remove(name);
        }
    }
    let home = |name: &str| folder.join(name);
    command.env("HOME", folder).env("XDG_CACHE_HOME", home("cache")).env("XDG_CONFIG_HOME", home("config"));
    command.env("MILEPOST_DATA", home("data")).env("NO_COLOR", "1").env("TZ", "UTC").stdin(Stdio::null());
    for person in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{person}_NAME"), "Ada").env(format!("GIT_{person}_EMAIL"), "ada@example.org");
    }
    command
}
