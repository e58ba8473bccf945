//! `cargo xtask setup`: finds or installs what the tests need, and prints one line for each.
//!
//! Every step checks first, so that a second run takes a fraction of a second.

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result, bail};

use crate::shell::{command, run as run_command, succeeds, target_dir};

/// The S3 server of the tests. Pinned because versions differ in what they accept.
const MOTO: &[&str] = &["moto[server]==5.2.5"];
/// The client of the v1 interface. Pinned because the interface must accept what it sends.
const QINLING: &[&str] = &["python-qinlingclient==5.1.1", "python-openstackclient==10.5.0"];

pub fn run() -> Result<()> {
    debian(&[
        ("PostgreSQL server", postgres(), &["postgresql"]),
        ("PgBouncer", pgbouncer(), &["pgbouncer"]),
        ("flock", on_path("flock"), &["util-linux"]),
        ("Python 3 with venv", python(), &["python3", "python3-venv"]),
        ("pip", pip(), &["python3-pip"]),
        ("Node.js", on_path("node"), &["nodejs"]),
        ("npm", on_path("npm"), &["npm"]),
        ("Chromium", browser(), &["chromium"]),
        ("OCI registry", on_path("docker-registry"), &["docker-registry"]),
        ("skopeo", on_path("skopeo"), &["skopeo"]),
        ("minisign", on_path("minisign"), &["minisign"]),
        ("rsync", on_path("rsync"), &["rsync"]),
    ])?;
    python_tool("moto (S3)", "moto", MOTO)?;
    python_tool("client of v1", "qinling", QINLING)?;
    match nextest() {
        true => say("cargo-nextest", "found"),
        false => say("cargo-nextest", "missing: `cargo test` is used; `cargo install cargo-nextest --locked` adds it"),
    }
    Ok(())
}

/// Whether `cargo nextest` is available.
pub fn nextest() -> bool {
    succeeds(&mut crate::shell::cargo(&["nextest", "--version"]))
}

pub fn say(thing: &str, state: &str) {
    eprintln!("{thing:<20} {state}");
}

/// A requirement, where it was found, and the Debian packages that provide it.
type Need<'a> = (&'a str, Option<PathBuf>, &'a [&'a str]);

/// Installs the Debian packages of everything that was not found, all at once. If that is
/// impossible, the error lists the complete command.
pub fn debian(needs: &[Need<'_>]) -> Result<()> {
    let mut packages = Vec::new();
    for (thing, found, bring_it) in needs {
        match found {
            Some(path) => say(thing, &format!("found {}", path.display())),
            None => {
                say(thing, "missing");
                packages.extend_from_slice(bring_it);
            }
        }
    }
    if packages.is_empty() {
        return Ok(());
    }
    let install = [&["apt-get", "install", "-y", "--no-install-recommends"], &packages[..]].concat();
    let by_hand = format!("on Debian, root installs what is missing with `apt-get update && {}`", install.join(" "));
    let root = command("id", &["-u"]).output().is_ok_and(|id| id.stdout == b"0\n");
    // `env` comes after `sudo`, which does not pass on environment variables.
    let sudo = if root { &[][..] } else { &["sudo"] };
    let prefix = [sudo, &["env", "DEBIAN_FRONTEND=noninteractive"]].concat();
    if on_path("apt-get").is_none() || on_path(prefix[0]).is_none() {
        bail!("{by_hand}");
    }
    say("Debian packages", &format!("installing {}", packages.join(", ")));
    for step in [&["apt-get", "update", "-q"][..], &install] {
        let words = [&prefix, step].concat();
        let mut line = command(words[0], &words[1..]);
        run_command(line.stdout(std::io::stderr())).with_context(|| by_hand.clone())?;
    }
    say("Debian packages", "ok");
    Ok(())
}

/// Debian keeps the server's programs off the `PATH`, in one directory per version.
fn postgres() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    folders.sort();
    let debian = folders.into_iter().rev().find(|bin| bin.join("initdb").is_file() && bin.join("postgres").is_file());
    debian.or_else(|| on_path("initdb").and_then(|_| on_path("postgres")))
}

/// Debian keeps it off the `PATH` of users.
fn pgbouncer() -> Option<PathBuf> {
    let debian = PathBuf::from("/usr/sbin/pgbouncer");
    if debian.is_file() { Some(debian) } else { on_path("pgbouncer") }
}

/// Debian's Python lacks the modules that create virtual environments.
fn python() -> Option<PathBuf> {
    let whole = succeeds(&mut command("python3", &["-c", "import venv, ensurepip"]));
    whole.then(|| on_path("python3")).flatten()
}

/// Used by builds to install a `requirements.txt`.
fn pip() -> Option<PathBuf> {
    let there = succeeds(&mut command("python3", &["-m", "pip", "--version"]));
    there.then(|| on_path("python3")).flatten()
}

/// Used to render the example.
fn browser() -> Option<PathBuf> {
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(on_path)
}

/// Installs Python packages once, into their own directory.
fn python_tool(thing: &str, folder: &str, packages: &[&str]) -> Result<()> {
    let home = target_dir()?.join("tools").join(folder);
    // Written last, so that an interrupted installation is repeated. Contains the versions, so that
    // a new pin is installed, and the path, because a virtual environment cannot be moved.
    let mark = home.join("milepost-installed");
    let wanted = packages.join(" ");
    let done = format!("{wanted} in {}", home.display());
    if fs::read_to_string(&mark).is_ok_and(|installed| installed == done) {
        say(thing, &format!("found {}", home.display()));
        return Ok(());
    }
    say(thing, &format!("installing {wanted} into {}", home.display()));
    let home_text = home.to_str().context("the target folder's name is not UTF-8")?;
    run_command(&mut command("python3", &["-m", "venv", "--clear", home_text]))?;
    let pip = [&["install", "--quiet", "--disable-pip-version-check"], packages].concat();
    run_command(&mut command(home.join("bin/pip"), &pip))?;
    fs::write(&mark, &done).with_context(|| format!("could not write {}", mark.display()))?;
    say(thing, "ok");
    Ok(())
}

pub fn on_path(program: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(program)).find(|path: &PathBuf| Path::is_file(path))
}
