//! Ingests a pack from a stream.

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use futures::{Stream, StreamExt as _};

use crate::error::BlobError;
use crate::frames::{Frames, IngestLimits, IngestedBlob};
use crate::pack::{Location, PackName};
use crate::room::Watch;
use crate::store::Blobs;
use crate::writer::PackWriter;

/// A pack that is stored and durable. It is not visible until its blobs are in the catalog.
#[derive(Debug)]
pub struct Ingested {
    pub pack: PackName,
    pub size: u64,
    /// In the order of the pack. A digest may occur twice.
    pub blobs: Vec<IngestedBlob>,
}

impl Ingested {
    pub fn location(&self, blob: &IngestedBlob) -> Location {
        Location { pack: self.pack, offset: blob.offset, size: blob.size }
    }
}

impl Blobs {
    /// Stores the pack from `body` and checks it on the way. Memory use does not depend on the size
    /// of its files.
    ///
    /// After `Ok` the pack survives a power failure. After an error, or if the future is dropped
    /// before the last byte of `body`, no pack has become visible.
    pub async fn ingest<S, E>(&self, body: S, limits: IngestLimits) -> Result<Ingested, BlobError>
    where
        S: Stream<Item = Result<Bytes, E>> + Send,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let pack = PackName::random();
        let mut writer = PackWriter::new(Arc::clone(&self.store), pack.path());
        match receive(body, Frames::new(limits), &mut writer, self.disk.watch()).await {
            Ok((size, blobs)) => {
                writer.publish().await?;
                tracing::debug!(%pack, size, blobs = blobs.len(), "stored a pack");
                Ok(Ingested { pack, size, blobs })
            }
            Err(error) => {
                writer.abort().await;
                Err(error)
            }
        }
    }
}

async fn receive<S, E>(
    body: S,
    mut frames: Frames,
    writer: &mut PackWriter,
    mut room: Watch,
) -> Result<(u64, Vec<IngestedBlob>), BlobError>
where
    S: Stream<Item = Result<Bytes, E>> + Send,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut body = pin!(body);
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|error| BlobError::Interrupted(error.into()))?;
        // Checked before it is written, so that a rejected pack costs as little as possible.
        frames.push(&chunk)?;
        room.before(chunk.len(), frames.announced())?;
        writer.put(chunk).await?;
    }
    let size = frames.position();
    Ok((size, frames.finish()?))
}
