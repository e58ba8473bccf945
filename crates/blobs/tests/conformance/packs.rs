//! Builds valid and invalid packs, and streams them.

use bytes::Bytes;
use futures::{Stream, TryStreamExt as _, stream};
use milepost_blobs::{BlobError, BlobKind, Blobs, IngestLimits, Ingested, PackInfo};
use milepost_model::Digest;
use milepost_model::pack::{MAGIC, encode_header};

pub const LIMITS: IngestLimits =
    IngestLimits { max_blobs: 10_000, max_blob_bytes: 100 << 20, max_total_bytes: 200 << 20 };

pub struct Pack(pub Vec<u8>);

impl Pack {
    pub fn new() -> Self {
        Self(MAGIC.to_vec())
    }

    pub fn of(files: &[&[u8]]) -> Self {
        files.iter().fold(Self::new(), |pack, bytes| pack.file(bytes))
    }

    pub fn file(self, bytes: &[u8]) -> Self {
        self.frame(BlobKind::File, Digest::of(bytes), bytes)
    }

    pub fn directory(self, bytes: &[u8]) -> Self {
        self.frame(BlobKind::Directory, Digest::of(bytes), bytes)
    }

    pub fn frame(mut self, kind: BlobKind, digest: Digest, bytes: &[u8]) -> Self {
        self.0.extend(encode_header(kind, digest, bytes.len() as u64));
        self.0.extend(bytes);
        self
    }

    /// A header whose bytes never come.
    pub fn promise(mut self, kind: BlobKind, size: u64) -> Self {
        self.0.extend(encode_header(kind, Digest::of(b"promised"), size));
        self
    }

    /// In pieces, as received from a network.
    pub fn chunks(&self, size: usize) -> Vec<Bytes> {
        self.0.chunks(size).map(Bytes::copy_from_slice).collect()
    }

    pub fn stream(&self) -> impl Stream<Item = Result<Bytes, std::io::Error>> + Send + use<> {
        stream::iter(self.chunks(60_000).into_iter().map(Ok))
    }
}

pub async fn ingest(blobs: &Blobs, pack: &Pack) -> Result<Ingested, BlobError> {
    blobs.ingest(pack.stream(), LIMITS).await
}

/// Incompressible bytes without repetition, so that a wrong offset is detected.
pub fn noise(size: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut bytes = Vec::with_capacity(size + 8);
    while bytes.len() < size {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        bytes.extend((state >> 13).to_le_bytes());
    }
    bytes.truncate(size);
    bytes
}

pub async fn listed(blobs: &Blobs) -> Vec<PackInfo> {
    blobs.list().try_collect().await.expect("lists")
}
