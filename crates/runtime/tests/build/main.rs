//! Builds in a real sandbox: what a command finds, what it produces, and how it ends.
#![expect(clippy::expect_used, reason = "this is test code: a failure to prepare a test should end it at once")]

mod bounds;
mod caches;
mod contract;
mod ends;
mod ground;
mod servers;
mod sight;
#[path = "../support/mod.rs"]
mod support;
