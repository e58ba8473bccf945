//! Reads and writes channels wherever they are stored.
//!
//! [`milepost_model::channel`] defines what a channel contains; this crate fetches and stores it.
//! [`Source`] reads the channel of another author, who is not trusted: everything has a limit and a
//! deadline, and every result is either complete and verified, or an error that reports whether a
//! retry may help ([`ChannelError::is_transient`]). [`Store`] is the author's side: it publishes to
//! a directory, S3 or a Milepost server, and loses no entry to concurrent publishes.
//!
//! It does not know what is in an artifact, what an app is, or when an install should move.
//! `docs/decisions/010-distribution.md` has the reasons.
//!
//! To add a kind of place for channels: an arm in `source/mod.rs`, one in `store/place.rs`, and a
//! caller of the suite in `tests/stores.rs`.

pub mod bundle;
mod error;
mod files;
mod http;
mod pace;
pub mod reach;
pub mod registry;
pub mod signature;
mod source;
mod store;

pub use error::{ArtifactStream, ChannelError};
pub use files::Files;
pub use http::{Deadlines, Http};
pub use signature::{PublicKey, SecretKey};
pub use source::{LatestAnswer, ReadAll, ReadChannel, ReadLatest, Source, SourceOptions};
pub use store::{Publish, Published, Store, StoreOptions, Unpublish, Unpublishing, WriteError};
