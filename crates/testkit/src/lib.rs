//! External services for tests: a real PostgreSQL, PgBouncer, an S3 server, an OCI registry, and a hermetic
//! environment for the command line.
//!
//! This crate is a dev-dependency only and depends on no other crate of the workspace: it starts
//! programs and talks to them from outside, so every crate can use it without a cycle. Whatever it
//! starts ends with the test, even if the test is killed. Everything here panics on failure and
//! says what to do about it, because a test cannot handle such an error.
//!
//! To add a service, add a file that finds the program, starts it on a free port, waits until it
//! responds, and ends it on `Drop`, and a step in `xtask/src/setup.rs` that installs it.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "this is test code: a failure to prepare a test should end it at once"
)]

pub mod cli;
mod eventually;
pub mod partition;
pub mod pgbouncer;
pub mod postgres;
pub mod registry;
pub mod s3;
mod target_dir;

pub use eventually::{eventually, eventually_blocking};
pub use target_dir::target_dir;

use std::net::{Ipv4Addr, TcpListener};

/// A currently free port. Another process may take it first, so callers must retry.
fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind a free port on 127.0.0.1");
    listener.local_addr().unwrap().port()
}
