//! Metrics for `/metrics`. Each server has its own registry, so that two servers in one process do
//! not mix.

use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: String,
    route: String,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: String,
}

pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    durations: Family<RouteLabels, Histogram>,
    pub changes: Counter,
    pub uploaded_bytes: Counter,
    pub swept_bytes: Counter,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("milepost");
        let requests = Family::default();
        let durations = Family::new_with_constructor(
            (|| Histogram::new(exponential_buckets(0.0005, 2.0, 16))) as fn() -> Histogram,
        );
        let (changes, uploaded_bytes, swept_bytes) = (Counter::default(), Counter::default(), Counter::default());
        registry.register("api_requests", "API requests by route and status", Family::clone(&requests));
        registry.register("api_request_seconds", "Time to answer API requests", Family::clone(&durations));
        registry.register("changes", "Changes that made an app version", changes.clone());
        registry.register("uploaded_bytes", "Bytes of stored uploads", uploaded_bytes.clone());
        registry.register("swept_bytes", "Bytes of blobs forgotten by sweeps", swept_bytes.clone());
        Self { registry, requests, durations, changes, uploaded_bytes, swept_bytes }
    }

    pub(crate) fn request(&self, method: &str, route: &str, status: u16, took: Duration) {
        self.requests
            .get_or_create(&RequestLabels { method: method.to_owned(), route: route.to_owned(), status })
            .inc();
        self.durations.get_or_create(&RouteLabels { route: route.to_owned() }).observe(took.as_secs_f64());
    }

    pub(crate) fn render(&self) -> String {
        let mut out = String::new();
        // Writing to a string fails only if a metric does. The scraper notices an empty page.
        if text::encode(&mut out, &self.registry).is_err() {
            out.clear();
        }
        out
    }
}
