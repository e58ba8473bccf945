//! What the runtime needs from the program around it.

use std::path::PathBuf;

use futures::future::BoxFuture;
use milepost_model::{AppName, Digest, Timestamp, UnitName};

use crate::function::SealedValue;

/// The server, as the runtime sees it. None of it is on the way of a warm call but [`Host::log`].
pub trait Host: Send + Sync + 'static {
    /// The files of a package, whole, on this machine. They are never written to again.
    fn package(&self, root: Digest) -> BoxFuture<'_, Result<Package, HostError>>;

    /// Opens a secret for an instance that is about to start.
    fn open_secret(&self, secret: &SealedValue) -> Result<String, HostError>;

    /// Takes a line of output. Must not block.
    fn log(&self, line: LogLine);

    fn now(&self) -> Timestamp;
}

#[derive(Debug, Clone)]
pub struct Package {
    pub folder: PathBuf,
    /// How many files it has: decides whether they are linked one by one.
    pub files: usize,
}

#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct HostError(pub String);

/// A line that a function wrote, or that the runtime says about it.
#[derive(Debug, Clone)]
pub struct LogLine {
    pub at: Timestamp,
    pub app: AppName,
    pub function: UnitName,
    pub number: i64,
    pub uid: String,
    /// Which instance, counted from the start of the server.
    pub instance: u64,
    /// The request that was running, when it is certain.
    pub request: Option<Box<str>>,
    pub source: LogSource,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogSource {
    Stdout,
    Stderr,
    /// Said by Milepost: started, crashed, timed out, output dropped.
    Runtime,
}
