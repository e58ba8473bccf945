//! Copies of files that are ready to send, by digest.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use foldhash::fast::RandomState;
use futures::future::{BoxFuture, Shared};
use futures::{FutureExt, TryStreamExt};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use milepost_model::Digest;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use tokio::sync::Semaphore;

use crate::backend::{Backend, FileRef};
use crate::settings::Settings;
use crate::tree::TreeFile;

use super::compress;
use super::disk_cache::{self, DiskCache};
use super::encoding::{Accepts, Coding};
use super::kind::Kind;

/// Larger files are streamed.
pub(super) const LARGEST_IN_MEMORY: u64 = 256 << 10;
/// How long the first request waits for a compressed copy.
const COMPRESSION_WAIT: Duration = Duration::from_secs(2);

/// A copy of a file with its headers.
pub(crate) struct CachedCopy {
    /// In the order in which they are sent.
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) etag: HeaderValue,
    pub(super) coding: Coding,
    pub(super) size: u64,
    pub(super) content: Content,
}

pub(super) enum Content {
    Memory(Bytes),
    /// Streamed from the location that the request's own view gives.
    Plain,
    /// Streamed from the on-disk cache.
    Compressed,
    /// Compression did not pay.
    Nothing,
}

/// Includes the kind, because the same bytes have another type under another extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key {
    digest: Digest,
    coding: Coding,
    kind: usize,
}

impl Key {
    fn new(file: &TreeFile, coding: Coding) -> Self {
        Self { digest: file.at.digest, coding, kind: std::ptr::from_ref(file.kind).addr() }
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, to: &mut H) {
        // The digest is already uniformly distributed: eight bytes of it are enough.
        let mut first = [0; 8];
        first.copy_from_slice(&self.digest.as_bytes()[..8]);
        to.write_u64(u64::from_le_bytes(first) ^ (self.coding as u64) ^ (self.kind as u64));
    }
}

#[derive(Clone)]
struct ByBytes;

impl Weighter<Key, Arc<CachedCopy>> for ByBytes {
    fn weight(&self, _: &Key, copy: &Arc<CachedCopy>) -> u64 {
        let body = if let Content::Memory(bytes) = &copy.content { bytes.len() as u64 } else { 0 };
        body + 1024
    }
}

type Pending = Shared<BoxFuture<'static, Option<Arc<CachedCopy>>>>;

pub(crate) struct FileCache<B> {
    pub(super) backend: Arc<B>,
    cache: Cache<Key, Arc<CachedCopy>, ByBytes, RandomState>,
    pub(super) disk: Option<DiskCache>,
    pending: Mutex<HashMap<(Digest, Coding, usize), Pending>>,
    /// One at a time, so that compression cannot starve requests of CPU.
    compressing: Semaphore,
    cache_control: HeaderValue,
}

impl<B: Backend> FileCache<B> {
    pub(crate) fn open(settings: &Settings, cache_control: HeaderValue, backend: Arc<B>) -> io::Result<Self> {
        let disk = settings.cache_folder.as_ref().map(|folder| DiskCache::open(folder.clone(), settings.cache_disk));
        Ok(Self {
            backend,
            cache: Cache::with(
                usize::try_from(settings.cache_memory / 4096).unwrap_or(usize::MAX),
                settings.cache_memory,
                ByBytes,
                RandomState::default(),
                quick_cache::sync::DefaultLifecycle::default(),
            ),
            disk: disk.transpose()?,
            pending: Mutex::default(),
            compressing: Semaphore::new(1),
            cache_control,
        })
    }

    pub(crate) fn bytes_in_memory(&self) -> u64 {
        self.cache.weight()
    }

