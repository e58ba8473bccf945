//! `milepost up` and the edit loop, as a user at a terminal sees them.
#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a step that fails ends the test")]

#[expect(dead_code, reason = "other tests use the rest")]
mod common;
#[path = "up/doctor.rs"]
mod doctor;
#[path = "up/inner_loop.rs"]
mod inner_loop;
#[path = "up/session.rs"]
mod session;
#[path = "up/terminal.rs"]
mod terminal;
