//! The machine that runs the measurements: what it is, and whether it is idle.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// Below this the machine counts as idle. The system itself always uses some ticks.
const IDLE_BELOW_PERCENT: f64 = 5.0;
const WINDOW: Duration = Duration::from_secs(2);

/// CPU time of all cores since the machine started, in ticks.
#[derive(Clone, Copy)]
pub struct Cores {
    busy: u64,
    total: u64,
}

impl Cores {
    pub fn now() -> Result<Self> {
        let text = fs::read_to_string("/proc/stat").context("could not read /proc/stat")?;
        Self::parse(&text).context("/proc/stat does not begin with the times of all cores")
    }

    fn parse(text: &str) -> Option<Self> {
        // user nice system idle iowait irq softirq steal. The guest times after them are included
        // in the first two.
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<u64> = line.split_whitespace().take(8).map(str::parse).collect::<Result<_, _>>().ok()?;
        let total: u64 = ticks.iter().sum();
        let resting = ticks.get(3)? + ticks.get(4)?;
        Some(Self { busy: total - resting, total })
    }

    /// Busy ticks since `earlier`. Includes time stolen by other machines on the same hardware.
    pub fn busy_since(&self, earlier: &Self) -> u64 {
        self.busy.saturating_sub(earlier.busy)
    }

    pub fn busy_percent_since(&self, earlier: &Self) -> f64 {
        let total = self.total.saturating_sub(earlier.total).max(1);
        self.busy_since(earlier) as f64 * 100.0 / total as f64
    }
}

/// How idle the machine was right before a measurement.
#[derive(Clone, Copy)]
pub struct Idleness {
    pub busy_percent: f64,
    pub load: f64,
    pub waited: Duration,
}

impl Idleness {
    pub fn is_idle(&self) -> bool {
        self.busy_percent < IDLE_BELOW_PERCENT
    }
}

/// Samples the cores for two seconds, repeatedly while they are busy, up to `limit`.
pub fn wait_until_idle(limit: Duration) -> Result<Idleness> {
    let started = Instant::now();
    loop {
        let before = Cores::now()?;
        std::thread::sleep(WINDOW);
        let busy_percent = Cores::now()?.busy_percent_since(&before);
        let found = Idleness { busy_percent, load: load()?, waited: started.elapsed() };
        if found.is_idle() {
            return Ok(found);
        }
        if started.elapsed() >= limit {
            eprintln!(
                "  the machine is not idle: {busy_percent:.0} % busy, load {:.2}, after {} s",
                found.load,
                found.waited.as_secs()
            );
            return Ok(found);
        }
    }
}

fn load() -> Result<f64> {
    let text = fs::read_to_string("/proc/loadavg").context("could not read /proc/loadavg")?;
    text.split(' ').next().and_then(|first| first.parse().ok()).context("/proc/loadavg does not begin with a number")
}

/// The facts about the machine that are needed to interpret the numbers.
pub fn describe() -> Result<Value> {
    let model = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = model.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ").map(|(_, name)| name));
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Ok(json!({
        "cores": std::thread::available_parallelism()?.get(),
        "processor": model.unwrap_or("unknown"),
        "kernel": kernel.trim(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iowait_is_idle_and_steal_is_busy() {
        let before = Cores::parse("cpu  10 0 10 100 10 0 0 0 5 0\ncpu0 1\n").expect("eight numbers");
        let after = Cores::parse("cpu  20 0 10 180 20 0 0 10 9 0\n").expect("eight numbers");
        assert_eq!(after.busy_since(&before), 20);
        assert!((after.busy_percent_since(&before) - 20.0 * 100.0 / 110.0).abs() < 1e-9);
    }

    #[test]
    fn rejects_lines_without_all_times() {
        assert!(Cores::parse("cpu0 1 2 3 4 5 6 7 8\n").is_none());
        assert!(Cores::parse("cpu  1 2\n").is_none());
    }
}
