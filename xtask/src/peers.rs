//! Installs the servers that serving is compared with, for `cargo xtask bench serve`.
//!
//! Versions are pinned to keep comparisons reproducible.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::setup::{debian, on_path, say};
use crate::shell::{command, run as run_command, target_dir};

const PYTHON: [&str; 3] = ["functions-framework==3.10.2", "gunicorn==27.0.0", "flask==3.1.3"];
const NODE: &str = "@google-cloud/functions-framework@5.0.5";

/// `milepost-bench serve` looks for interpreters here too, so that both sides of a comparison run
/// the same ones.
const SYSTEM_PYTHON: [&str; 2] = ["/usr/local/bin/python3", "/usr/bin/python3"];

/// Installs what is missing. Returns the directory of the peers that do not come from Debian.
pub fn install() -> Result<PathBuf> {
    let nginx = on_path("nginx").or_else(|| Some(PathBuf::from("/usr/sbin/nginx")).filter(|path| path.is_file()));
    debian(&[("nginx", nginx, &["nginx"]), ("wrk", on_path("wrk"), &["wrk"]), ("npm", on_path("npm"), &["npm"])])?;
    let tools = target_dir()?.join("tools");
    once("Python peers", &tools.join("serve-python"), &PYTHON.join(" "), python)?;
    once("Node peers", &tools.join("serve-node"), NODE, node)?;
    Ok(tools)
}

/// Runs `install` unless the directory is marked as installed. The mark is written last, so that an
/// interrupted installation is repeated.
fn once(thing: &str, home: &Path, what: &str, install: fn(&Path) -> Result<()>) -> Result<()> {
    let mark = home.join("milepost-installed");
    if fs::read_to_string(&mark).is_ok_and(|installed| installed == what) {
        say(thing, &format!("found {}", home.display()));
        return Ok(());
    }
    say(thing, &format!("installing {what} into {}", home.display()));
    fs::create_dir_all(home).with_context(|| format!("could not make {}", home.display()))?;
    install(home)?;
    fs::write(&mark, what).with_context(|| format!("could not write {}", mark.display()))?;
    say(thing, "ok");
    Ok(())
}

fn python(home: &Path) -> Result<()> {
    let python = SYSTEM_PYTHON.into_iter().find(|path| Path::new(path).is_file()).unwrap_or("python3");
    let home_text = home.to_str().context("the target folder's name is not UTF-8")?;
    let venv = run_command(&mut command(python, &["-m", "venv", "--clear", home_text]));
    venv.with_context(|| format!("{python} cannot make a virtual environment; on Debian `python3-venv` adds that"))?;
    let pip = [&["install", "--quiet", "--disable-pip-version-check"][..], &PYTHON].concat();
    run_command(&mut command(home.join("bin/pip"), &pip))
}

fn node(home: &Path) -> Result<()> {
    let home = home.to_str().context("the target folder's name is not UTF-8")?;
    run_command(&mut command("npm", &["install", "--silent", "--no-audit", "--no-fund", "--prefix", home, NODE]))
}
