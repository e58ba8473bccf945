//! Stores blobs in packs, in a folder or in S3.
//!
//! A *pack* is one stored object that holds one or more blobs back to back, in the format of
//! [`milepost_model::pack`]. [`Blobs::ingest`] reads a pack from the network, checks every digest
//! while it streams by, and publishes either all of it or nothing. A pack has a random name, is
//! never overwritten and never appended to.
//!
//! This crate does not know which blobs exist: the index from digest to [`Location`] is a table of
//! the catalog. It does not know what a version is, which packs are still needed, or how old an
//! orphan must be. It deletes packs on request. `docs/decisions/003-blobs.md` has the reasons.
//!
//! To add a backend, add an arm in `backend.rs` and run the suite in `tests/conformance` with it.

mod backend;
mod error;
mod folder;
mod frames;
mod ingest;
pub mod named;
mod pack;
mod read;
mod room;
mod store;
mod writer;

pub use error::BlobError;
pub use frames::{IngestLimits, IngestedBlob};
pub use ingest::Ingested;
pub use milepost_model::pack::BlobKind;
pub use pack::{Location, PackInfo, PackName, PackNameError};
pub use read::BlobStream;
pub use store::Blobs;
