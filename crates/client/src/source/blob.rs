//! The bytes of one file on their way to the server. The bytes sent must be the bytes that were
//! scanned, so the digest is computed again while they are read.

use std::io::{self, Read};
use std::path::PathBuf;

use milepost_model::digest::{Digest, Hasher};

use super::error::SourceError;

/// The bytes of one file. The final read fails if the bytes differ from those scanned; the error
/// contains a [`SourceError::Changed`].
pub struct Blob {
    reader: Box<dyn Read + Send>,
    path: String,
    digest: Digest,
    size: u64,
    state: State,
    /// The stat cache that contained the file. It is deleted when it turns out to be wrong, so that
    /// running the command again succeeds.
    vouched_by: Option<PathBuf>,
}

enum State {
    Reading { hasher: Hasher, seen: u64 },
    Done,
    Failed,
}

impl Blob {
    pub(super) fn new(
        reader: Box<dyn Read + Send>,
        path: String,
        digest: Digest,
        size: u64,
        vouched_by: Option<PathBuf>,
    ) -> Self {
        let state = State::Reading { hasher: Hasher::default(), seen: 0 };
        Self { reader, path, digest, size, state, vouched_by }
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    /// The file's path inside the source, for progress and errors.
    pub fn path(&self) -> &str {
        &self.path
    }

    fn changed(&mut self) -> io::Error {
        self.state = State::Failed;
        if let Some(cache) = self.vouched_by.take() {
            // Best effort: if the cache remains, the same error occurs again.
            let _ = std::fs::remove_file(cache);
        }
        io::Error::new(io::ErrorKind::InvalidData, SourceError::Changed(self.path.clone()))
    }
}

impl Read for Blob {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let State::Reading { hasher, seen } = &mut self.state else {
            return if matches!(self.state, State::Done) { Ok(0) } else { Err(self.changed()) };
        };
        // Never reads past the scanned size: a file that only grew still has the scanned bytes at
        // its start.
        let room = usize::try_from(self.size - *seen).unwrap_or(usize::MAX).min(buffer.len());
        let count = self.reader.read(&mut buffer[..room])?;
        hasher.update(&buffer[..count]);
        *seen += count as u64;
        if *seen < self.size {
            return if count > 0 || buffer.is_empty() { Ok(count) } else { Err(self.changed()) };
        }
        if std::mem::take(hasher).finish() != self.digest {
            return Err(self.changed());
        }
        self.state = State::Done;
        Ok(count)
    }
}
