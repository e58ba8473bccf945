//! The typed API client, the request and response bodies that it shares with the server, and
//! sources, which read what users name on the command line as file trees.
//!
//! This crate never depends on the server and never prints. To add a call: put its bodies into
//! `api.rs` and its method into the file of its resource in `calls/`.

pub mod api;
mod calls;
mod error;
mod http;
pub mod packs;
pub mod source;
mod upload;

pub use calls::{ArtifactDownload, FunctionAnswer, FunctionCall, LogQuery, LogStream, version_path};
pub use error::ClientError;
pub use http::Client;
pub use upload::{UploadProgress, UploadSummary};
