//! Packs for the server: which blobs go into which, and their bytes, read from sources.

use std::io::{self, Read};
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use milepost_model::Digest;
use milepost_model::pack::{self, BlobKind};
use tokio::sync::mpsc;

use crate::source::{Source, SourceError};

/// Maximum size of a pack, unless a single file is larger. A broken connection costs only one pack.
const PACK_BYTES: u64 = 64 << 20;
const PACK_BLOBS: usize = 20_000;
const CHUNK: usize = 256 << 10;
/// Chunks that may wait for the receiver.
const CHUNKS_AHEAD: usize = 4;

/// A blob to pack: a file of one of the sources, or an encoded directory.
#[derive(Debug, PartialEq, Eq)]
pub enum Item {
    File { digest: Digest, size: u64, source: usize },
    Directory(Digest, Bytes),
}

impl Item {
    pub fn size(&self) -> u64 {
        match self {
            Self::File { size, .. } => *size,
            Self::Directory(_, bytes) => bytes.len() as u64,
        }
    }

    pub fn digest(&self) -> Digest {
        match self {
            Self::File { digest, .. } | Self::Directory(digest, _) => *digest,
        }
    }
}

/// Distributes the items over packs, in order.
pub fn into_packs(items: Vec<Item>) -> Vec<Vec<Item>> {
    let mut packs: Vec<Vec<Item>> = Vec::new();
    let mut bytes = 0;
    for item in items {
        let size = item.size();
        match packs.last_mut().filter(|pack| pack.len() < PACK_BLOBS && (bytes == 0 || bytes + size <= PACK_BYTES)) {
            Some(pack) => pack.push(item),
            None => {
                bytes = 0;
                packs.push(vec![item]);
            }
        }
        bytes += size;
    }
    packs
}

#[derive(Debug)]
pub enum PackError {
    /// The receiver is gone; its own error has the reason.
    Gone,
    Source(SourceError),
    Reading {
        path: String,
        source: io::Error,
    },
}

/// A pack on its way: its chunks, and the result of reading the sources.
pub struct Packing {
    pub chunks: mpsc::Receiver<io::Result<Bytes>>,
    pub reading: tokio::task::JoinHandle<Result<(), PackError>>,
}

/// Reads a pack in a blocking task. If a file cannot be read, the last chunk is an error, so that
/// the receiver stores nothing of the pack. `progress` gets the size of every chunk.
pub fn start(sources: Arc<Vec<Arc<Source>>>, items: Vec<Item>, progress: impl Fn(u64) + Send + 'static) -> Packing {
    let (sender, chunks) = mpsc::channel(CHUNKS_AHEAD);
    let reading = tokio::task::spawn_blocking(move || {
        let written = write(&sources, items, &sender, &progress);
        if matches!(&written, Err(PackError::Source(_) | PackError::Reading { .. })) {
            let _ = sender.blocking_send(Err(io::Error::other("a file could not be read")));
        }
        written
    });
    Packing { chunks, reading }
}

/// Collects small files into chunks, so that thousands of files do not become thousands of writes.
fn write(
    sources: &[Arc<Source>],
    items: Vec<Item>,
    to: &mpsc::Sender<io::Result<Bytes>>,
    progress: &dyn Fn(u64),
) -> Result<(), PackError> {
    let mut buffer = BytesMut::with_capacity(CHUNK * 2);
    buffer.put_slice(&pack::MAGIC);
    let flush = |buffer: &mut BytesMut, least: usize| -> Result<(), PackError> {
        if buffer.len() < least.max(1) {
            return Ok(());
        }
        progress(buffer.len() as u64);
        to.blocking_send(Ok(buffer.split().freeze())).map_err(|_| PackError::Gone)
    };
    let mut piece = vec![0; 64 << 10];
    for item in items {
        match item {
            Item::Directory(digest, bytes) => {
                buffer.put_slice(&pack::encode_header(BlobKind::Directory, digest, bytes.len() as u64));
                buffer.put_slice(&bytes);
                flush(&mut buffer, CHUNK)?;
            }
            Item::File { digest, size, source } => {
                buffer.put_slice(&pack::encode_header(BlobKind::File, digest, size));
                let mut blob = sources[source].open_blob(&digest).map_err(PackError::Source)?;
                loop {
                    let read = blob.read(&mut piece);
                    let read = read.map_err(|source| PackError::Reading { path: blob.path().to_string(), source })?;
                    if read == 0 {
                        break;
                    }
                    buffer.put_slice(&piece[..read]);
                    flush(&mut buffer, CHUNK)?;
                }
            }
        }
    }
    flush(&mut buffer, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(given: &[u64]) -> Vec<Vec<u64>> {
        let file = |size: &u64| Item::File { digest: Digest::of(b""), size: *size, source: 0 };
        let packs = into_packs(given.iter().map(file).collect());
        packs.iter().map(|pack| pack.iter().map(Item::size).collect()).collect()
    }

    #[test]
    fn packs_are_bounded_by_bytes_and_by_blobs() {
        assert_eq!(sizes(&[]), Vec::<Vec<u64>>::new());
        assert_eq!(sizes(&[1, PACK_BYTES, 1, 2]), [vec![1], vec![PACK_BYTES], vec![1, 2]]);
        assert_eq!(sizes(&[PACK_BYTES + 5]), [[PACK_BYTES + 5]], "a single file may be larger");
        let empty = sizes(&vec![0; PACK_BLOBS + 1]);
        assert_eq!(empty.iter().map(Vec::len).collect::<Vec<_>>(), [PACK_BLOBS, 1]);
    }
}
