//! The crate's error type. Its variants are grouped by who can act on them.

use milepost_model::Digest;

use crate::pack::PackName;

type Source = Box<dyn std::error::Error + Send + Sync>;

#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    // Errors of the sender of a pack. Nothing of the pack was kept.
    #[error("blob `{stated}` arrived with the bytes of `{found}`")]
    DigestMismatch { stated: Digest, found: Digest },
    #[error("the pack ends after {at} bytes, in the middle of a blob")]
    Truncated { at: u64 },
    #[error("{what} has {size} bytes, {limit} are allowed")]
    TooLarge { what: &'static str, size: u64, limit: u64 },
    #[error("the pack has more than {limit} blobs")]
    TooMany { limit: usize },
    #[error("not a pack: {0}")]
    Malformed(String),
    /// The sender's stream failed, usually because of a lost connection.
    #[error("the pack is incomplete")]
    Interrupted(#[source] Source),

    // Invalid requests of the caller.
    #[error("bytes {start} to {end} of a blob of {size} bytes")]
    OutOfRange { start: u64, end: u64, size: u64 },
    #[error("`{url}` is not a place for blobs: {reason}")]
    Unusable { url: String, reason: String },

    // Data loss in the store. Needs an operator: retrying does not help.
    #[error("pack `{0}` is not in the store")]
    NotFound(PackName),
    #[error("blob `{digest}` in pack `{pack}` is corrupt: its bytes are those of `{found}`")]
    Corrupt { digest: Digest, pack: PackName, found: Digest },
    #[error("pack `{pack}` is corrupt: it ends at byte {end}, before the end of a blob at byte {needed}")]
    PackCut { pack: PackName, end: u64, needed: u64 },

    /// Nothing of the pack was kept.
    #[error("the disk has too little room: {} MiB are free", .free >> 20)]
    NoRoom { free: u64 },

    /// The disk or S3 refused or did not respond. Retrying may help.
    #[error("could not {doing}")]
    Storage { doing: &'static str, source: Source },
}

impl BlobError {
    pub(crate) fn storage(doing: &'static str, source: impl Into<Source>) -> Self {
        Self::Storage { doing, source: source.into() }
    }

    /// Whether bytes that were once acknowledged are gone.
    pub fn is_loss(&self) -> bool {
        matches!(self, Self::NotFound(_) | Self::Corrupt { .. } | Self::PackCut { .. })
    }

    /// Whether the sender is at fault, which makes the status a 4xx instead of a 5xx.
    pub fn is_senders(&self) -> bool {
        matches!(
            self,
            Self::DigestMismatch { .. }
                | Self::Truncated { .. }
                | Self::TooLarge { .. }
                | Self::TooMany { .. }
                | Self::Malformed(_)
                | Self::Interrupted(_)
        )
    }
}
