//! Attacks that were found, one module per defence. Each test is named after what it protects, and
//! runs the whole program.
#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a step that fails ends the test")]

#[path = "security/closing_access.rs"]
mod closing_access;
#[expect(dead_code, reason = "other tests use the rest")]
mod common;
#[path = "security/installs.rs"]
mod installs;
#[path = "security/outside.rs"]
mod outside;
#[expect(dead_code, reason = "other tests use the rest")]
#[path = "serving/stage.rs"]
mod stage;

#[path = "security/answers.rs"]
mod answers;
#[path = "security/builds.rs"]
mod builds;
#[path = "security/disk.rs"]
mod disk;
#[path = "security/doors.rs"]
mod doors;
#[path = "security/heads.rs"]
mod heads;
#[path = "security/network.rs"]
mod network;
#[path = "security/ordinary_user.rs"]
mod ordinary_user;
#[path = "security/sandbox.rs"]
mod sandbox;
#[path = "security/secret_fingerprints.rs"]
mod secret_fingerprints;
#[path = "security/terminal.rs"]
mod terminal;
#[path = "security/webhooks.rs"]
mod webhooks;
#[path = "security/zips.rs"]
mod zips;
