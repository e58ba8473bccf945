//! A stream of bytes that is read piece by piece and hashed as a whole.

use bytes::{Bytes, BytesMut};
use futures::stream::{Stream, StreamExt};
use milepost_model::Digest;
use milepost_model::digest::Hasher;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why the bytes of an artifact cannot be used. Nothing of them was.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChunkError {
    #[error("it broke off: {0}")]
    Broken(BoxError),
    #[error("it ends after {0} bytes, in the middle of something")]
    Truncated(u64),
    #[error("it goes on after its end")]
    Trailing,
    #[error("its SHA-256 is {found}, and {expected} was asked for")]
    Mismatch { expected: Digest, found: Digest },
}

pub(crate) struct Chunks<S> {
    body: S,
    /// What arrived and was not asked for yet.
    rest: Bytes,
    hasher: Hasher,
    read: u64,
}

impl<S, E> Chunks<S>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
    E: Into<BoxError>,
{
    pub fn new(body: S) -> Self {
        Self { body, rest: Bytes::new(), hasher: Hasher::default(), read: 0 }
    }

    /// Up to so many bytes, at least one, as they lie in memory.
    pub async fn some(&mut self, most: u64) -> Result<Bytes, ChunkError> {
        while self.rest.is_empty() {
            match self.body.next().await {
                Some(Ok(chunk)) => self.rest = chunk,
                Some(Err(error)) => return Err(ChunkError::Broken(error.into())),
                None => return Err(ChunkError::Truncated(self.read)),
            }
        }
        let count = usize::try_from(most).map_or(self.rest.len(), |most| most.min(self.rest.len()));
        let piece = self.rest.split_to(count);
        self.hasher.update(&piece);
        self.read += piece.len() as u64;
        Ok(piece)
    }

    /// Exactly so many bytes; memory grows with what arrives, not with what was announced.
    pub async fn exactly(&mut self, count: usize) -> Result<Bytes, ChunkError> {
        let mut bytes = BytesMut::new();
        while bytes.len() < count {
            bytes.extend_from_slice(&self.some((count - bytes.len()) as u64).await?);
        }
        Ok(bytes.freeze())
    }

    /// The end must be here, and all that was read must have this digest.
    pub async fn finish(&mut self, expected: Digest) -> Result<(), ChunkError> {
        loop {
            if !self.rest.is_empty() {
                return Err(ChunkError::Trailing);
            }
            match self.body.next().await {
                Some(Ok(chunk)) => self.rest = chunk,
                Some(Err(error)) => return Err(ChunkError::Broken(error.into())),
                None => break,
            }
        }
        let found = std::mem::take(&mut self.hasher).finish();
        if found == expected { Ok(()) } else { Err(ChunkError::Mismatch { expected, found }) }
    }
}
