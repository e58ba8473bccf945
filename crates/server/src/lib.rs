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

mod auth;
mod builds;
mod checks;
mod cluster;
mod compat;
mod content;
mod edge;
mod effects;
mod error;
mod executions;
mod handlers;
mod installs;
mod keyring;
mod logs;
mod metrics;
mod phrase;
mod private;
mod router;
mod serving;
mod settings;
mod startup;
mod state;
mod upkeep;

pub use installs::InstallsDue;
pub use milepost_runtime::sandbox::jail_main as sandbox_stage;
pub use router::openapi;
pub use settings::{BuildSettings, Settings};
pub use startup::{Server, StartError};
