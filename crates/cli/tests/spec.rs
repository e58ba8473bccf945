//! Folders of specs from seed 003 against a real server: what an apply creates, keeps, removes and
//! refuses.
#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a step that fails ends the test")]

#[path = "spec/both_at_once.rs"]
mod both_at_once;
#[path = "spec/builds.rs"]
mod builds;
#[path = "spec/commands.rs"]
mod commands;
#[expect(dead_code, reason = "other tests use the rest")]
mod common;
#[path = "spec/git.rs"]
mod git;
#[path = "spec/hand_edits.rs"]
mod hand_edits;
#[path = "spec/manifests.rs"]
mod manifests;
#[path = "spec/ownership.rs"]
mod ownership;
#[path = "spec/project.rs"]
mod project;
#[path = "spec/scale.rs"]
mod scale;
#[path = "spec/scenarios.rs"]
mod scenarios;
#[path = "spec/seed.rs"]
mod seed;
#[path = "spec/sequences.rs"]
mod sequences;
#[path = "serving/stage.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod stage;
#[path = "up/terminal.rs"]
mod terminal;
#[path = "spec/unchanged.rs"]
mod unchanged;
#[path = "spec/written.rs"]
mod written;
