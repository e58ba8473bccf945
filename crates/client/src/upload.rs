//! Uploads what the server lacks: asks for the root, then for all digests, then sends the missing
//! blobs in few requests.

use std::collections::HashSet;
use std::io::Read;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use milepost_model::Digest;
use milepost_model::pack::{self, BlobKind};
use milepost_model::tree::Leaf;
use reqwest::{Body, Method};
use tokio::sync::mpsc;

use crate::api::{MissingAnswer, MissingBlobs, Uploaded};
use crate::http::NO_LIMIT;
use crate::source::Source;
use crate::{Client, ClientError};

/// Maximum size of a request, unless a single file is larger. A broken connection costs only one
/// request.
const PACK_BYTES: u64 = 64 << 20;
const PACK_BLOBS: usize = 20_000;
/// Digests per request.
const ASK: usize = 50_000;
const CHUNK: usize = 256 << 10;

/// Called with the size of every chunk sent.
pub type UploadProgress = Arc<dyn Fn(u64) + Send + Sync>;

/// The result of an upload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UploadSummary {
    /// The number of files in the trees.
    pub files: usize,
    pub files_sent: usize,
    pub bytes_sent: u64,
    /// The number of requests with data.
    pub requests: usize,
}

/// A blob to send: a file of one of the sources, or an encoded directory.
enum Item {
    File { digest: Digest, size: u64, source: usize },
    Directory(Digest, Vec<u8>),
}

impl Item {
    fn size(&self) -> u64 {
        match self {
            Self::File { size, .. } => *size,
            Self::Directory(_, bytes) => bytes.len() as u64,
        }
    }

    fn digest(&self) -> Digest {
        match self {
            Self::File { digest, .. } | Self::Directory(digest, _) => *digest,
        }
    }
}

/// The sources, shared with the threads that read them.
type Sources = Arc<Vec<Arc<Source>>>;

impl Client {
    /// Ensures that the server has a tree, and sends only what it lacks.
    pub async fn upload(
        &self,
        app: &str,
        source: Arc<Source>,
        total: impl Fn(u64),
        progress: UploadProgress,
    ) -> Result<UploadSummary, ClientError> {
        self.upload_many(app, vec![source], total, progress).await
    }

    /// Uploads many trees together: one request for all their roots, one for the contents of those
    /// that the server lacks. A file that several trees contain is sent once.
    pub async fn upload_many(
        &self,
        app: &str,
        sources: Vec<Arc<Source>>,
        total: impl Fn(u64),
        progress: UploadProgress,
    ) -> Result<UploadSummary, ClientError> {
        let mut roots = Vec::new();
        for source in &sources {
            roots.push(source.root()?);
        }
        let lacking = self.missing_of(app, &roots).await?;
        let mut taken = HashSet::new();
        let mut fresh = Vec::new();
        let mut summary = UploadSummary::default();
        for (source, root) in sources.into_iter().zip(roots) {
            if lacking.contains(&root) && taken.insert(root) {
                fresh.push(source);
            } else {
                summary.files += source.summary().files_seen as usize;
            }
        }
        if fresh.is_empty() {
            return Ok(summary);
        }
        let sources: Sources = Arc::new(fresh);
        let mut items = items_of(&sources)?;
        let is_file = |item: &&Item| matches!(item, Item::File { .. });
        summary.files += items.iter().filter(is_file).count();
        let asked: Vec<Digest> = items.iter().map(Item::digest).collect();
        let missing = self.missing_of(app, &asked).await?;
        items.retain(|item| missing.contains(&item.digest()));
        summary.files_sent = items.iter().filter(is_file).count();
        total(items.iter().map(Item::size).sum());
        for pack in into_packs(items) {
            let size = pack.iter().map(Item::size).sum::<u64>();
            self.send_pack(app, Arc::clone(&sources), pack, Arc::clone(&progress)).await?;
            summary.bytes_sent += size;
            summary.requests += 1;
        }
        Ok(summary)
    }

    async fn missing_of(&self, app: &str, digests: &[Digest]) -> Result<HashSet<Digest>, ClientError> {
        let mut missing = HashSet::new();
        for part in digests.chunks(ASK) {
            missing.extend(self.missing(app, part.to_vec()).await?);
        }
        Ok(missing)
    }

    async fn missing(&self, app: &str, digests: Vec<Digest>) -> Result<Vec<Digest>, ClientError> {
        let answer: MissingAnswer = self.post(&["apps", app, "blobs", "missing"], &MissingBlobs { digests }).await?;
        Ok(answer.missing)
    }

