//! Tests the pool with a fake executor, virtual time and injected faults.

mod fake;
mod promises;
mod rules;
mod unready;
