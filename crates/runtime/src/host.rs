//! What the runtime needs from the program that embeds it.

use std::path::PathBuf;

use futures::future::BoxFuture;
use milepost_model::{AppName, Digest, Timestamp, UnitName};

use crate::function::SealedValue;

/// The server, as the runtime sees it. A warm call uses only [`Host::log`].
pub trait Host: Send + Sync + 'static {
    /// Makes all files of a package available on this machine. They are never written to again.
    fn package(&self, root: Digest) -> BoxFuture<'_, Result<Package, HostError>>;

    /// Opens a secret for an instance that is about to start.
    fn open_secret(&self, secret: &SealedValue) -> Result<String, HostError>;

    /// Accepts a line of output. Must not block.
    fn log(&self, line: LogLine);

    fn now(&self) -> Timestamp;
}

#[derive(Debug, Clone)]
pub struct Package {
    pub folder: PathBuf,
    /// The number of files decides whether they are linked one by one.
    pub files: usize,
}

#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct HostError(pub String);

/// A line written by a function, or by the runtime about it.
#[derive(Debug, Clone)]
pub struct LogLine {
    pub at: Timestamp,
    pub app: AppName,
    pub function: UnitName,
    pub number: i64,
    pub uid: String,
    /// Counted from the start of the server.
    pub instance: u64,
    /// The request that was running, if known for certain.
    pub request: Option<Box<str>>,
    pub source: LogSource,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogSource {
    Stdout,
    Stderr,
    /// Written by Milepost: started, crashed, timed out, output dropped.
    Runtime,
}
