//! `cargo xtask docs [--check]`: generates the reference from the commands' help and from the API.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::shell::{cargo, root, run as run_command};

pub fn run() -> Result<()> {
    generate(&[])
}

/// Fails if the generated pages are out of date.
pub fn check() -> Result<()> {
    generate(&["--check"])
}

/// Like [`check`], with the program that the tests have just built. For the CLI crate alone, cargo
/// chooses other features of its dependencies than for the whole workspace, and would recompile
/// most of them.
pub fn check_what_was_tested() -> Result<()> {
    let built = target().join("debug/milepost");
    if !built.exists() {
        return check();
    }
    run_command(Command::new(built).args(["--quiet", "reference"]).arg(folder()?).arg("--check"))
}

fn generate(extra: &[&str]) -> Result<()> {
    run_command(
        cargo(&["run", "--quiet", "--locked", "-p", "milepost-cli", "--", "--quiet", "reference"])
            .arg(folder()?)
            .args(extra),
    )
}

fn folder() -> Result<PathBuf> {
    let folder = root().join("docs/reference");
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}
