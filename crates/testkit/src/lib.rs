//! What tests need from outside: a real PostgreSQL, an S3 server, an OCI registry, a hermetic place to run the command line in.
//!
//! This crate is a dev-dependency only and knows no other crate of the workspace: it starts programs and talks to them
//! from outside, so every crate can use it without a cycle. Whatever it starts ends with the test, even when the test is
//! killed. Everything here panics on failure with what to do about it; a test has no use for an error.
//!
//! To add one more service: a file that finds the program, starts it on a free port, waits until it answers, and ends it
//! on `Drop`; and a step in `xtask/src/setup.rs` that installs it.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "this is test code: a failure to prepare a test should end it at once"
)]

pub mod cli;
mod eventually;
pub mod postgres;
pub mod registry;
pub mod s3;
mod target_dir;

pub use eventually::{eventually, eventually_blocking};
pub use target_dir::target_dir;

use std::net::{Ipv4Addr, TcpListener};

/// A port nobody listens on now. Somebody else may take it before the caller does, so starting on it must be retried.
fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind a free port on 127.0.0.1");
    listener.local_addr().unwrap().port()
}
