//! `cargo xtask test [--fast] [ARG…]`: installs everything that the tests need and runs them.
//! `--fast` is for the inner loop.
//!
//! The test runner comes last, so that its summary is the last output.

use std::path::PathBuf;
use std::process::Command;
use std::{env, fs, thread};

use anyhow::{Context, Result};

use crate::shell::{cargo, run as run_command, target_dir};
use crate::{lease, setup, soak};

pub fn run(args: &[&str]) -> Result<()> {
    let fast = args.contains(&"--fast");
    let runner_args: Vec<&str> = args.iter().copied().filter(|arg| *arg != "--fast").collect();
    setup::run()?;
    if !setup::nextest() {
        // `cargo test` runs the doc tests too.
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

/// The tests of the whole workspace that run within a minute: without those that start servers,
/// workers and registries, except the snapshots of the command line. `--fast -p PACKAGE` runs them
/// for one package. Not in the profile, because nextest rejects a filter that names a binary which
/// is not built.
const A_MINUTE: &str = "binary(=snapshots) | not (kind(test) & (package(milepost-cli) | package(milepost-server) | \
                        package(milepost-runtime) | package(milepost-channels)))";

/// The doc tests, which nextest does not run. Not quiet, because this compiles every dependency
/// first, which takes minutes.
pub fn doctests() -> Result<()> {
    run_command(&mut cargo(&["test", "--locked", "--workspace", "--doc"]))
}

/// All unit and integration tests, for CI, even after a failure.
pub fn all() -> Result<()> {
    if setup::nextest() { nextest("ci", &[]) } else { cargo_test(false, &["--no-fail-fast"]) }
}

fn nextest(profile: &str, args: &[&str]) -> Result<()> {
    let _lease = lease::hold()?;
    let mut command = cargo(&["nextest", "run", "--locked", "--profile", profile]);
    at_a_time(&mut command, "NEXTEST_TEST_THREADS");
    fix_the_seed(&mut command);
    if profile == "ci" {
        // CI output is read in excerpts, where a backtrace would hide the failure's message.
        command.env("RUST_BACKTRACE", "0");
    }
    run_command(command.args(scope(args)).args(args))
}

fn cargo_test(fast: bool, args: &[&str]) -> Result<()> {
    let _lease = lease::hold()?;
    // Not `--all-targets`, which would build the examples as tests, but tests run some of them as
    // programs.
    let mut command = cargo(&["test", "--locked"]);
    at_a_time(&mut command, "RUST_TEST_THREADS");
    fix_the_seed(&mut command);
    command.args(scope(args)).args(args);
    if fast {
        // Like the nextest profile `fast`.
        command.args(["--", "--skip", "slow_", "--skip", "postgres::"]);
    }
    run_command(&mut command)
}

/// Runs more tests than cores in parallel: most of them wait for processes, disks and databases,
/// and one per core would leave half of the machine idle. A number set by the user takes
/// precedence.
fn at_a_time(command: &mut Command, variable: &str) {
    if env::var_os(variable).is_none() {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        command.env(variable, (cores * 2).to_string());
    }
}

/// The property tests draw the same cases in every run, so that a change is not blamed for a case
/// that it did not break. `cargo xtask soak` draws new ones.
fn fix_the_seed(command: &mut Command) {
    if env::var_os(soak::SEED).is_none() {
        command.env(soak::SEED, "1");
    }
}

/// The whole workspace, unless the arguments select packages.
fn scope(args: &[&str]) -> Option<&'static str> {
    let chosen = args.iter().any(|arg| arg.starts_with("-p") || arg.starts_with("--package"));
    (!chosen).then_some("--workspace")
}

/// The numbers of passed and failed tests of a run with the profile `ci`.
pub struct Counts {
    pub passed: usize,
    pub failed: usize,
}

/// The counts of the last run with nextest's profile `ci`, if there was one.
pub fn counts() -> Result<Option<Counts>> {
    let path = junit()?;
    if !path.is_file() {
        return Ok(None);
    }
    let report = fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
    Ok(parse(&report))
}

/// Removes the counts of the last run, so that they are not attributed to the next one.
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
    fn selected_packages_replace_the_workspace() {
        assert_eq!(scope(&["rollback"]), Some("--workspace"));
        assert_eq!(scope(&["-p", "milepost-model"]), None);
    }

    #[test]
    fn parses_the_counts_of_a_report() {
        let report = "<?xml version=\"1.0\"?>\n<testsuites name=\"nextest-run\" tests=\"12\" failures=\"2\" errors=\"1\" \
                      uuid=\"x\">\n<testsuite name=\"a\" tests=\"3\" failures=\"0\">";
        let counts = parse(report).unwrap();
        assert_eq!((counts.passed, counts.failed), (9, 3));
        assert!(parse("<html>").is_none());
    }
}
