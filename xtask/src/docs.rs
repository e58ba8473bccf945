//! `cargo xtask docs [--check]`: the generated part of the reference, from the help of the commands and from the API.

use anyhow::Result;

use crate::shell::{cargo, root, run as run_command};

pub fn run() -> Result<()> {
    generate(&[])
}

/// Fails when the generated pages are not what the code says now.
pub fn check() -> Result<()> {
    generate(&["--check"])
}

fn generate(extra: &[&str]) -> Result<()> {
    let folder = root().join("docs/reference");
    std::fs::create_dir_all(&folder)?;
    run_command(
        cargo(&["run", "--quiet", "--locked", "-p", "milepost-cli", "--", "--quiet", "reference"])
            .arg(folder)
            .args(extra),
    )
}
