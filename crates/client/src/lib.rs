//! The typed client of the API, the bodies that it shares with the server, and sources: what a person names on the
//! command line, as trees of files.
//!
//! This crate never depends on the server and never prints. To add a call: its body in `api.rs`, its method in the file
//! of its resource in `calls/`.

pub mod api;
mod calls;
mod error;
mod http;
pub mod source;
mod upload;

pub use calls::{ArtifactDownload, FunctionAnswer, FunctionCall, LogQuery, LogStream, version_path};
pub use error::ClientError;
pub use http::Client;
pub use upload::{UploadProgress, UploadSummary};
