//! Uploads what the server lacks: asks for the root, then for all digests, then sends the missing
//! blobs in few requests.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use milepost_model::Digest;
use milepost_model::tree::Leaf;
use reqwest::{Body, Method};

use crate::api::{MissingAnswer, MissingBlobs, Uploaded};
use crate::http::NO_LIMIT;
use crate::packs::{self, Item, PackError, Packing, into_packs};
use crate::source::Source;
use crate::{Client, ClientError};

/// Digests per request.
const ASK: usize = 50_000;

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
        let Packing { chunks, reading } = packs::start(sources, items, move |size| progress(size));
        let stream = futures::stream::unfold(chunks, |mut chunks| async move { Some((chunks.recv().await?, chunks)) });
        let request = self
            .request(Method::POST, &["apps", app, "blobs"])
            .header("content-type", "application/vnd.milepost.pack")
            .timeout(NO_LIMIT);
        let sent = self.json::<Uploaded>(request.body(Body::wrap_stream(stream))).await;
        // If a file could not be read, that is the cause and the failed request only a symptom.
        match reading.await {
            Ok(Err(PackError::Source(error))) => Err(ClientError::Source(error)),
            Ok(Err(PackError::Reading { path, source })) => Err(ClientError::Reading { path, source }),
            Ok(Ok(()) | Err(PackError::Gone)) | Err(_) => sent.map(drop),
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
                items.push(Item::Directory(*digest, Bytes::copy_from_slice(bytes)));
            }
        }
    }
    Ok(items)
}
