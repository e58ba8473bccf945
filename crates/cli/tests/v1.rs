//! The v1 interface: its original client against a real server, and requests that the client never
//! sends.
#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a step that fails ends the test")]

#[path = "v1/client.rs"]
mod client;
#[path = "v1/holding.rs"]
mod holding;
#[path = "v1/model.rs"]
mod model;
#[path = "v1/refusals.rs"]
mod refusals;
#[path = "v1/sequences.rs"]
mod sequences;
#[path = "v1/stage.rs"]
mod stage;
#[path = "v1/storage.rs"]
mod storage;
#[path = "v1/upstream.rs"]
mod upstream;
#[path = "v1/values.rs"]
mod values;
