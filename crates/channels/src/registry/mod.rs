//! Artifacts in an OCI registry, by the distribution specification. The artifact is the only layer
//! of a manifest, and the version is its tag. Artifacts are fetched by the layer's digest, so a
//! moved tag has no effect.
//!
//! Every version has its own manifest, because the annotations include the package and version. So
//! deleting one never removes another tag, which registries would do for two tags of one manifest.

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
