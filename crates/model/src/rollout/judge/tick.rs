use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::histogram::Histogram;
use super::{BASE, CANDIDATE};
use crate::split::BucketSet;

/// A route's base latencies count from this many; its p95 is a guess before.
const SAMPLES: u64 = 100;
/// Routes whose latencies are compared. What is beyond is not judged for speed.
const MAX_ROUTES: usize = 64;
/// The quantile of the base that a slow request is compared with.
const QUANTILE: f64 = 0.95;

/// One answered request, as the gateway saw it.
#[derive(Debug, Clone, Copy)]
pub struct Observation<'a> {
    pub bucket: u16,
    /// 0 is the base.
    pub arm: usize,
    pub outcome: Outcome,
    /// It waited for an instance to start.
    pub cold: bool,
    pub route: &'a str,
    pub micros: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Answered,
    /// 4xx: shown, but not judged.
    Refused,
    /// 5xx of the function, timeout, crash, or no instance could start.
    Failed,
}

/// What happened in one tick, on one node or on all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tick {
    pub seen: BucketSet,
    pub failed: BucketSet,
    /// The buckets with a warm request of a route whose base latency is known.
    pub timed: BucketSet,
    /// Those of `timed` whose first such request was slow.
    pub slow: BucketSet,
    pub arms: [Traffic; 2],
    /// Warm latencies of the base by route.
    pub routes: BTreeMap<String, Histogram>,
}

/// Counts of requests of one arm.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Traffic {
    pub requests: u64,
    pub failed: u64,
    pub refused: u64,
    pub cold: u64,
    pub timed: u64,
    pub slow: u64,
    /// Of warm requests.
    pub latency: Histogram,
}

impl Traffic {
    pub fn merge(&mut self, other: &Self) {
        self.requests = self.requests.saturating_add(other.requests);
        self.failed = self.failed.saturating_add(other.failed);
        self.refused = self.refused.saturating_add(other.refused);
        self.cold = self.cold.saturating_add(other.cold);
        self.timed = self.timed.saturating_add(other.timed);
        self.slow = self.slow.saturating_add(other.slow);
        self.latency.merge(&other.latency);
    }
}

impl Tick {
    pub fn record(&mut self, seen: Observation<'_>, limits: &SlowLimits) {
        let arm = if seen.arm == 0 { BASE } else { CANDIDATE };
        let traffic = &mut self.arms[arm];
        traffic.requests += 1;
        self.seen.insert(seen.bucket);
        match seen.outcome {
            Outcome::Answered => {}
            Outcome::Refused => traffic.refused += 1,
            Outcome::Failed => {
                traffic.failed += 1;
                self.failed.insert(seen.bucket);
            }
        }
        if seen.cold {
            traffic.cold += 1;
            return;
        }
        // A failure is often faster or slower than any answer, and is judged as a failure.
        if seen.outcome == Outcome::Failed {
            return;
        }
        traffic.latency.record(seen.micros);
        if let Some(limit) = limits.0.get(seen.route) {
            let slow = seen.micros as f64 > *limit;
            traffic.timed += 1;
            traffic.slow += u64::from(slow);
            if !self.timed.contains(seen.bucket) && slow {
                self.slow.insert(seen.bucket);
            }
            self.timed.insert(seen.bucket);
        }
        if arm == BASE && (self.routes.len() < MAX_ROUTES || self.routes.contains_key(seen.route)) {
            self.routes.entry(seen.route.to_owned()).or_default().record(seen.micros);
        }
    }

    /// Adds what another node saw. The order of nodes does not matter.
    pub fn merge(&mut self, other: &Self) {
        self.seen.add(&other.seen);
        self.failed.add(&other.failed);
        self.timed.add(&other.timed);
        self.slow.add(&other.slow);
        for (mine, theirs) in self.arms.iter_mut().zip(&other.arms) {
            mine.merge(theirs);
        }
        for (route, latencies) in &other.routes {
            self.routes.entry(route.clone()).or_default().merge(latencies);
        }
    }
}

/// The base's latencies by route, in all ticks so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Baseline(BTreeMap<String, Histogram>);

/// The time above which a request of a route is slow, in microseconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SlowLimits(BTreeMap<String, f64>);

impl Baseline {
    pub fn add(&mut self, tick: &Tick) {
        for (route, latencies) in &tick.routes {
            if self.0.len() < MAX_ROUTES || self.0.contains_key(route) {
                self.0.entry(route.clone()).or_default().merge(latencies);
            }
        }
    }

    /// `slowdown` times the base's p95, and at least `floor` microseconds above it.
    pub fn limits(&self, slowdown: f64, floor: f64) -> SlowLimits {
        let known = self.0.iter().filter(|(_, latencies)| latencies.count() >= SAMPLES);
        let limit = |latencies: &Histogram| latencies.quantile(QUANTILE).map(|p95| (p95 * slowdown).max(p95 + floor));
        SlowLimits(known.filter_map(|(route, latencies)| Some((route.clone(), limit(latencies)?))).collect())
    }
}
