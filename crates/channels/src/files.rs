//! The layout of a channel: the same names in a directory, in S3, on a web server and in a bundle.

use milepost_model::Digest;
use milepost_model::channel::{ChannelName, PackageName};

/// The names of a channel's files, relative to the root of all channels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    folder: String,
}

pub(crate) const LATEST: &str = "latest";
pub(crate) const ALL: &str = "all";
pub(crate) const ARTIFACTS: &str = "artifacts";
/// A signature has four lines. A longer file is not a signature.
pub const MAX_SIGNATURE_BYTES: u64 = 4 << 10;

impl Files {
    pub fn of(package: &PackageName, channel: &ChannelName) -> Self {
        Self { folder: format!("{package}/{channel}") }
    }

    pub fn latest(&self) -> String {
        self.file(LATEST)
    }

    pub fn all(&self) -> String {
        self.file(ALL)
    }

    pub fn artifact(&self, digest: Digest) -> String {
        self.file(&artifact(digest))
    }

    /// `{package}/{channel}`.
    pub fn folder(&self) -> &str {
        &self.folder
    }

    pub(crate) fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.folder)
    }
}

/// Relative to the channel.
pub(crate) fn artifact(digest: Digest) -> String {
    format!("{ARTIFACTS}/{}", digest.hex())
}

pub(crate) fn signature(file: &str) -> String {
    format!("{file}.minisig")
}

/// The signature of an `all` that is about to be written. It lets the next publish distinguish an
/// `all` whose writer was killed before signing it from one that was altered.
pub(crate) fn next_signature(file: &str) -> String {
    format!("{file}.minisig.next")
}
