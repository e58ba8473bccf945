//! Installed apps: a server in this process whose clock the test moves, with channels on a real web
//! server.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests end the test at once")]

mod author;
mod bundles;
mod fleet;
mod following;
mod hostile;
mod nodes;
#[path = "../../../model/src/channel/tests/oracle.rs"]
mod oracle;
mod people;
mod reach;
mod refusals;
#[expect(clippy::expect_used, reason = "the tests of the model read it too")]
#[path = "../../../model/src/channel/tests/script.rs"]
mod script;
mod stage;
mod trials;
mod web;
