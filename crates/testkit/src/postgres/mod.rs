//! A real PostgreSQL that starts and stops by itself.
//!
//! [`database()`] is what almost every test needs: an empty private database on one server that all
//! test processes share. The server starts with the first test that needs it and is stopped a few
//! seconds after the last one (see `shared.rs`). `cargo xtask test` keeps it running for a whole
//! run. If `MILEPOST_TEST_POSTGRES=postgres://…` is set, that server is used instead and none is
//! started.
//!
//! [`Cluster::start_private`] is a server for one test, which may kill it.
//!
//! The servers sort text by the rules of a language (ICU, en-US) rather than by bytes, as most
//! production servers do. So a query that forgets `COLLATE "C"` where the order is part of the
//! contract fails here rather than in production.

mod binaries;
mod cluster;
mod database;
mod instance;
mod shared;
mod watchdog;

pub(crate) use binaries::ServerUser;
pub use cluster::{Cluster, Setup};
pub use database::{TestDatabase, copy, database};
