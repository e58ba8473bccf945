//! `wrk`: many connections at once, to measure throughput.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::client::Target;
use super::process;

/// The output of `bench/fixtures/report.lua`. Times are in microseconds.
#[derive(Debug, Deserialize)]
pub struct Load {
    pub requests: u64,
    pub microseconds: u64,
    pub p50: u64,
    pub p99: u64,
    refused: u64,
    cut: u64,
    unsent: u64,
    statuses: u64,
    timeouts: u64,
    /// CPU seconds used by `wrk` itself.
    #[serde(skip)]
    pub own_seconds: f64,
}

impl Load {
    /// Counts every kind of error, because a server that fails requests is not fast.
    pub fn errors(&self) -> u64 {
        self.refused + self.cut + self.unsent + self.statuses + self.timeouts
    }

    pub fn per_second(&self) -> f64 {
        self.requests as f64 / (self.microseconds as f64 / 1e6)
    }
}

pub struct Wrk<'a> {
    pub script: &'a Path,
    pub threads: usize,
    pub connections: usize,
}

impl Wrk<'_> {
    pub fn run(&self, target: &Target, seconds: u64) -> Result<Load> {
        let url = format!("http://{}{}", target.address, target.path);
        let before = process::ticks_of_ended_children()?;
        let output = Command::new("wrk")
            .args(["--latency", "--threads", &self.threads.to_string()])
            .args(["--connections", &self.connections.to_string(), "--duration", &format!("{seconds}s")])
            .args(["--header", &format!("Host: {}", target.host)])
            .arg("--script")
            .arg(self.script)
            .arg(&url)
            .output()
            .context("could not run `wrk`; `cargo xtask bench serve` installs it")?;
        if !output.status.success() {
            bail!("`wrk` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        let mut load = parse(&String::from_utf8_lossy(&output.stdout))?;
        load.own_seconds = process::seconds(process::ticks_of_ended_children()? - before);
        Ok(load)
    }
}

fn parse(output: &str) -> Result<Load> {
    let line =
        output.lines().find_map(|line| line.strip_prefix("RESULT ")).context("`wrk` did not print its result")?;
    serde_json::from_str(line).with_context(|| format!("`wrk` printed a result that cannot be read: {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_error_counts() {
        let output = "Running 2s test\nRESULT {\"requests\":500,\"microseconds\":2000000,\"bytes\":9,\"p50\":10,\"p90\":15,\
             \"p99\":20,\"max\":30,\"refused\":1,\"cut\":2,\"unsent\":4,\"statuses\":8,\"timeouts\":16}\n";
        let load = parse(output).expect("a result");
        assert_eq!(load.errors(), 31);
        assert!((load.per_second() - 250.0).abs() < 1e-9);
        assert!(parse("Running 2s test\n").is_err());
    }
}
