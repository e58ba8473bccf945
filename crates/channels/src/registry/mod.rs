//! Artifacts in an OCI registry, by the distribution specification: the artifact is the one layer of a manifest, the version is
//! its tag. What is fetched is named by the layer's digest, so a tag that somebody moved changes nothing.
//!
//! Every version has a manifest of its own, because version and package stand in its annotations: deleting one never takes
//! the tag of another, which registries would do for two tags on one manifest.

mod auth;
mod error;
mod manifest;
mod pull;
mod push;
mod repository;

pub use auth::Credentials;
pub use error::RegistryError;
pub use push::Pushed;
pub use repository::Registry;
