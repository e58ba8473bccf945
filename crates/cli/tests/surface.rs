//! The surface of the command line: help, names as plain arguments, aliases of verbs, completions.
#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a step that fails ends the test")]

#[expect(dead_code, reason = "other tests use the rest")]
mod common;
#[path = "surface/completion.rs"]
mod completion;
#[path = "surface/pinned.rs"]
mod pinned;
#[path = "surface/typed.rs"]
mod typed;
