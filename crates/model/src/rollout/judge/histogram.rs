use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Each doubling is cut into this many classes, so a quantile is exact to about 4 %.
const PER_OCTAVE: f64 = 16.0;
/// Times from one microsecond to an hour; what is longer counts as an hour.
const CLASSES: u16 = 32 * PER_OCTAVE as u16;

/// Counts of times in classes of equal ratio.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Histogram(BTreeMap<u16, u64>);

impl Histogram {
    pub fn record(&mut self, micros: u64) {
        let class = ((micros.max(1) as f64).log2() * PER_OCTAVE) as u16;
        *self.0.entry(class.min(CLASSES)).or_default() += 1;
    }

    pub fn merge(&mut self, other: &Self) {
        for (class, count) in &other.0 {
            let sum = self.0.entry(*class).or_default();
            *sum = sum.saturating_add(*count);
        }
    }

    pub fn count(&self) -> u64 {
        self.0.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The time below which a share of the counts is, in microseconds; None without counts.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let wanted = self.count() as f64 * share;
        let mut below = 0.0;
        for (class, count) in &self.0 {
            let within = *count as f64;
            if below + within >= wanted && within > 0.0 {
                let part = ((wanted - below) / within).clamp(0.0, 1.0);
                return Some(((f64::from(*class) + part) / PER_OCTAVE).exp2());
            }
            below += within;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_exact_to_four_percent() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        for micros in 1..=10_000 {
            histogram.record(micros * 7);
        }
        for (share, expected) in [(0.5, 35_000.0), (0.95, 66_500.0), (0.99, 69_300.0)] {
            let found = histogram.quantile(share).expect("counts");
            assert!((found / expected - 1.0).abs() < 0.045, "{share}: {found}");
        }
    }

    #[test]
    fn extreme_times_are_counted() {
        let mut histogram = Histogram::default();
        histogram.record(0);
        histogram.record(u64::MAX);
        assert_eq!(histogram.count(), 2);
        assert!(histogram.quantile(1.0).is_some_and(f64::is_finite));
    }
}
