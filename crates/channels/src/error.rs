//! Errors of reading a channel. Each message is a sentence for the status of an install.

use bytes::Bytes;
use futures::stream::BoxStream;
use milepost_blobs::BlobError;
use milepost_model::Digest;
use milepost_model::channel::{ChannelName, IndexError, PackageName, SemVer};

use crate::registry::RegistryError;

/// The bytes of an artifact, verified as they pass: if the stream ends without an error, they match
/// the digest of the entry. Nothing of it may be used before that.
pub type ArtifactStream = BoxStream<'static, Result<Bytes, ChannelError>>;

#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    // A retry may help.
    #[error("could not reach `{place}` ({reason}); check the address and the network")]
    Unreachable { place: String, reason: String },
    #[error("`{place}` responded with status {status}; try again later, or ask its operator")]
    Status { place: String, status: u16 },
    #[error("the response of `{place}` ended after {got} bytes; try again")]
    Truncated { place: String, got: u64 },
    #[error("the file `all` of the channel is older than `latest`, probably from a cache; try again later")]
    Behind,
    #[error(
        "could not read the channel from its storage: {}; check the address, and for `s3://` the \
        credentials (`AWS_…`)",
        causes(.0)
    )]
    Storage(BlobError),

    // A retry would fail again until something is changed.
    /// A local file: an artifact or a bundle.
    #[error("could not read or write the file ({0}); check its path, its permissions and the free disk space")]
    File(#[from] std::io::Error),
    #[error(
        "`{place}` does not exist; check the address, which ends with the channel's name like `/stable`, or \
        ask the author whether it has moved"
    )]
    Gone { place: String },
    /// Partly written or altered: not JSON, or not the JSON of a channel.
    #[error("{0}; ask the author to publish again")]
    Damaged(IndexError),
    #[error("{0}; check the address of the channel")]
    WrongChannel(IndexError),
    /// An entry's time is in the future.
    #[error("{0}; check the clock of this machine, and ask the author to check theirs")]
    ClockSkew(IndexError),
    #[error(
        "the signature of `{file}` is invalid, because the file was altered or a publish was interrupted; \
        ask the author to publish again"
    )]
    BadSignature { file: String },
    #[error(
        "`{file}` has no signature, but the install requires one; ask the author for a signed channel, or \
        for the right address"
    )]
    MissingSignature { file: String },
    #[error(
        "`{file}` is signed with key {found}, not with the known key {known}; ask the author whether the \
        key has changed"
    )]
    OtherKey { file: String, found: String, known: String },
    #[error(
        "`{file}` has serial {serial}, but serial {minimum} was already seen, so it is an old copy; check \
        the address of the channel"
    )]
    Replay { file: String, serial: u64, minimum: u64 },
    #[error(
        "the signature of `{file}` is for {signed}, not for this file of `{package}`, channel `{channel}`; \
        check the address"
    )]
    SignedForOther { file: String, signed: String, package: PackageName, channel: ChannelName },
    #[error("`{from}` redirects to another host, `{to}`, which is not followed; use the new address if you trust it")]
    Redirect { from: String, to: String },
    #[error("`{place}` is larger than the limit of {limit} bytes; ask the author")]
    TooLarge { place: String, limit: u64 },
    #[error(
        "the content of `{place}` has digest `{found}` instead of `{expected}`, so it was truncated or \
        altered and was not used; ask the author"
    )]
    DigestMismatch { place: String, expected: Digest, found: Digest },
    #[error("`{0}` has no complete digest, so it cannot be fetched; ask the author to publish it again")]
    NoDigest(SemVer),
    #[error("the bundle has no artifact of `{0}`; ask for a bundle that contains it")]
    NotInBundle(SemVer),
    #[error("`{version}` is not in `{channel}`; choose one of its versions")]
    NotPublished { version: SemVer, channel: ChannelName },
    #[error("not a bundle: {0}; make the bundle again")]
    BadBundle(String),
    /// The reason includes what to write instead.
    #[error("`{place}` cannot be a channel; {reason}")]
    Unusable { place: String, reason: String },
    #[error(transparent)]
    Registry(RegistryError),
}

/// Joins the error with its sources, which say more.
fn causes(error: &BlobError) -> String {
    let mut text = error.to_string();
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        next = cause.source();
    }
    text
}

impl ChannelError {
    /// Whether a retry may help. Any other error is a refusal: nothing was used, and an operator
    /// must look at it. A watcher asks again at its usual interval in both cases, and earlier only
    /// for transient errors.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Truncated { .. } | Self::Behind | Self::Storage(_) => true,
            Self::Status { status, .. } => matches!(status, 408 | 425 | 429 | 500..),
            Self::Registry(error) => error.is_transient(),
            _ => false,
        }
    }

    /// A short, stable identifier for tables and metrics.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } | Self::Status { .. } | Self::Storage(_) => "unreachable",
            Self::Truncated { .. } => "truncated",
            Self::Behind => "behind",
            Self::Gone { .. } => "gone",
            Self::Damaged(_) | Self::BadBundle(_) => "damaged",
            Self::WrongChannel(_) => "wrong_channel",
            Self::ClockSkew(_) => "clock",
            Self::BadSignature { .. } | Self::SignedForOther { .. } | Self::OtherKey { .. } => "bad_signature",
            Self::MissingSignature { .. } => "missing_signature",
            Self::Replay { .. } => "replay",
            Self::Redirect { .. } => "redirect",
            Self::TooLarge { .. } => "too_large",
            Self::DigestMismatch { .. } => "digest_mismatch",
            Self::NoDigest(_) | Self::NotInBundle(_) | Self::NotPublished { .. } => "no_artifact",
            Self::Unusable { .. } | Self::File(_) => "unusable",
            Self::Registry(error) if error.is_transient() => "unreachable",
            Self::Registry(_) => "registry",
        }
    }
}

impl From<RegistryError> for ChannelError {
    fn from(error: RegistryError) -> Self {
        Self::Registry(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_errors_include_their_cause() {
        let error = BlobError::Storage { doing: "read an object", source: "no credentials".into() };
        let said = ChannelError::Storage(error).to_string();
        assert!(said.contains("could not read an object: no credentials; check"), "{said}");
    }
}
