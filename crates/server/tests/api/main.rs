//! The API over HTTP, against a real server in this process.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests end the test at once")]

mod artifacts;
mod auth;
mod auth_table;
mod bodies;
mod build_results;
mod building;
mod builds;
mod changes;
mod client;
mod databases;
mod executions;
mod flow;
mod hidden_secrets;
mod lifecycle;
mod lists;
mod nodes;
mod problems;
mod reference;
mod server;
mod trees;
mod unknown_names;
mod uploads;
mod watching;
mod webhooks;
