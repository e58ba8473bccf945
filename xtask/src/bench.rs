//! `cargo xtask bench [PART…]`: builds with optimisation, measures, prints the tables and saves
//! them under `bench/raw`.
//!
//! `cargo xtask bench executions [OPTION…]` and `cargo xtask bench timers [OPTION…]` measure
//! executions.
//!
//! `cargo xtask bench serve [OPTION…]` installs peers and compares serving with them. Every single
//! measurement is saved under `bench/results`.

use std::io::Write;
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use crate::shell::{cargo, command, root, run as run_command, target_dir};
use crate::{lease, peers, setup};

pub fn run(parts: &[&str]) -> Result<()> {
    setup::run()?;
    let tools = match parts {
        ["serve", ..] => peers::install()?,
        _ => target_dir()?.join("tools"),
    };
    run_command(&mut cargo(&[
        "build",
        "--locked",
        "--profile",
        "measure",
        "-p",
        "milepost-bench",
        "-p",
        "milepost-cli",
    ]))?;
    let built = target_dir()?.join("measure");
    let _lease = lease::hold()?;
    let mut measuring = command(built.join("milepost-bench"), parts);
    let output = measuring
        .env("MILEPOST_BIN", built.join("milepost"))
        .env("MILEPOST_TOOLS", tools)
        .stderr(Stdio::inherit())
        .output()
        .context("could not run the benchmark")?;
    std::io::stdout().write_all(&output.stdout)?;
    if !output.status.success() {
        bail!("the benchmark failed ({})", output.status);
    }
    let folder = root().join("bench/raw");
    std::fs::create_dir_all(&folder)?;
    let name = match parts {
        [] => "all".to_owned(),
        [first @ ("serve" | "executions" | "timers"), ..] => (*first).to_owned(),
        _ => parts.join("-"),
    };
    std::fs::write(folder.join(format!("{name}.md")), &output.stdout)?;
    Ok(())
}
