//! Tests what the sandbox guarantees, with code that runs inside it.
#![expect(clippy::expect_used, reason = "this is test code: a failure to prepare a test should end it at once")]

mod ends;
mod limits;
mod place;
mod ports;
mod refusals;
mod servers;
mod sight;
#[path = "../support/mod.rs"]
mod support;
