//! Runs real functions, with interpreters, sandbox and pool together, and every way in which a
//! function can misbehave.
#![expect(clippy::expect_used, reason = "this is test code: a failure to prepare a test should end it at once")]

mod bodies;
mod faults;
mod harness;
mod life;
mod logs;
#[path = "../support/mod.rs"]
mod support;
