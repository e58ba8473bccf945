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
use crate::problem::MILEPOST_RELEASE;
use crate::settings::Settings;
use crate::tree::TreeFile;

use super::compress;
use super::disk_cache::{self, Shelf};
use super::encoding::{Accepts, Coding};
use super::kind::Kind;

/// Larger files are streamed.
pub(super) const LARGEST_IN_MEMORY: u64 = 256 << 10;
/// How long the first request waits for a compressed copy.
const PATIENCE: Duration = Duration::from_secs(2);

/// A copy of a file with its headers.
pub(crate) struct Copy {
    /// In the order in which they are sent. Each response adds its release.
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
    Pressed,
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

impl Weighter<Key, Arc<Copy>> for ByBytes {
    fn weight(&self, _: &Key, copy: &Arc<Copy>) -> u64 {
        let body = if let Content::Memory(bytes) = &copy.content { bytes.len() as u64 } else { 0 };
        body + 1024
    }
}

type Making = Shared<BoxFuture<'static, Option<Arc<Copy>>>>;

pub(crate) struct Store<B> {
    pub(super) backend: Arc<B>,
    cache: Cache<Key, Arc<Copy>, ByBytes, RandomState>,
    pub(super) shelf: Option<Shelf>,
    making: Mutex<HashMap<(Digest, Coding, usize), Making>>,
    /// One at a time, so that compression cannot starve requests of CPU.
    pressing: Semaphore,
    cache_control: HeaderValue,
}

impl<B: Backend> Store<B> {
    pub(crate) fn open(settings: &Settings, cache_control: HeaderValue, backend: Arc<B>) -> io::Result<Self> {
        let shelf = settings.cache_folder.as_ref().map(|folder| Shelf::open(folder.clone(), settings.cache_disk));
        Ok(Self {
            backend,
            cache: Cache::with(
                usize::try_from(settings.cache_memory / 4096).unwrap_or(usize::MAX),
                settings.cache_memory,
                ByBytes,
                RandomState::default(),
                quick_cache::sync::DefaultLifecycle::default(),
            ),
            shelf: shelf.transpose()?,
            making: Mutex::default(),
            pressing: Semaphore::new(1),
            cache_control,
        })
    }

    pub(crate) fn bytes_in_memory(&self) -> u64 {
        self.cache.weight()
    }

    /// Returns the copy to send if it is known without waiting. `Ok(None)`: the client accepts
    /// none.
    pub(super) fn at_hand(&self, file: &TreeFile, headers: &HeaderMap) -> Result<Option<Arc<Copy>>, Waiting> {
        let accepts = Accepts::read(headers);
        for coding in accepts.in_order() {
            if coding == Coding::Identity {
                return self.cache.get(&Key::new(file, coding)).map(Some).ok_or(Waiting);
            }
            if !self.may_press(file) {
                continue;
            }
            match self.cache.get(&Key::new(file, coding)) {
                Some(copy) if matches!(copy.content, Content::Nothing) => {}
                Some(copy) => return Ok(Some(copy)),
                None => return Err(Waiting),
            }
        }
        Ok(None)
    }

    /// Returns the copy to send, creating it if necessary.
    pub(super) async fn obtain(
        self: &Arc<Self>,
        file: &TreeFile,
        headers: &HeaderMap,
    ) -> io::Result<Option<Arc<Copy>>> {
        let accepts = Accepts::read(headers);
        for coding in accepts.in_order() {
            if coding == Coding::Identity {
                return self.plain(file).await.map(Some);
            }
            if !self.may_press(file) {
                continue;
            }
            let making = self.pressed(file, coding);
            let copy = if !accepts.takes_plain() {
                making.await
            } else if file.at.size <= compress::WORTH_WAITING {
                tokio::time::timeout(PATIENCE, making).await.ok().flatten()
            } else {
                making.now_or_never().flatten()
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
    fn may_press(&self, file: &TreeFile) -> bool {
        compress::is_worth_trying(file.at.size, file.kind.compressible)
            && (self.shelf.is_some() || file.at.size <= LARGEST_IN_MEMORY)
    }

    async fn plain(&self, file: &TreeFile) -> io::Result<Arc<Copy>> {
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
    fn pressed(self: &Arc<Self>, file: &TreeFile, coding: Coding) -> Making {
        let key = Key::new(file, coding);
        let entry = (key.digest, key.coding, key.kind);
        if let Some(copy) = self.cache.get(&key) {
            return std::future::ready(Some(copy)).boxed().shared();
        }
        let mut making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(other) = making.get(&entry) {
            return other.clone();
        }
        let (store, file) = (self.clone(), *file);
        let work = async move {
            let made = store.make(&file, coding).await;
            let made =
                made.inspect_err(|error| tracing::warn!(%error, digest = %file.at.digest, "a file was not pressed"));
            let copy = made.ok().map(Arc::new);
            if let Some(copy) = &copy {
                store.cache.insert(key, copy.clone());
            }
            store.making.lock().unwrap_or_else(PoisonError::into_inner).remove(&entry);
            copy
        };
        let work = work.boxed().shared();
        making.insert(entry, work.clone());
        drop(making);
        tokio::spawn(work.clone());
        work
    }

    async fn make(self: &Arc<Self>, file: &TreeFile, coding: Coding) -> io::Result<Copy> {
        let _permit = self.pressing.acquire().await.map_err(io::Error::other)?;
        let (store, digest) = (self.clone(), file.at.digest);
        let found = blocking(move || Ok(store.shelf.as_ref().and_then(|shelf| shelf.load(&digest, coding)))).await?;
        let pressed = match found {
            Some(disk_cache::Copy::Pressed(bytes)) => Some(bytes),
            Some(disk_cache::Copy::DoesNotPay) => None,
            None => {
                let plain = self.whole(file).await?;
                let store = self.clone();
                blocking(move || {
                    let pressed = compress::press(&plain, coding)?;
                    if let Some(shelf) = &store.shelf {
                        shelf.store(&digest, coding, pressed.as_ref())?;
                    }
                    Ok(pressed)
                })
                .await?
            }
        };
        let size = pressed.as_ref().map_or(0, |bytes| bytes.len() as u64);
        let content = match pressed {
            None => Content::Nothing,
            Some(_) if size > LARGEST_IN_MEMORY => Content::Pressed,
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

    fn copy(&self, file: &TreeFile, coding: Coding, size: u64, content: Content) -> Copy {
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
        Copy { headers, etag, coding, size, content }
    }
}

impl Copy {
    /// Fills the headers of a response into the request's map, which has enough capacity already.
    pub(super) fn say(
        &self,
        mut into: HeaderMap,
        release: &HeaderValue,
        cache_control: Option<HeaderValue>,
    ) -> HeaderMap {
        into.clear();
        for (name, value) in &self.headers {
            into.insert(name.clone(), value.clone());
        }
        if let Some(cache_control) = cache_control {
            into.insert(header::CACHE_CONTROL, cache_control);
        }
        into.insert(MILEPOST_RELEASE, release.clone());
        into
    }
}

/// The copy is not in memory.
#[derive(Debug)]
pub(super) struct Waiting;

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
