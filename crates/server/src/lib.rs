//! The control plane: the HTTP API over the catalog and the blob store, authentication, and
//! background jobs.
//!
//! This crate joins crates that do not depend on each other: `catalog` holds the state, `blobs`
//! holds the bytes. It contains no SQL and never reads the command line, so tests can start it the
//! same way the binary does. `router.rs` lists the whole API and `middleware.rs` everything that
//! applies to every request.
//!
//! To add an API call, add a file `handlers/<resource>/<verb>.rs` with one handler and its
//! `#[utoipa::path]`, and a line in `router.rs`. The reference is generated from it.

mod archive;
mod artifacts;
mod auth;
mod body;
mod builds;
mod checkout;
mod checks;
mod compat;
mod connections;
mod cursor;
mod docs_page;
mod door;
mod error;
mod executions;
mod extract;
mod handlers;
mod ingest;
mod ingest_source;
mod installs;
mod interpreters;
mod jobs;
mod keyring;
mod logs;
mod metrics;
mod middleware;
mod named_files;
mod open_files;
mod private;
mod router;
mod serving;
mod settings;
mod startup;
mod state;
mod trees;
mod urls;

pub use installs::InstallsDue;
pub use milepost_runtime::sandbox::jail_main as sandbox_stage;
pub use router::openapi;
pub use settings::{BuildSettings, Settings};
pub use startup::{Server, StartError};
