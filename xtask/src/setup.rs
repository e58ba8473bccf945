//! `cargo xtask setup`: finds or installs what the tests need, one line a thing.
//!
//! Every step first looks, so that a second run costs a fraction of a second.

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result, bail};

use crate::shell::{command, run as run_command, succeeds, target_dir};

/// The S3 server of the tests. Pinned: what it accepts differs from version to version.
const MOTO: &str = "moto[server]==5.2.5";

pub fn run() -> Result<()> {
    debian("PostgreSQL server", postgres(), &["postgresql"])?;
    debian("flock", on_path("flock"), &["util-linux"])?;
    debian("Python 3 with venv", python(), &["python3", "python3-venv"])?;
    debian("Node.js", on_path("node"), &["nodejs"])?;
    debian("npm", on_path("npm"), &["npm"])?;
    debian("Chromium", browser(), &["chromium"])?;
    moto()?;
    match nextest() {
        true => say("cargo-nextest", "found"),
        false => say("cargo-nextest", "missing: `cargo test` is used; `cargo install cargo-nextest --locked` adds it"),
    }
    Ok(())
}

/// Whether `cargo nextest` can be used.
pub fn nextest() -> bool {
    succeeds(&mut crate::shell::cargo(&["nextest", "--version"]))
}

pub fn say(thing: &str, state: &str) {
    eprintln!("{thing:<20} {state}");
}

/// Installs Debian's packages when `found` is nothing.
pub fn debian(thing: &str, found: Option<PathBuf>, packages: &[&str]) -> Result<()> {
    if let Some(path) = found {
        say(thing, &format!("found {}", path.display()));
        return Ok(());
    }
    let install = [&["apt-get", "install", "-y", "--no-install-recommends"], packages].concat();
    let by_hand = format!("apt-get update && {}", install.join(" "));
    if on_path("apt-get").is_none() {
        bail!("{thing} is missing. Install it; on Debian that is `{by_hand}`");
    }
    say(thing, &format!("installing {}", packages.join(", ")));
    let root = command("id", &["-u"]).output().is_ok_and(|id| id.stdout == b"0\n");
    for step in [&["apt-get", "update", "-q"][..], &install] {
        let mut line = if root { command("env", step) } else { command("sudo", step) };
        line.env("DEBIAN_FRONTEND", "noninteractive").stdout(std::io::stderr());
        run_command(&mut line).with_context(|| format!("{thing} is missing; `{by_hand}` installs it"))?;
    }
    say(thing, "ok");
    Ok(())
}

/// Debian keeps the server's programs off the `PATH`, in a folder per version.
fn postgres() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    folders.sort();
    let debian = folders.into_iter().rev().find(|bin| bin.join("initdb").is_file() && bin.join("postgres").is_file());
    debian.or_else(|| on_path("initdb").and_then(|_| on_path("postgres")))
}

/// Debian's Python comes without the part that makes virtual environments.
fn python() -> Option<PathBuf> {
    let whole = succeeds(&mut command("python3", &["-c", "import venv, ensurepip"]));
    whole.then(|| on_path("python3")).flatten()
}

/// Looks at the example as people do.
fn browser() -> Option<PathBuf> {
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(on_path)
}

fn moto() -> Result<()> {
    let home = target_dir()?.join("tools/moto");
    // Written last, so that an interrupted installation is done again; and it names the version, so that a new pin is
    // installed.
    let mark = home.join("milepost-installed");
    if fs::read_to_string(&mark).is_ok_and(|installed| installed == MOTO) {
        say("moto (S3)", &format!("found {}", home.display()));
        return Ok(());
    }
    say("moto (S3)", &format!("installing {MOTO} into {}", home.display()));
    let home_text = home.to_str().context("the target folder's name is not UTF-8")?;
    run_command(&mut command("python3", &["-m", "venv", "--clear", home_text]))?;
    let pip = ["install", "--quiet", "--disable-pip-version-check", MOTO];
    run_command(&mut command(home.join("bin/pip"), &pip))?;
    fs::write(&mark, MOTO).with_context(|| format!("could not write {}", mark.display()))?;
    say("moto (S3)", "ok");
    Ok(())
}

pub fn on_path(program: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(program)).find(|path: &PathBuf| Path::is_file(path))
}
