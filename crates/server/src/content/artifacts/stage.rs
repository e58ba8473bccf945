//! Receives an artifact. Nothing of it takes effect before its last byte is read and its digest
//! matches the requested one. Files that the server already has are not stored again.

use std::collections::HashSet;
use std::pin::pin;

use bytes::Bytes;
use futures::stream::{self, Stream};
use milepost_model::channel::artifact::{Artifact, ArtifactBlob, ArtifactError, HEAD_LEN};
use milepost_model::pack::{self, HEADER_LEN};
use milepost_model::{AppName, Code, Digest, Next, Refusal};

use super::chunks::{ChunkError, Chunks};
use super::walk;
use crate::content::Content;
use crate::content::ingest;
use crate::error::{ApiError, ApiResult};

#[derive(Debug, thiserror::Error)]
enum StageError {
    #[error(transparent)]
    Bytes(#[from] ChunkError),
    #[error(transparent)]
    Document(#[from] ArtifactError),
    #[error("the file at {0} is not the one that its list names there")]
    NotAsListed(Digest),
    #[error("it names {0} and does not carry it")]
    NotCarried(Digest),
}

impl From<StageError> for ApiError {
    fn from(error: StageError) -> Self {
        let message = format!("the artifact was refused: {error}; nothing was changed");
        match &error {
            StageError::Bytes(ChunkError::Broken(_) | ChunkError::Truncated(_)) => {
                Refusal::new(Code::ArtifactBroken, message).next(Next::Retry)
            }
            StageError::Bytes(ChunkError::Mismatch { .. }) => Refusal::new(Code::DigestMismatch, message)
                .correct("it was altered on the way or where it is stored: tell its author"),
            _ => Refusal::new(Code::ArtifactRefused, message).correct("tell its author"),
        }
        .into()
    }
}

/// Stores the missing parts of an artifact, within the app's plan. Its files stay unreferenced
/// until a change names them, and a sweep would remove them.
pub(crate) async fn stage<S, E>(content: &Content, app: &AppName, body: S, expected: Digest) -> ApiResult<Artifact>
where
    S: Stream<Item = Result<Bytes, E>> + Send,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let body = pin!(body);
    let mut chunks = Chunks::new(body);
    let artifact = head(&mut chunks).await?;
    let all = artifact.blobs.iter().map(|blob| blob.digest).collect();
    let missing: HashSet<Digest> = content.catalog.blobs_missing(all).await?.into_iter().collect();
    check_room(content, app, &artifact, &missing).await?;
    let mut reading = Reading { chunks: &mut chunks, expected, failure: None };
    if missing.is_empty() {
        // All files are stored already, but the stream must still be verified.
        let mut place = Place::default();
        while reading.step(&artifact.blobs, &missing, &mut place).await?.is_some() {}
        check_closed(content, &artifact).await?;
        return Ok(artifact);
    }
    let pieces = stream::unfold((&mut reading, Place::default()), |(reading, mut place)| async {
        match reading.step(&artifact.blobs, &missing, &mut place).await {
            Ok(piece) => piece.map(|piece| (Ok(piece), (reading, place))),
            Err(error) => {
                let told = std::io::Error::other(error.to_string());
                reading.failure = Some(error);
                place.at = artifact.blobs.len() + 1;
                Some((Err(told), (reading, place)))
            }
        }
    });
    let ingested = content.blobs.ingest(pieces, ingest::limits(u64::MAX)).await;
    if let Some(failure) = reading.failure {
        return Err(failure.into());
    }
    ingest::register(content, app, ingested?).await?;
    check_closed(content, &artifact).await?;
    Ok(artifact)
}

/// Checks that an artifact carries every file it names. Otherwise it could name a file by digest
/// alone and get content that another app stored.
async fn check_closed(content: &Content, artifact: &Artifact) -> ApiResult<()> {
    let carried: HashSet<Digest> = artifact.blobs.iter().map(|blob| blob.digest).collect();
    let roots = artifact.roots();
    let absent = match roots.iter().find(|root| !carried.contains(root)) {
        Some(root) => Some(*root),
        None => walk::below(&content.store, roots).await?.into_keys().find(|digest| !carried.contains(digest)),
    };
    absent.map_or(Ok(()), |absent| Err(StageError::NotCarried(absent).into()))
}

/// Reads the document and the magic bytes of the pack that follows.
async fn head<S, E>(chunks: &mut Chunks<S>) -> Result<Artifact, StageError>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let head = chunks.exactly(HEAD_LEN).await?;
    let head: &[u8; HEAD_LEN] = head.as_ref().try_into().map_err(|_| ArtifactError::Magic)?;
    let document = chunks.exactly(Artifact::document_len(head)?).await?;
    let artifact = Artifact::read(&document)?;
    if chunks.exactly(pack::MAGIC.len()).await?.as_ref() != pack::MAGIC {
        return Err(ArtifactError::Magic.into());
    }
    Ok(artifact)
}

async fn check_room(content: &Content, app: &AppName, artifact: &Artifact, missing: &HashSet<Digest>) -> ApiResult<()> {
    let fresh = artifact.blobs.iter().filter(|blob| missing.contains(&blob.digest));
    let bytes = fresh.map(|blob| blob.size).fold(0, u64::saturating_add);
    if let Some(left) = content.catalog.quota_left(app).await?.filter(|left| *left < bytes) {
        let message = format!("the artifact has {bytes} new bytes, and the plan of app `{app}` has room for {left}");
        return Err(Refusal::new(Code::PlanLimit, message)
            .correct("delete versions that are not needed")
            .next(Next::LargerPlan { app: app.to_string() })
            .limit(left, bytes)
            .into());
    }
    Ok(())
}

/// Position in the artifact's blobs.
#[derive(Default)]
struct Place {
    /// Whether the magic bytes of the output pack have been written.
    begun: bool,
    /// Index of the current blob.
    at: usize,
    /// Remaining bytes of the current blob. `None` before its header is read.
    left: Option<u64>,
}

struct Reading<'a, S> {
    chunks: &'a mut Chunks<S>,
    expected: Digest,
    failure: Option<StageError>,
}

impl<S, E> Reading<'_, S>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    /// Returns the next bytes of a pack with the missing blobs. Returns `None` when everything has
    /// been read and verified.
    async fn step(
        &mut self,
        blobs: &[ArtifactBlob],
        missing: &HashSet<Digest>,
        place: &mut Place,
    ) -> Result<Option<Bytes>, StageError> {
        if !std::mem::replace(&mut place.begun, true) {
            return Ok(Some(Bytes::from_static(&pack::MAGIC)));
        }
        loop {
            let Some(blob) = blobs.get(place.at) else {
                if place.at == blobs.len() {
                    place.at += 1;
                    self.chunks.finish(self.expected).await?;
                }
                return Ok(None);
            };
            let wanted = missing.contains(&blob.digest);
            let piece = match place.left {
                None => {
                    let header = self.chunks.exactly(HEADER_LEN).await?;
                    if header.as_ref() != pack::encode_header(blob.kind(), blob.digest, blob.size) {
                        return Err(StageError::NotAsListed(blob.digest));
                    }
                    place.left = Some(blob.size);
                    header
                }
                Some(0) => {
                    (place.at, place.left) = (place.at + 1, None);
                    continue;
                }
                Some(left) => {
                    let piece = self.chunks.some(left).await?;
                    place.left = Some(left - piece.len() as u64);
                    piece
                }
            };
            if wanted {
                return Ok(Some(piece));
            }
        }
    }
}
