//! Tests of the gateway with an in-memory backend, in process and over real sockets.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests")]

mod connection_limits;
mod connections;
mod drain;
mod encodings;
mod files;
mod functions;
mod heads;
mod histories;
mod hosts;
mod inside;
mod large;
mod model;
mod moves;
mod pages;
mod paths;
mod prefixes;
mod responses;
mod support;
mod tls;
mod views;
