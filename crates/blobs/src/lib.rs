//! Bytes, in packs, in a folder or in S3.
//!
//! A *pack* is one stored object that holds one or more blobs back to back, in the form of [`milepost_model::pack`].
//! [`Blobs::ingest`] takes a pack as it comes from the network, checks every digest while it streams by, and either
//! publishes all of it or nothing. A pack has a random name, is never overwritten and never appended to.
//!
//! This crate refuses to know which blobs exist: the index from a digest to a [`Location`] is a table of the catalog.
//! It does not know what a version is, which packs are still needed, or how old an orphan must be; it deletes what it
//! is told to delete. `docs/decisions/003-blobs.md` has the reasons.
//!
//! To add a backend: an arm in `backend.rs`, and one more caller of the suite in `tests/conformance.rs`.

mod backend;
mod error;
mod folder;
mod frames;
mod ingest;
pub mod named;
mod pack;
mod read;
mod store;
mod writer;

pub use error::BlobError;
pub use frames::{IngestLimits, IngestedBlob};
pub use ingest::Ingested;
pub use milepost_model::pack::BlobKind;
pub use pack::{Location, PackInfo, PackName, PackNameError};
pub use read::BlobStream;
pub use store::Blobs;
