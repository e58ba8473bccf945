//! The expected state of one function after any sequence of calls.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone)]
pub enum Call {
    Edit,
    Publish,
    Delete(u8),
    Alias(u8, u8),
    Unalias(u8),
    Job(u8),
    CancelJob(u8),
    Webhook(u8),
    Unhook(u8),
    DeleteFunction,
}

/// Published numbers, with the code that they were published with.
#[derive(Debug, Default)]
pub struct Model {
    pub code: u32,
    pub published: BTreeMap<i64, u32>,
    pub given: i64,
    /// Maps to a number; 0 is the newest code.
    pub aliases: BTreeMap<u8, i64>,
    pub jobs: Vec<(String, i64)>,
    pub webhooks: Vec<(String, i64)>,
}

impl Model {
    /// A published number, or 0.
    pub fn version(&self, position: u8) -> i64 {
        let numbers: Vec<i64> = std::iter::once(0).chain(self.published.keys().copied()).collect();
        numbers[usize::from(position) % numbers.len()]
    }

    /// Returns why a version must not be deleted, in the order of the server's checks.
    pub fn holds(&self, version: i64) -> Option<&'static str> {
        let uses = |users: &[(String, i64)]| users.iter().any(|(_, used)| *used == version);
        if uses(&self.jobs) {
            Some("The function version is still associated with running job(s).")
        } else if uses(&self.webhooks) {
            Some("The function version is still associated with webhook.")
        } else if self.aliases.values().any(|used| *used == version) {
            Some("The function version is still associated with alias.")
        } else {
            None
        }
    }

    pub fn holds_function(&self) -> Option<&'static str> {
        if !self.jobs.is_empty() {
            Some("The function is still associated with running job(s).")
        } else if !self.webhooks.is_empty() {
            Some("The function is still associated with webhook(s).")
        } else if !self.aliases.is_empty() {
            Some("The function is still associated with function alias(es).")
        } else {
            None
        }
    }

    pub fn numbers(&self) -> BTreeSet<i64> {
        self.published.keys().copied().collect()
    }
}
