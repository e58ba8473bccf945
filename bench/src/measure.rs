//! Durations and their spread.

use std::time::{Duration, Instant};

/// Several runs of one measurement.
#[derive(Default, Clone)]
pub struct Runs(Vec<Duration>);

impl Runs {
    pub fn push(&mut self, took: Duration) {
        self.0.push(took);
        self.0.sort();
    }

    pub fn median(&self) -> Duration {
        self.0.get(self.0.len() / 2).copied().unwrap_or_default()
    }

    pub fn percentile(&self, percent: usize) -> Duration {
        let last = self.0.len().saturating_sub(1);
        self.0.get(last * percent / 100).copied().unwrap_or_default()
    }

    /// For example `12.3 ms (11.0-15.2)`.
    pub fn text(&self) -> String {
        let millis = |took: Option<&Duration>| took.map_or(0.0, |took| took.as_secs_f64() * 1000.0);
        format!(
            "{:.2} ms ({:.2}-{:.2})",
            self.median().as_secs_f64() * 1000.0,
            millis(self.0.first()),
            millis(self.0.last())
        )
    }

    pub fn ratio(&self, peer: &Self) -> f64 {
        self.median().as_secs_f64() / peer.median().as_secs_f64().max(f64::EPSILON)
    }
}

pub async fn time<T>(work: impl Future<Output = T>) -> (T, Duration) {
    let started = Instant::now();
    let value = work.await;
    (value, started.elapsed())
}

/// Prints a Markdown table, which is readable in a terminal too.
pub fn table(title: &str, headers: &[&str], rows: &[Vec<String>]) {
    println!("\n## {title}\n");
    println!("| {} |", headers.join(" | "));
    println!("|{}", "---|".repeat(headers.len()));
    for row in rows {
        println!("| {} |", row.join(" | "));
    }
}