    /// Returns the copy to send if it is known without waiting. `Ok(None)`: the client accepts
    /// none.
    pub(super) fn cached_copy(
        &self,
        file: &TreeFile,
        headers: &HeaderMap,
    ) -> Result<Option<Arc<CachedCopy>>, NotInMemory> {
        let accepts = Accepts::read(headers);
        for coding in accepts.in_order() {
            if coding == Coding::Identity {
                return self.cache.get(&Key::new(file, coding)).map(Some).ok_or(NotInMemory);
            }
            if !self.may_compress(file) {
                continue;
            }
            match self.cache.get(&Key::new(file, coding)) {
                Some(copy) if matches!(copy.content, Content::Nothing) => {}
                Some(copy) => return Ok(Some(copy)),
                None => return Err(NotInMemory),
            }
        }
        Ok(None)
    }

    /// Returns the copy to send, creating it if necessary.
    pub(super) async fn obtain(
        self: &Arc<Self>,
        file: &TreeFile,
        headers: &HeaderMap,
    ) -> io::Result<Option<Arc<CachedCopy>>> {
        let accepts = Accepts::read(headers);
        for coding in accepts.in_order() {
            if coding == Coding::Identity {
                return self.plain(file).await.map(Some);
            }
            if !self.may_compress(file) {
                continue;
            }
            let pending = self.compressed(file, coding);
            let copy = if !accepts.takes_plain() {
                pending.await
            } else if file.at.size <= compress::WORTH_WAITING {
                tokio::time::timeout(COMPRESSION_WAIT, pending).await.ok().flatten()
            } else {
                pending.now_or_never().flatten()
            };
            if let Some(copy) = copy.filter(|copy| !matches!(copy.content, Content::Nothing)) {
                return Ok(Some(copy));
            }
        }
        Ok(None)
    }

    pub(super) fn forget(&self, file: &TreeFile, coding: Coding) {
        self.cache.remove(&Key::new(file, coding));
    }

    /// Without an on-disk cache only files that fit into memory are compressed.
    fn may_compress(&self, file: &TreeFile) -> bool {
        compress::is_worth_trying(file.at.size, file.kind.compressible)
            && (self.disk.is_some() || file.at.size <= LARGEST_IN_MEMORY)
    }

    async fn plain(&self, file: &TreeFile) -> io::Result<Arc<CachedCopy>> {
        let key = Key::new(file, Coding::Identity);
        self.cache
            .get_or_insert_async(&key, async {
                let content = if file.at.size > LARGEST_IN_MEMORY {
                    Content::Plain
                } else {
                    Content::Memory(self.read(&file.at).await?)
                };
                Ok(Arc::new(self.copy(file, Coding::Identity, file.at.size, content)))
            })
            .await
    }

    async fn read(&self, file: &FileRef) -> io::Result<Bytes> {
        if file.size == 0 {
            return Ok(Bytes::new());
        }
        let bytes = self.backend.read(file).await?;
        if bytes.len() as u64 != file.size {
            return Err(io::Error::other(format!(
                "{} has {} bytes instead of {}",
                file.digest,
                bytes.len(),
                file.size
            )));
        }
        Ok(bytes)
    }

    /// Starts compressing a copy, or joins the task that does. The task completes even if its
    /// waiters leave.
    fn compressed(self: &Arc<Self>, file: &TreeFile, coding: Coding) -> Pending {
        let key = Key::new(file, coding);
        let entry = (key.digest, key.coding, key.kind);
        if let Some(copy) = self.cache.get(&key) {
            return std::future::ready(Some(copy)).boxed().shared();
        }
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(other) = pending.get(&entry) {
            return other.clone();
        }
        let (store, file) = (self.clone(), *file);
        let work = async move {
            let made = store.make(&file, coding).await;
            let made =
                made.inspect_err(|error| tracing::warn!(%error, digest = %file.at.digest, "a file was not compressed"));
            let copy = made.ok().map(Arc::new);
            if let Some(copy) = &copy {
                store.cache.insert(key, copy.clone());
            }
            store.pending.lock().unwrap_or_else(PoisonError::into_inner).remove(&entry);
            copy
        };
        let work = work.boxed().shared();
        pending.insert(entry, work.clone());
        drop(pending);
        tokio::spawn(work.clone());
        work
    }

