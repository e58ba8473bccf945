//! Errors of writing a channel.

use milepost_blobs::BlobError;
use milepost_model::channel::{PublishRefusal, SemVer, UnpublishRefusal};

use crate::error::ChannelError;
use crate::registry::RegistryError;
use crate::signature::KeyError;

#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error(transparent)]
    Publish(#[from] PublishRefusal),
    #[error(transparent)]
    Unpublish(#[from] UnpublishRefusal),
    /// The existing channel cannot be read.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    #[error(transparent)]
    Registry(#[from] RegistryError),
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error("could not write the channel to `{place}` ({error}); check that the place exists and is writable")]
    Storage { place: String, error: BlobError },
    #[error("`{version}` is the latest of the channel; confirm that, or promote the version before it")]
    IsLatest { version: SemVer },
    #[error("the channel is signed, and readers would refuse it unsigned; give its key")]
    KeyNeeded,
    #[error(
        "the channel is signed with key {found}, and the given key is {given}; use the channel's own key, or check its versions and \
        replace the key by signing them again"
    )]
    OtherKey { found: String, given: String },
    #[error(
        "the channel has versions but no signature, and signing it would vouch for all of them; check them, then sign \
        what exists"
    )]
    NotSigned,
    #[error(
        "`all` of the channel does not fit its signature: it was altered, or two publishers were cut off; compare it with \
        what you published, then sign what exists"
    )]
    Altered,
    #[error(
        "a signature of the channel claims serial {serial}, which no channel reaches: it was altered; compare the channel with \
        what you published, then sign what exists"
    )]
    Implausible { serial: u64 },
    #[error("other publishers kept changing the channel, so nothing was published; try again")]
    Contended,
    #[error("`{place}` refused the request with status {status}: {detail}; {hint}")]
    Refused { place: String, status: u16, detail: String, hint: String },
}

impl WriteError {
    /// Whether a retry may help.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Contended | Self::Storage { .. } => true,
            Self::Channel(error) => error.is_transient(),
            Self::Registry(error) => error.is_transient(),
            Self::Refused { status, .. } => matches!(status, 408 | 425 | 429 | 500..),
            _ => false,
        }
    }
}
