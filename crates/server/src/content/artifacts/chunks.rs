//! A byte stream that is read in pieces and hashed as a whole.

use bytes::{Bytes, BytesMut};
use futures::stream::{Stream, StreamExt};
use milepost_model::Digest;
use milepost_model::digest::Hasher;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why the bytes of an artifact were rejected. None of them were used.
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
    /// Received bytes that have not been read yet.
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

    /// Returns between one and `most` bytes without copying.
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

    /// Returns exactly `count` bytes. Memory grows with the received bytes, not with `count`, which
    /// is untrusted.
    pub async fn exactly(&mut self, count: usize) -> Result<Bytes, ChunkError> {
        let mut bytes = BytesMut::new();
        while bytes.len() < count {
            bytes.extend_from_slice(&self.some((count - bytes.len()) as u64).await?);
        }
        Ok(bytes.freeze())
    }

    /// Checks that the stream ends here and that its digest matches.
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
