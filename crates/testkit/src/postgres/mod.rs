//! A real PostgreSQL that starts and stops by itself.
//!
//! [`database`] is what almost every test wants: an empty database of its own on one server that all test processes
//! share. The server starts with the first test that asks and is stopped a few seconds after the last one is gone (see
//! `shared.rs`); `cargo xtask test` holds on to it for a whole run. With `MILEPOST_TEST_POSTGRES=postgres://…` set, that
//! server is used instead and none is started.
//!
//! [`Cluster::start_private`] is a server for one test, which may kill it.
//!
//! The servers sort text by the rules of a language (ICU, en-US) rather than by bytes, as most people's do, so a query
//! that forgets `COLLATE "C"` where the order is part of the contract fails here and not at a user's.

mod binaries;
mod cluster;
mod database;
mod instance;
mod shared;
mod watchdog;

pub use cluster::Cluster;
pub use database::{TestDatabase, database};
