//! `cargo xtask test [--fast] [ARG…]`: everything the tests need, then the tests. `--fast` is for the inner loop.
//!
//! The runner comes last, so that its summary is the last thing printed.

use std::path::PathBuf;
use std::process::Command;
use std::{env, fs, thread};

use anyhow::{Context, Result};

use crate::shell::{cargo, run as run_command, target_dir};
use crate::{lease, setup};

pub fn run(args: &[&str]) -> Result<()> {
    let fast = args.contains(&"--fast");
    let runner_args: Vec<&str> = args.iter().copied().filter(|arg| *arg != "--fast").collect();
    setup::run()?;
    if !setup::nextest() {
        // Runs the examples in the documentation too.
        return cargo_test(fast, &runner_args);
    }
    if !fast && runner_args.is_empty() {
        doctests()?;
    }
    if fast && scope(&runner_args).is_some() {
        return nextest("fast", &[&["-E", A_MINUTE], &runner_args[..]].concat());
    }
    nextest(if fast { "fast" } else { "default" }, &runner_args)
}

/// What a minute suffices for, of the whole workspace: not the tests that start servers, workers and registries, but for the
/// command line's own. `--fast -p PACKAGE` runs those of one package too. Not in the profile: nextest refuses a filter that names a
/// binary where it is not built.
const A_MINUTE: &str = "binary(=snapshots) | not (kind(test) & (package(milepost-cli) | package(milepost-server) | \
                        package(milepost-runtime) | package(milepost-channels)))";

/// The examples in the documentation, which nextest does not run. Not quietly: this compiles every dependency first, and
/// that takes minutes.
pub fn doctests() -> Result<()> {
    run_command(&mut cargo(&["test", "--locked", "--workspace", "--doc"]))
}

/// The unit and integration tests, for CI: all of them, whatever fails.
pub fn all() -> Result<()> {
    if setup::nextest() { nextest("ci", &[]) } else { cargo_test(false, &["--no-fail-fast"]) }
}

fn nextest(profile: &str, args: &[&str]) -> Result<()> {
    let _lease = lease::hold()?;
    let mut command = cargo(&["nextest", "run", "--locked", "--profile", profile]);
    at_a_time(&mut command, "NEXTEST_TEST_THREADS");
    if profile == "ci" {
        // What a gate prints is read in excerpts: the sentence of a failure must not drown in its backtrace.
        command.env("RUST_BACKTRACE", "0");
    }
    run_command(command.args(scope(args)).args(args))
}

fn cargo_test(fast: bool, args: &[&str]) -> Result<()> {
    let _lease = lease::hold()?;
    // Not `--all-targets`: that would make tests of the examples, and tests start some of them as programs.
    let mut command = cargo(&["test", "--locked"]);
    at_a_time(&mut command, "RUST_TEST_THREADS");
    command.args(scope(args)).args(args);
    if fast {
        // As the profile `fast` of nextest has it.
        command.args(["--", "--skip", "slow_", "--skip", "postgres::"]);
    }
    run_command(&mut command)
}

/// More tests than cores at a time: most of them wait for processes, disks and databases, and one at a time on each core
/// leaves half of the machine idle. Whoever set the number keeps it.
fn at_a_time(command: &mut Command, variable: &str) {
    if env::var_os(variable).is_none() {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        command.env(variable, (cores * 2).to_string());
    }
}

/// The whole workspace, unless the arguments choose packages.
fn scope(args: &[&str]) -> Option<&'static str> {
    let chosen = args.iter().any(|arg| arg.starts_with("-p") || arg.starts_with("--package"));
    (!chosen).then_some("--workspace")
}

/// What the CI profile's run counted: the tests that passed and those that did not.
pub struct Counts {
    pub passed: usize,
    pub failed: usize,
}

/// The counts of the last run with nextest's profile `ci`, or none when there was no such run.
pub fn counts() -> Result<Option<Counts>> {
    let path = junit()?;
    if !path.is_file() {
        return Ok(None);
    }
    let report = fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
    Ok(parse(&report))
}

/// Removes the last run's counts, so that they are not taken for the next one's.
pub fn forget_counts() -> Result<()> {
    let path = junit()?;
    match path.is_file() {
        true => fs::remove_file(&path).with_context(|| format!("could not remove {}", path.display())),
        false => Ok(()),
    }
}

fn junit() -> Result<PathBuf> {
    Ok(target_dir()?.join("nextest/ci/junit.xml"))
}

fn parse(report: &str) -> Option<Counts> {
    let start = report.find("<testsuites ")?;
    let tag = report[start..].split('>').next()?;
    let number = |name: &str| {
        let value = tag.split_once(&format!(" {name}=\""))?.1;
        value.split('"').next()?.parse::<usize>().ok()
    };
    let failed = number("failures")? + number("errors")?;
    Some(Counts { passed: number("tests")?.checked_sub(failed)?, failed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_packages_replace_the_workspace() {
        assert_eq!(scope(&["rollback"]), Some("--workspace"));
        assert_eq!(scope(&["-p", "milepost-model"]), None);
    }

    #[test]
    fn counts_are_read_from_the_report() {
        let report = "<?xml version=\"1.0\"?>\n<testsuites name=\"nextest-run\" tests=\"12\" failures=\"2\" errors=\"1\" \
                      uuid=\"x\">\n<testsuite name=\"a\" tests=\"3\" failures=\"0\">";
        let counts = parse(report).unwrap();
        assert_eq!((counts.passed, counts.failed), (9, 3));
        assert!(parse("<html>").is_none());
    }
}
