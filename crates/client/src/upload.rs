//! Sending what the server does not have: ask for the root, then for everything, then send the missing in few requests.

use std::collections::HashMap;
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

/// A request carries so much at the most, unless one file alone is larger. A broken connection costs one request.
const PACK_BYTES: u64 = 64 << 20;
const PACK_BLOBS: usize = 20_000;
/// Digests asked about in one request.
const ASK: usize = 50_000;
const CHUNK: usize = 256 << 10;

/// Told after every piece that went out.
pub type UploadProgress = Arc<dyn Fn(u64) + Send + Sync>;

/// What an upload did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UploadSummary {
    /// The root of the tree.
    pub files: usize,
    pub files_sent: usize,
    pub bytes_sent: u64,
    /// Requests that carried data.
    pub requests: usize,
}

/// Something to send: a file of the source, or a directory that was encoded here.
enum Item {
    File(Digest, u64),
    Directory(Digest, Vec<u8>),
}

impl Item {
    fn size(&self) -> u64 {
        match self {
            Self::File(_, size) => *size,
            Self::Directory(_, bytes) => bytes.len() as u64,
        }
    }
}

impl Client {
    /// Makes sure that the server has a tree, and sends only what it lacks.
    pub async fn upload(
        &self,
        app: &str,
        source: Arc<Source>,
        total: impl Fn(u64),
        progress: UploadProgress,
    ) -> Result<UploadSummary, ClientError> {
        let root = source.root()?;
        if self.missing(app, vec![root]).await?.is_empty() {
            return Ok(UploadSummary { files: source.summary().files_seen as usize, ..UploadSummary::default() });
        }
        let mut sizes: HashMap<Digest, u64> = HashMap::new();
        for (_, leaf) in source.tree()?.iter() {
            if let Leaf::File(file) = leaf {
                sizes.insert(file.digest, file.size);
            }
        }
        let directories = &source.encoded()?.directories;
        let all: Vec<Digest> = sizes.keys().copied().chain(directories.iter().map(|(digest, _)| *digest)).collect();
        let mut missing = std::collections::HashSet::new();
        for part in all.chunks(ASK) {
            missing.extend(self.missing(app, part.to_vec()).await?);
        }
        // Files first: a directory is taken only when everything in it is there.
        let mut items: Vec<Item> = sizes
            .iter()
            .filter(|(digest, _)| missing.contains(*digest))
            .map(|(digest, size)| Item::File(*digest, *size))
            .collect();
        let mut summary = UploadSummary { files: sizes.len(), files_sent: items.len(), ..UploadSummary::default() };
        let mut seen = std::collections::HashSet::new();
        for (digest, bytes) in directories {
            if missing.contains(digest) && seen.insert(*digest) {
                items.push(Item::Directory(*digest, bytes.clone()));
            }
        }
        total(items.iter().map(Item::size).sum());
        for pack in into_packs(items) {
            let size = pack.iter().map(Item::size).sum::<u64>();
            self.send_pack(app, Arc::clone(&source), pack, Arc::clone(&progress)).await?;
            summary.bytes_sent += size;
            summary.requests += 1;
        }
        Ok(summary)
    }

    async fn missing(&self, app: &str, digests: Vec<Digest>) -> Result<Vec<Digest>, ClientError> {
        let answer: MissingAnswer = self.post(&["apps", app, "blobs", "missing"], &MissingBlobs { digests }).await?;
        Ok(answer.missing)
    }

    async fn send_pack(
        &self,
        app: &str,
        source: Arc<Source>,
        items: Vec<Item>,
        progress: UploadProgress,
    ) -> Result<(), ClientError> {
        let (sender, receiver) = mpsc::channel::<std::io::Result<Bytes>>(4);
        let reading = tokio::task::spawn_blocking(move || write_pack(&source, items, &sender, &progress));
        let stream =
            futures::stream::unfold(receiver, |mut receiver| async move { Some((receiver.recv().await?, receiver)) });
        let request = self
            .request(Method::POST, &["apps", app, "blobs"])
            .header("content-type", "application/vnd.milepost.pack")
            .timeout(NO_LIMIT);
        let sent = self.json::<Uploaded>(request.body(Body::wrap_stream(stream))).await;
        // A file that could not be read is the cause; the broken request is only how it showed.
        match reading.await {
            Ok(Err(error)) if !error.is_gone() => Err(error.into_client()),
            _ => sent.map(drop),
        }
    }
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
    /// The request ended; its own error says why.
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

/// Small files are gathered into chunks, so that thousands of them do not become thousands of writes.
fn write_pack(
    source: &Source,
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
            Item::File(digest, size) => {
                buffer.put_slice(&pack::encode_header(BlobKind::File, digest, size));
                let mut blob = source.open_blob(&digest).map_err(|error| abort(out, WriteError::Source(error)))?;
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

/// Breaks the request off, so that the server stores nothing of it.
fn abort(out: &mpsc::Sender<std::io::Result<Bytes>>, error: WriteError) -> WriteError {
    let _ = out.blocking_send(Err(std::io::Error::other("a file could not be read")));
    error
}
