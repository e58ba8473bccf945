//! Response counters, cheap enough to update for every request.

use std::sync::atomic::{AtomicU64, Ordering};

use http::StatusCode;
use smol_str::SmolStr;

#[derive(Default)]
pub(crate) struct Counters {
    /// By the status's hundreds. Index 0 is for statuses out of range.
    by_class: [AtomicU64; 6],
}

impl Counters {
    pub(crate) fn count(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100);
        self.by_class[if class < 6 { class } else { 0 }].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> ResponseCounts {
        let of = |class: usize| self.by_class[class].load(Ordering::Relaxed);
        ResponseCounts { success: of(2), redirect: of(3), client_error: of(4), server_error: of(5) }
    }
}

/// Responses since the start, by status class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResponseCounts {
    pub success: u64,
    pub redirect: u64,
    pub client_error: u64,
    pub server_error: u64,
}

impl ResponseCounts {
    pub fn total(&self) -> u64 {
        self.success + self.redirect + self.client_error + self.server_error
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    pub connections: usize,
    /// Responses for hosts that name no app.
    pub unmatched: ResponseCounts,
    pub apps: Vec<(SmolStr, ResponseCounts)>,
    /// Bytes of cached files in memory.
    pub cached_bytes: u64,
}
