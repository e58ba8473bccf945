//! Reads blobs back.

use std::io::SeekFrom;
use std::ops::Range;

use bytes::Bytes;
use futures::stream::{self, BoxStream};
use futures::{StreamExt as _, TryStreamExt as _};
use milepost_model::Digest;
use milepost_model::digest::Hasher;
use object_store::{GetOptions, GetRange, GetResult, GetResultPayload, ObjectStore as _, ObjectStoreExt as _};
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};
use tokio_util::io::ReaderStream;

use crate::error::BlobError;
use crate::pack::{Location, PackName};
use crate::store::Blobs;

/// The bytes of a blob, in order. An error is the last item.
pub type BlobStream = BoxStream<'static, Result<Bytes, BlobError>>;

const READING: &str = "read a pack";
/// `object_store` reads files 8 KiB at a time, each on another thread.
const FILE_CHUNK: usize = 256 << 10;
/// Larger blobs are hashed on a blocking thread, because hashing would delay other requests.
const HASH_INLINE: usize = 1 << 20;

impl Blobs {
    /// Reads a whole blob into memory and verifies its digest.
    pub async fn read(&self, at: &Location, expected: Digest) -> Result<Bytes, BlobError> {
        let bytes = if at.size == 0 {
            Bytes::new()
        } else {
            let got = self.get(at.pack, at.offset..end_of(at)?).await?;
            got.bytes().await.map_err(|error| BlobError::storage(READING, error))?
        };
        let found = if bytes.len() <= HASH_INLINE {
            Digest::of(&bytes)
        } else {
            let bytes = bytes.clone();
            let hashing = tokio::task::spawn_blocking(move || Digest::of(&bytes));
            hashing.await.map_err(|error| BlobError::storage(READING, error))?
        };
        if found == expected { Ok(bytes) } else { Err(BlobError::Corrupt { digest: expected, pack: at.pack, found }) }
    }

    /// Streams a blob, or a range of it relative to its start, without verifying the digest.
    ///
    /// Errors that are known before the first byte (a missing pack, a range outside the blob) are
    /// returned by the call. The stream yields exactly the requested number of bytes or ends with
    /// an error.
    pub async fn stream(&self, at: &Location, range: Option<Range<u64>>) -> Result<BlobStream, BlobError> {
        let range = range.unwrap_or(0..at.size);
        if range.start > range.end || range.end > at.size {
            return Err(BlobError::OutOfRange { start: range.start, end: range.end, size: at.size });
        }
        end_of(at)?;
        if range.is_empty() {
            return Ok(stream::empty().boxed());
        }
        let wanted = at.offset + range.start..at.offset + range.end;
        let got = self.get(at.pack, wanted.clone()).await?;
        Ok(exactly(into_stream(got).await?, at.pack, wanted))
    }

    /// Streams a whole blob and yields its last bytes only if the digest matches. A reader that
    /// gets fewer than `at.size` bytes has read a corrupt blob.
    pub async fn stream_verified(&self, at: &Location, expected: Digest) -> Result<BlobStream, BlobError> {
        if at.size == 0 {
            self.read(at, expected).await?;
            return Ok(stream::empty().boxed());
        }
        let (pack, size) = (at.pack, at.size);
        let mut hasher = Some(Hasher::default());
        let mut passed = 0;
        let checked = self.stream(at, None).await?.map(move |chunk| {
            let chunk = chunk?;
            passed += chunk.len() as u64;
            if let Some(hasher) = &mut hasher {
                hasher.update(&chunk);
            }
            if passed == size
                && let Some(found) = hasher.take().map(Hasher::finish)
                && found != expected
            {
                return Err(BlobError::Corrupt { digest: expected, pack, found });
            }
            Ok(chunk)
        });
        Ok(checked.boxed())
    }

    async fn get(&self, pack: PackName, range: Range<u64>) -> Result<GetResult, BlobError> {
        let options = GetOptions { range: Some(GetRange::Bounded(range.clone())), ..GetOptions::default() };
        match self.store.get_opts(&pack.path(), options).await {
            // Stores shorten a range that extends past the end.
            Ok(got) if got.range != range => Err(BlobError::PackCut { pack, end: got.range.end, needed: range.end }),
            Ok(got) => Ok(got),
            Err(object_store::Error::NotFound { .. }) => Err(BlobError::NotFound(pack)),
            // Stores differ in the error for a range that begins after the end, so the size
            // decides.
            Err(error) => match self.store.head(&pack.path()).await {
                Ok(meta) if meta.size < range.end => {
                    Err(BlobError::PackCut { pack, end: meta.size, needed: range.end })
                }
                _ => Err(BlobError::storage(READING, error)),
            },
        }
    }
}

/// An overflowing location means a corrupt row: no pack is that long.
fn end_of(at: &Location) -> Result<u64, BlobError> {
    at.offset.checked_add(at.size).ok_or(BlobError::OutOfRange { start: at.offset, end: u64::MAX, size: at.size })
}

async fn into_stream(got: GetResult) -> Result<BlobStream, BlobError> {
    let failed = |error| BlobError::storage(READING, error);
    let range = got.range.clone();
    match got.payload {
        GetResultPayload::File(file, _) => {
            let mut file = tokio::fs::File::from_std(file);
            file.seek(SeekFrom::Start(range.start)).await.map_err(failed)?;
            let part = file.take(range.end - range.start);
            Ok(ReaderStream::with_capacity(part, FILE_CHUNK).map_err(failed).boxed())
        }
        GetResultPayload::Stream(bytes) => Ok(bytes.map_err(|error| BlobError::storage(READING, error)).boxed()),
    }
}

/// A file that is truncated after it was opened just ends, which must become an error for the
/// reader.
fn exactly(bytes: BlobStream, pack: PackName, range: Range<u64>) -> BlobStream {
    let mut at = range.start;
    let needed = range.end;
    let counted = bytes.map(Some).chain(stream::iter([None])).filter_map(move |item| {
        let item = match item {
            Some(Ok(chunk)) => {
                at += chunk.len() as u64;
                Some(Ok(chunk))
            }
            Some(Err(error)) => {
                // This error suffices. Do not report a truncated pack as well.
                at = needed;
                Some(Err(error))
            }
            None if at == needed => None,
            None => Some(Err(BlobError::PackCut { pack, end: at, needed })),
        };
        std::future::ready(item)
    });
    counted.boxed()
}
