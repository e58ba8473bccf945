//! The typed client of the API, the bodies that it shares with the server, and sources: what a person names on the
//! command line, as trees of files.
//!
//! This crate never depends on the server and never prints. To add a call: its body in `api.rs`, its method in `client.rs`.

pub mod api;
pub mod source;
