//! A table with ratios, and all the numbers behind it.

use std::path::Path;

use anyhow::{Context, Result};
use milepost_model::{Clock, SystemClock};
use serde_json::{Value, json};

use super::machine::Idleness;
use crate::measure::table;

/// One figure from several runs.
#[derive(Debug, Clone, Default)]
pub struct Spread(Vec<f64>);

impl Spread {
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    pub fn median(&self) -> f64 {
        let half = self.0.len() / 2;
        match self.0.as_slice() {
            [] => 0.0,
            values if values.len() % 2 == 1 => values[half],
            values => f64::midpoint(values[half - 1], values[half]),
        }
    }

    pub fn high(&self) -> f64 {
        self.0.last().copied().unwrap_or_default()
    }

    /// For example `12 (10-15)`, with each number formatted by `one`.
    pub fn text(&self, one: impl Fn(f64) -> String) -> String {
        let low = self.0.first().copied().unwrap_or_default();
        format!("{} ({}-{})", one(self.median()), one(low), one(self.high()))
    }

    pub fn whole(&self) -> String {
        self.text(|value| format!("{value:.0}"))
    }

    pub fn tenths(&self) -> String {
        self.text(|value| format!("{value:.1}"))
    }

    pub fn times(&self) -> String {
        self.text(|value| format!("{value:.2}")).replacen(' ', "x ", 1)
    }
}

/// The smallest of the sorted values that at least `percent` of them do not exceed.
pub fn percentile(sorted: &[f64], percent: f64) -> f64 {
    let rank = (sorted.len() as f64 * percent / 100.0).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

/// A line of the table. Columns that do not apply are empty.
#[derive(Debug, Default)]
pub struct Row {
    pub what: String,
    pub server: String,
    pub rate: String,
    pub p50: String,
    pub p99: String,
    pub cpu: String,
    pub against: String,
    pub bar: String,
}

/// For example `at least 1.20x: yes`.
pub fn verdict(bar: &str, reached: bool) -> String {
    format!("{bar}: {}", if reached { "yes" } else { "NO" })
}

#[derive(Default)]
pub struct Report {
    rows: Vec<Row>,
    raw: Vec<Value>,
    idleness: Vec<Idleness>,
    notes: Vec<String>,
}

impl Report {
    pub fn row(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Records the numbers behind some rows.
    pub fn keep(&mut self, part: &str, case: &str, numbers: Value) {
        self.raw.push(json!({ "part": part, "case": case, "numbers": numbers }));
    }

    pub fn saw(&mut self, idleness: Idleness) {
        self.idleness.push(idleness);
    }

    pub fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    pub fn print(&self) {
        let rows: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| {
                let cells = [&row.what, &row.server, &row.rate, &row.p50, &row.p99, &row.cpu, &row.against, &row.bar];
                cells.map(Clone::clone).to_vec()
            })
            .collect();
        let headers = [
            "what",
            "server",
            "requests/s",
            "p50, us",
            "p99, us",
            "CPU us a request",
            "Milepost against it",
            "to reach",
        ];
        table("Serving: median of the runs (smallest-largest)", &headers, &rows);
        let busy = Spread::of(self.idleness.iter().map(|idleness| idleness.busy_percent));
        let disturbed = self.idleness.iter().filter(|idleness| !idleness.is_idle()).count();
        println!(
            "\nBefore its {} measurements the machine was {} % busy; {disturbed} of them began although it was not idle.",
            self.idleness.len(),
            busy.tenths()
        );
        for note in &self.notes {
            println!("\n{note}");
        }
    }

    /// Writes all numbers to a new file in `folder`, named after the time.
    pub fn write(&self, folder: &Path, facts: Value) -> Result<()> {
        std::fs::create_dir_all(folder).with_context(|| format!("could not make {}", folder.display()))?;
        let at = SystemClock.now();
        let idleness = |one: &Idleness| json!([one.busy_percent, one.load, one.waited.as_secs_f64()]);
        let all = json!({
            "at": at.to_string(),
            "facts": facts,
            "busyPercentLoadWaitedBefore": self.idleness.iter().map(idleness).collect::<Vec<_>>(),
            "notes": self.notes,
            "measured": self.raw,
        });
        let name = at.to_string().replace([':', '-'], "").replace('.', "_");
        let path = folder.join(format!("serve-{name}.json"));
        std::fs::write(&path, serde_json::to_vec_pretty(&all)?)
            .with_context(|| format!("could not write {}", path.display()))?;
        eprintln!("All numbers are in {}", path.display());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computes_the_median_and_the_range() {
        assert_eq!(Spread::of([9.0, 1.0, 5.0]).whole(), "5 (1-9)");
        assert_eq!(Spread::of([4.0, 1.0, 2.0, 9.0]).tenths(), "3.0 (1.0-9.0)");
        assert_eq!(Spread::of([1.25, 2.0, 1.0]).times(), "1.25x (1.00-2.00)");
        assert_eq!(Spread::default().whole(), "0 (0-0)");
    }

    #[test]
    fn computes_percentiles() {
        let values: Vec<f64> = (1..=200).map(f64::from).collect();
        assert!((percentile(&values, 50.0) - 100.0).abs() < 1e-9);
        assert!((percentile(&values, 99.0) - 198.0).abs() < 1e-9);
        assert!((percentile(&[7.0], 99.0) - 7.0).abs() < 1e-9);
    }
}
