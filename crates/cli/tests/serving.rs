//! Serving during changes: pointers move, databases fail, the server stops.
#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a step that fails ends the test")]

#[path = "serving/answers.rs"]
mod answers;
#[path = "serving/browser.rs"]
mod browser;
#[path = "serving/calls.rs"]
mod calls;
#[expect(dead_code, reason = "other tests use the rest")]
mod common;
#[path = "serving/databases.rs"]
mod databases;
#[path = "serving/faults.rs"]
mod faults;
#[path = "serving/fission_files.rs"]
mod fission_files;
#[path = "serving/moves.rs"]
mod moves;
#[path = "serving/release_again.rs"]
mod release_again;
#[path = "serving/routes.rs"]
mod routes;
#[path = "serving/stage.rs"]
mod stage;
#[path = "serving/starters.rs"]
mod starters;
#[path = "serving/stopping.rs"]
mod stopping;
#[path = "serving/walls.rs"]
mod walls;