    async fn make(self: &Arc<Self>, file: &TreeFile, coding: Coding) -> io::Result<CachedCopy> {
        let _permit = self.compressing.acquire().await.map_err(io::Error::other)?;
        let (store, digest) = (self.clone(), file.at.digest);
        let found = blocking(move || Ok(store.disk.as_ref().and_then(|disk| disk.load(&digest, coding)))).await?;
        let compressed = match found {
            Some(disk_cache::DiskCopy::Compressed(bytes)) => Some(bytes),
            Some(disk_cache::DiskCopy::DoesNotPay) => None,
            None => {
                let plain = self.whole(file).await?;
                let store = self.clone();
                blocking(move || {
                    let compressed = compress::compress(&plain, coding)?;
                    if let Some(disk) = &store.disk {
                        disk.store(&digest, coding, compressed.as_ref())?;
                    }
                    Ok(compressed)
                })
                .await?
            }
        };
        let size = compressed.as_ref().map_or(0, |bytes| bytes.len() as u64);
        let content = match compressed {
            None => Content::Nothing,
            Some(_) if size > LARGEST_IN_MEMORY => Content::Compressed,
            Some(bytes) => Content::Memory(bytes),
        };
        Ok(self.copy(file, coding, size, content))
    }

    async fn whole(&self, file: &TreeFile) -> io::Result<Bytes> {
        if let Content::Memory(bytes) = &self.plain(file).await?.content {
            return Ok(bytes.clone());
        }
        let mut stream = self.backend.stream(&file.at, 0..file.at.size).await?;
        let mut bytes = BytesMut::with_capacity(usize::try_from(file.at.size).map_err(io::Error::other)?);
        while let Some(piece) = stream.try_next().await? {
            bytes.extend_from_slice(&piece);
        }
        if bytes.len() as u64 != file.at.size {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(bytes.freeze())
    }

    fn copy(&self, file: &TreeFile, coding: Coding, size: u64, content: Content) -> CachedCopy {
        let etag = etag(&file.at.digest, coding);
        let Kind { content_type, .. } = file.kind;
        let mut headers = vec![
            (header::CONTENT_TYPE, HeaderValue::from_static(content_type)),
            (header::ETAG, etag.clone()),
            (header::CACHE_CONTROL, self.cache_control.clone()),
            (header::VARY, HeaderValue::from_static("accept-encoding")),
            (header::ACCEPT_RANGES, HeaderValue::from_static("bytes")),
            (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        ];
        if coding != Coding::Identity {
            headers.push((header::CONTENT_ENCODING, HeaderValue::from_static(coding.name())));
        }
        CachedCopy { headers, etag, coding, size, content }
    }
}

impl CachedCopy {
    /// Fills the headers of a response into the request's map, which has enough capacity already.
    pub(super) fn headers(&self, mut into: HeaderMap, cache_control: Option<HeaderValue>) -> HeaderMap {
        into.clear();
        for (name, value) in &self.headers {
            into.insert(name.clone(), value.clone());
        }
        if let Some(cache_control) = cache_control {
            into.insert(header::CACHE_CONTROL, cache_control);
        }
        into
    }
}

/// The copy is not in memory.
#[derive(Debug)]
pub(super) struct NotInMemory;

fn etag(digest: &Digest, coding: Coding) -> HeaderValue {
    let tag = match coding {
        Coding::Identity => format!("\"{}\"", digest.hex()),
        coding => format!("\"{}-{}\"", digest.hex(), coding.name()),
    };
    // Hex digits and letters always form a valid header value.
    HeaderValue::from_str(&tag).unwrap_or_else(|_| HeaderValue::from_static("\"\""))
}

async fn blocking<R: Send + 'static>(work: impl FnOnce() -> io::Result<R> + Send + 'static) -> io::Result<R> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}