    async fn send_pack(
        &self,
        app: &str,
        sources: Sources,
        items: Vec<Item>,
        progress: UploadProgress,
    ) -> Result<(), ClientError> {
        let (sender, receiver) = mpsc::channel::<std::io::Result<Bytes>>(4);
        let reading = tokio::task::spawn_blocking(move || write_pack(&sources, items, &sender, &progress));
        let stream =
            futures::stream::unfold(receiver, |mut receiver| async move { Some((receiver.recv().await?, receiver)) });
        let request = self
            .request(Method::POST, &["apps", app, "blobs"])
            .header("content-type", "application/vnd.milepost.pack")
            .timeout(NO_LIMIT);
        let sent = self.json::<Uploaded>(request.body(Body::wrap_stream(stream))).await;
        // If a file could not be read, that is the cause and the failed request only a symptom.
        match reading.await {
            Ok(Err(error)) if !error.is_gone() => Err(error.into_client()),
            _ => sent.map(drop),
        }
    }
}

/// Everything in the sources, without duplicates. Files come first: the server accepts a directory
/// only once it has everything in it.
fn items_of(sources: &[Arc<Source>]) -> Result<Vec<Item>, ClientError> {
    let mut seen = HashSet::new();
    let mut items = Vec::new();
    for (at, source) in sources.iter().enumerate() {
        for (_, leaf) in source.tree()?.iter() {
            if let Leaf::File(file) = leaf
                && seen.insert(file.digest)
            {
                items.push(Item::File { digest: file.digest, size: file.size, source: at });
            }
        }
    }
    seen.clear();
    for source in sources {
        for (digest, bytes) in &source.encoded()?.directories {
            if seen.insert(*digest) {
                items.push(Item::Directory(*digest, bytes.clone()));
            }
        }
    }
    Ok(items)
}

fn into_packs(items: Vec<Item>) -> Vec<Vec<Item>> {
    let mut packs: Vec<Vec<Item>> = Vec::new();
    let mut bytes = 0;
    for item in items {
        let full =
            packs.last().is_none_or(|pack| pack.len() >= PACK_BLOBS || (bytes > 0 && bytes + item.size() > PACK_BYTES));
        if full {
            packs.push(Vec::new());
            bytes = 0;
        }
        bytes += item.size();
        if let Some(pack) = packs.last_mut() {
            pack.push(item);
        }
    }
    packs
}

enum WriteError {
    /// The request ended; its own error has the reason.
    Gone,
    Source(crate::source::SourceError),
    Reading {
        path: String,
        source: std::io::Error,
    },
}

impl WriteError {
    fn is_gone(&self) -> bool {
        matches!(self, Self::Gone)
    }

    fn into_client(self) -> ClientError {
        match self {
            Self::Source(error) => ClientError::Source(error),
            Self::Reading { path, source } => ClientError::Reading { path, source },
            Self::Gone => ClientError::Protocol { status: 0, what: "the upload was cut off".to_owned() },
        }
    }
}

/// Collects small files into chunks, so that thousands of files do not become thousands of writes.
fn write_pack(
    sources: &[Arc<Source>],
    items: Vec<Item>,
    out: &mpsc::Sender<std::io::Result<Bytes>>,
    progress: &UploadProgress,
) -> Result<(), WriteError> {
    let mut buffer = BytesMut::with_capacity(CHUNK * 2);
    buffer.put_slice(&pack::MAGIC);
    let flush = |buffer: &mut BytesMut, least: usize| -> Result<(), WriteError> {
        if buffer.len() < least.max(1) {
            return Ok(());
        }
        progress(buffer.len() as u64);
        out.blocking_send(Ok(buffer.split().freeze())).map_err(|_| WriteError::Gone)
    };
    for item in items {
        match item {
            Item::Directory(digest, bytes) => {
                buffer.put_slice(&pack::encode_header(BlobKind::Directory, digest, bytes.len() as u64));
                buffer.put_slice(&bytes);
                flush(&mut buffer, CHUNK)?;
            }
            Item::File { digest, size, source } => {
                buffer.put_slice(&pack::encode_header(BlobKind::File, digest, size));
                let mut blob =
                    sources[source].open_blob(&digest).map_err(|error| abort(out, WriteError::Source(error)))?;
                let path = blob.path().to_string();
                let mut piece = [0u8; 64 << 10];
                loop {
                    let read = blob
                        .read(&mut piece)
                        .map_err(|source| abort(out, WriteError::Reading { path: path.clone(), source }))?;
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

/// Aborts the request, so that the server stores nothing of it.
fn abort(out: &mpsc::Sender<std::io::Result<Bytes>>, error: WriteError) -> WriteError {
    let _ = out.blocking_send(Err(std::io::Error::other("a file could not be read")));
    error
}
