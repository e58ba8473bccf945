//! Counts of answers, cheap enough to be kept for every request.

use std::sync::atomic::{AtomicU64, Ordering};

use http::StatusCode;
use smol_str::SmolStr;

#[derive(Default)]
pub(crate) struct Counters {
    /// By hundreds of the status, 1xx (never sent) for what is outside.
    by_class: [AtomicU64; 6],
}

impl Counters {
    pub(crate) fn count(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100);
        self.by_class[if class < 6 { class } else { 0 }].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> AnswerCounts {
        let of = |class: usize| self.by_class[class].load(Ordering::Relaxed);
        AnswerCounts { success: of(2), redirect: of(3), client_error: of(4), server_error: of(5) }
    }
}

/// Answers since the start, by class of status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AnswerCounts {
    pub success: u64,
    pub redirect: u64,
    pub client_error: u64,
    pub server_error: u64,
}

impl AnswerCounts {
    pub fn total(&self) -> u64 {
        self.success + self.redirect + self.client_error + self.server_error
    }
}

/// What the gateway has done so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    pub connections: usize,
    /// Answers to hosts that name no app.
    pub elsewhere: AnswerCounts,
    pub apps: Vec<(SmolStr, AnswerCounts)>,
    /// Bytes that the cache of files holds in memory.
    pub cached_bytes: u64,
}
