//! Parses a pack as it streams by: finds the blobs, hashes them, and rejects errors at the first
//! byte that shows them.
//!
//! Holds one header, the current directory object and the list of blobs, but never the bytes of a
//! file.

use milepost_model::Digest;
use milepost_model::digest::Hasher;
use milepost_model::pack::{
    BlobKind, HEADER_LEN, Header, MAGIC, MAX_DIRECTORIES_BYTES, MAX_DIRECTORY_BYTES, decode_header,
};
use milepost_model::tree::Directory;

use crate::error::BlobError;

/// Limits of one pack. Sizes are checked when they are declared, before the bytes are read.
#[derive(Debug, Clone, Copy)]
pub struct IngestLimits {
    pub max_blobs: usize,
    pub max_blob_bytes: u64,
    /// For the whole pack, including headers.
    pub max_total_bytes: u64,
}

/// One blob of an ingested pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IngestedBlob {
    pub digest: Digest,
    pub kind: BlobKind,
    pub size: u64,
    pub offset: u64,
    /// The decoded object if `kind` is a directory, so that the caller can check and record its
    /// references.
    pub directory: Option<Directory>,
}

pub(crate) struct Frames {
    limits: IngestLimits,
    /// The number of bytes read so far, which is the offset of the next one.
    position: u64,
    directories_bytes: u64,
    blobs: Vec<IngestedBlob>,
    state: State,
}

enum State {
    Magic(Fill<{ MAGIC.len() }>),
    Header(Fill<HEADER_LEN>),
    Body(Body),
}

struct Body {
    header: Header,
    offset: u64,
    remaining: u64,
    hasher: Hasher,
    /// The bytes of a directory object, empty for a file.
    directory: Vec<u8>,
}

impl Frames {
    pub(crate) fn new(limits: IngestLimits) -> Self {
        Self { limits, position: 0, directories_bytes: 0, blobs: Vec::new(), state: State::Magic(Fill::default()) }
    }

    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// The size of the pack up to the end of the current blob.
    pub(crate) fn announced(&self) -> u64 {
        match &self.state {
            State::Body(body) => self.position.saturating_add(body.remaining),
            State::Magic(_) | State::Header(_) => self.position,
        }
    }

    /// Consumes the next bytes, split anywhere. Must not be called again after an error.
    pub(crate) fn push(&mut self, mut bytes: &[u8]) -> Result<(), BlobError> {
        while !bytes.is_empty() {
            let before = bytes.len();
            match &mut self.state {
                State::Magic(fill) => {
                    let magic = fill.take(&mut bytes);
                    self.position += (before - bytes.len()) as u64;
                    match magic {
                        Some(magic) if magic == MAGIC => self.state = State::Header(Fill::default()),
                        Some(_) => return Err(BlobError::Malformed("it does not begin with `MPPACK01`".to_owned())),
                        None => {}
                    }
                }
                State::Header(fill) => {
                    let header = fill.take(&mut bytes);
                    self.position += (before - bytes.len()) as u64;
                    if let Some(header) = header {
                        self.begin(&header)?;
                    }
                }
                State::Body(body) => {
                    body.take(&mut bytes);
                    self.position += (before - bytes.len()) as u64;
                    self.end_if_whole()?;
                }
            }
        }
        Ok(())
    }

    /// Ends the stream, which is allowed only between two blobs.
    pub(crate) fn finish(self) -> Result<Vec<IngestedBlob>, BlobError> {
        match self.state {
            State::Header(fill) if fill.filled == 0 && !self.blobs.is_empty() => Ok(self.blobs),
            // No row would ever refer to it.
            State::Header(fill) if fill.filled == 0 => Err(BlobError::Malformed("it holds no blob".to_owned())),
            _ => Err(BlobError::Truncated { at: self.position }),
        }
    }

    fn begin(&mut self, header: &[u8; HEADER_LEN]) -> Result<(), BlobError> {
        let header = decode_header(header).map_err(|error| BlobError::Malformed(error.to_string()))?;
        let limits = self.limits;
        if self.blobs.len() >= limits.max_blobs {
            return Err(BlobError::TooMany { limit: limits.max_blobs });
        }
        within("a blob", header.size, limits.max_blob_bytes)?;
        within("the pack", self.position.saturating_add(header.size), limits.max_total_bytes)?;
        if header.kind == BlobKind::Directory {
            within("a directory object", header.size, MAX_DIRECTORY_BYTES)?;
            self.directories_bytes += header.size;
            within("all directory objects of the pack", self.directories_bytes, MAX_DIRECTORIES_BYTES)?;
        }
        self.state = State::Body(Body {
            header,
            offset: self.position,
            remaining: header.size,
            hasher: Hasher::default(),
            // Grows with the bytes received, not with the declared size.
            directory: Vec::new(),
        });
        // An empty blob is complete before its first byte, which may never come.
        self.end_if_whole()
    }

    fn end_if_whole(&mut self) -> Result<(), BlobError> {
        if !matches!(&self.state, State::Body(body) if body.remaining == 0) {
            return Ok(());
        }
        if let State::Body(body) = std::mem::replace(&mut self.state, State::Header(Fill::default())) {
            self.blobs.push(body.finish()?);
        }
        Ok(())
    }
}

impl Body {
    fn take(&mut self, bytes: &mut &[u8]) {
        let count = usize::try_from(self.remaining).map_or(bytes.len(), |remaining| remaining.min(bytes.len()));
        let (mine, rest) = bytes.split_at(count);
        *bytes = rest;
        self.remaining -= count as u64;
        self.hasher.update(mine);
        if self.header.kind == BlobKind::Directory {
            self.directory.extend_from_slice(mine);
        }
    }

    fn finish(self) -> Result<IngestedBlob, BlobError> {
        let Header { kind, digest, size } = self.header;
        let found = self.hasher.finish();
        if found != digest {
            return Err(BlobError::DigestMismatch { stated: digest, found });
        }
        let directory = match kind {
            BlobKind::File => None,
            BlobKind::Directory => Some(decode_directory(digest, &self.directory)?),
        };
        Ok(IngestedBlob { digest, kind, size, offset: self.offset, directory })
    }
}

/// Rejects directories that are not in canonical form: two encodings of one directory would give
/// equal trees different digests.
fn decode_directory(digest: Digest, bytes: &[u8]) -> Result<Directory, BlobError> {
    let wrong = |reason: String| BlobError::Malformed(format!("blob `{digest}`: {reason}"));
    let directory = Directory::decode(bytes).map_err(|error| wrong(error.to_string()))?;
    if directory.encode() != bytes {
        return Err(wrong("the directory object is not in its canonical form".to_owned()));
    }
    Ok(directory)
}

fn within(what: &'static str, size: u64, limit: u64) -> Result<(), BlobError> {
    if size > limit { Err(BlobError::TooLarge { what, size, limit }) } else { Ok(()) }
}

/// A small array that is filled from arbitrarily split chunks.
struct Fill<const N: usize> {
    bytes: [u8; N],
    filled: usize,
}

impl<const N: usize> Default for Fill<N> {
    fn default() -> Self {
        Self { bytes: [0; N], filled: 0 }
    }
}

impl<const N: usize> Fill<N> {
    fn take(&mut self, from: &mut &[u8]) -> Option<[u8; N]> {
        let count = (N - self.filled).min(from.len());
        let (mine, rest) = from.split_at(count);
        self.bytes[self.filled..self.filled + count].copy_from_slice(mine);
        self.filled += count;
        *from = rest;
        (self.filled == N).then_some(self.bytes)
    }
}
