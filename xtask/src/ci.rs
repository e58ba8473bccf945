//! `cargo xtask ci`: everything a change must pass.
//!
//! The cheap checks come first. `cargo clippy` only checks, so the tests would compile everything
//! again. Instead the build itself is linted, and the doc tests, the tests and the program share
//! its output.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::shell::{cargo, lint_what_is_built, run as run_command};
use crate::{deps, docs, setup, test, tidy};

type Step = (&'static str, fn() -> Result<()>);

const STEPS: [Step; 9] = [
    ("format", format),
    ("tidy", tidy::run),
    ("dependencies", deps::run),
    ("setup", setup::run),
    ("build, linted", build),
    ("doc tests", test::doctests),
    ("tests", test::all),
    ("rustdoc", docs::check_comments),
    ("reference", docs::check_what_was_tested),
];

pub fn run() -> Result<()> {
    test::forget_counts()?;
    lint_what_is_built();
    let mut times = Vec::new();
    let mut failed = Vec::new();
    for (name, step) in STEPS {
        eprintln!("\n=== {name}");
        let started = Instant::now();
        // All steps run even if one fails, so that every problem is reported.
        if let Err(error) = step() {
            eprintln!("Error: {error:#}");
            failed.push(name);
        }
        times.push((name, started.elapsed()));
    }
    report(&times, &failed);
    // Always the last line, because CI parses it there.
    if let Some(counts) = test::counts()? {
        println!("{} passed, {} failed", counts.passed, counts.failed);
    }
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

fn format() -> Result<()> {
    run_command(&mut cargo(&["fmt", "--all", "--check"]))
}

fn build() -> Result<()> {
    run_command(&mut cargo(&["build", "--locked", "--workspace", "--all-targets", "--keep-going"]))
}

fn report(times: &[(&str, Duration)], failed: &[&str]) {
    eprintln!();
    for (name, time) in times {
        let verdict = if failed.contains(name) { "FAILED" } else { "ok" };
        eprintln!("{name:<14} {:>7.1} s  {verdict}", time.as_secs_f64());
    }
    let total: Duration = times.iter().map(|(_, time)| *time).sum();
    eprintln!("{:<14} {:>7.1} s", "total", total.as_secs_f64());
}
