//! The control plane: the API over the catalog and the blobs, who may use it, and the jobs that keep house.
//!
//! This crate joins what does not know each other: `catalog` keeps what is true, `blobs` keeps bytes. It never writes SQL
//! and never reads the command line; it can be started from a test as well as from the binary. `router.rs` shows the
//! whole API on one page, `middleware.rs` everything that every request passes through.
//!
//! To add a call: a file `handlers/<resource>/<verb>.rs` with one handler and its `#[utoipa::path]`, and a line in
//! `router.rs`; the reference is generated from it.

mod archive;
mod artifacts;
mod auth;
mod body;
mod builds;
mod checkout;
mod checks;
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
mod v1;

pub use installs::InstallsDue;
pub use milepost_runtime::sandbox::jail_main as sandbox_stage;
pub use router::openapi;
pub use settings::{BuildSettings, Settings};
pub use startup::{Server, StartError};
