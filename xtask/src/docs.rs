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

/// Fails if rustdoc has warnings, such as links in comments that lead nowhere. Private items are
/// included: the comments are for engineers who work on the code.
pub fn check_comments() -> Result<()> {
    let args = ["doc", "--quiet", "--locked", "--workspace", "--no-deps", "--document-private-items"];
    let flags = "-Dwarnings -Arustdoc::private-intra-doc-links";
    // Not linted again: the build was.
    run_command(cargo(&args).env_remove("RUSTC_WORKSPACE_WRAPPER").env("RUSTDOCFLAGS", flags))
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
