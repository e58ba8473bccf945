//! Generates `docs/reference`: the command line from its help, the API from its OpenAPI document,
//! the error codes from `Code::ALL`, and the manifest from the keys that its reader knows.

mod manifest;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::{ArgAction, Args, Command};

use crate::args::{screen, tree};
use crate::failure::{Failure, Result};
use crate::output::Ui;

/// Write the generated reference
#[derive(Debug, Args)]
pub struct ReferenceArgs {
    /// The folder to write to
    folder: PathBuf,
    /// Only check that the folder is up to date
    #[arg(long)]
    check: bool,
}

pub fn run(ui: &Ui, args: &ReferenceArgs) -> Result<()> {
    let openapi =
        serde_json::to_string_pretty(&milepost_server::openapi()).map_err(|error| Failure::new(error.to_string()))?;
    let schema = milepost_declared::manifest::keys::schema::schema();
    for (name, text) in [
        ("cli.md", command_line()),
        ("errors.md", errors()),
        ("openapi.json", openapi + "\n"),
        ("manifest.md", manifest::page()),
        ("milepost.schema.json", format!("{schema:#}\n")),
    ] {
        write(&args.folder.join(name), &text, args.check)?;
    }
    ui.say(if args.check { "The reference is up to date." } else { "The reference is written." });
    Ok(())
}

fn write(path: &Path, text: &str, check: bool) -> Result<()> {
    if !check {
        return Ok(std::fs::write(path, text)?);
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    if found == text {
        return Ok(());
    }
    Err(Failure::new(format!("`{}` is out of date", path.display())).hint("run `cargo xtask docs`"))
}

fn command_line() -> String {
    let mut page = "# The command line\n\nGenerated from the help of the commands by `cargo xtask docs`.\n".to_owned();
    let mut root = tree::as_shown(crate::args::Cli::definition()).term_width(100);
    root.build();
    contents(&mut page, &root);
    describe(&mut page, &root, "milepost");
    page
}

/// The table of contents: the groups of the first screen, with a link for each command.
fn contents(page: &mut String, root: &Command) {
    for (heading, names) in screen::GROUPS {
        let _ = write!(page, "\n**{heading}**\n\n");
        for name in *names {
            let Some(command) = root.find_subcommand(name) else { continue };
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(page, "- [`{name}`](#milepost-{name}): {about}");
            for sub in visible(command) {
                let path = format!("{name} {}", sub.get_name());
                let _ = writeln!(page, "  - [`{path}`](#milepost-{})", path.replace(' ', "-"));
            }
        }
    }
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
}

fn errors() -> String {
    let mut page = "# Error codes\n\nEvery API error is `application/problem+json` with one of these codes. Codes are never renamed.\n\n\
        With `-o json`, the command line prints an error as one line of JSON on stderr, with `code`,\n\
        `message`, `hint`, `causes`, `blockers`, `mistakes` and `warnings`. The code is one of these, or\n\
        `usage` (exit code 2), `failed` or `cancelled`.\n\n".to_owned();
    page.push_str("| code | status |\n|---|---|\n");
    for code in milepost_model::Code::ALL {
        let _ = writeln!(page, "| `{}` | {} |", code.as_str(), code.class().status());
    }
    page
}

fn describe(page: &mut String, command: &Command, path: &str) {
    let mut shown = command.clone().bin_name(path).term_width(100);
    if path != "milepost" {
        // Global options are shown only for the root. `--version` is hidden by its action and not
        // by its name, because many commands have an option `--version` of their own.
        shown = shown.mut_args(|arg| {
            let built_in = matches!(arg.get_action(), ArgAction::Help | ArgAction::Version);
            let hidden = arg.is_global_set() || built_in || arg.is_hide_set();
            arg.hide(hidden).hide_short_help(false)
        });
    }
    let help = shown.render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = write!(page, "\n## `{path}`\n\n```text\n{}\n```\n", lines.join("\n").trim_end());
    for sub in visible(command) {
        describe(page, sub, &format!("{path} {}", sub.get_name()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section<'a>(page: &'a str, command: &str) -> &'a str {
        let from = page.find(&format!("## `{command}`\n")).expect(command);
        page[from..].split("\n## ").next().unwrap_or_default()
    }

    #[test]
    fn reference_shows_options_named_version_and_hides_global_ones() {
        let page = command_line();
        let create = section(&page, "milepost function version create");
        assert!(create.contains("--version <VERSION>"), "{create}");
        assert!(!create.contains("--help") && !create.contains("--token"), "{create}");
        let root = section(&page, "milepost");
        assert!(root.contains("--version") && root.contains("--token"), "{root}");
    }
}
