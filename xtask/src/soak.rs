//! `cargo xtask soak [--minutes N] [--seed SEED]`: the property tests with a new seed each round,
//! for an hour or as long as asked. The gate runs them with one fixed seed.
//!
//! A failing seed is printed, and its log stays in `target/soak/`. `--seed` repeats a round.

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::shell::{cargo, run as run_command, target_dir};
use crate::{lease, setup};

/// Where proptest reads its seed.
pub const SEED: &str = "PROPTEST_RNG_SEED";

/// The tests that draw random cases, on both engines where they use the ledger.
const PROPERTIES: &str = "binary(=properties) | binary(=fuzz) | binary(=signatures) | binary(=source_same) | \
                          test(/sequences|propert|promises|histories|answers_test/) | \
                          (package(milepost-model) & test(/artifacts|documents|zones|publishing|host|due/)) | \
                          (package(milepost-gateway) & test(/room|line_ends|ranges|path|accept|names|routes|views/))";

pub fn run(args: &[&str]) -> Result<()> {
    let (minutes, seed) = parse(args)?;
    setup::run()?;
    if !setup::nextest() {
        bail!("soak needs cargo-nextest: install it with `cargo install cargo-nextest --locked`");
    }
    let logs = target_dir()?.join("soak");
    fs::create_dir_all(&logs).with_context(|| format!("could not make {}", logs.display()))?;
    let _lease = lease::hold()?;
    run_command(&mut cargo(&["nextest", "run", "--locked", "--workspace", "--no-run"]))?;
    let started = Instant::now();
    let (mut rounds, mut failing) = (0, Vec::new());
    while rounds == 0 || (seed.is_none() && started.elapsed() < Duration::from_secs(60 * minutes)) {
        // Each `RandomState` has keys of its own, which come from the system's randomness.
        let seed = seed.unwrap_or_else(|| RandomState::new().hash_one(rounds));
        rounds += 1;
        let log = logs.join(format!("{seed}.log"));
        let output = File::create(&log).with_context(|| format!("could not write {}", log.display()))?;
        let mut tests = cargo(&["nextest", "run", "--locked", "--workspace", "--no-fail-fast", "-E", PROPERTIES]);
        tests.env(SEED, seed.to_string()).env("RUST_BACKTRACE", "0");
        let status = tests.stdout(output.try_clone()?).stderr(output).status().context("could not run cargo")?;
        let minute = started.elapsed().as_secs() / 60;
        if status.success() {
            eprintln!("minute {minute}: seed {seed} passed");
            fs::remove_file(&log)?;
        } else {
            eprintln!("minute {minute}: seed {seed} FAILED, see {}", log.display());
            failing.push(seed);
        }
    }
    if !failing.is_empty() {
        let seeds: Vec<String> = failing.iter().map(ToString::to_string).collect();
        bail!(
            "{} of {rounds} rounds failed; repeat one with `cargo xtask soak --seed {}`",
            failing.len(),
            seeds.join(" | ")
        );
    }
    eprintln!("{rounds} rounds passed");
    Ok(())
}

fn parse(args: &[&str]) -> Result<(u64, Option<u64>)> {
    let (mut minutes, mut seed) = (60, None);
    for pair in args.chunks(2) {
        match pair {
            ["--minutes", number] => minutes = number.parse().context("--minutes takes a whole number")?,
            ["--seed", number] => seed = Some(number.parse().context("--seed takes a whole number")?),
            _ => bail!("usage: cargo xtask soak [--minutes N] [--seed SEED]"),
        }
    }
    Ok((minutes, seed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_its_options() -> Result<()> {
        assert_eq!(parse(&[])?, (60, None));
        assert_eq!(parse(&["--minutes", "5", "--seed", "7"])?, (5, Some(7)));
        assert!(parse(&["--minutes"]).is_err() && parse(&["--hours", "1"]).is_err());
        Ok(())
    }
}
