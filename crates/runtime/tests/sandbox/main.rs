//! What holds for code inside the sandbox, shown by code inside the sandbox.
#![expect(clippy::expect_used, reason = "this is test code: a failure to prepare a test should end it at once")]

mod ends;
mod limits;
mod place;
mod refusals;
mod servers;
mod sight;
#[path = "../support/mod.rs"]
mod support;
