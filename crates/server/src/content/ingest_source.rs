//! Stores local files, such as build results, as if a client had uploaded them.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use futures::stream;
use milepost_client::packs::{self, Item, Packing, into_packs};
use milepost_client::source::Source;
use milepost_model::pack::{self, BlobKind};
use milepost_model::tree::Leaf;
use milepost_model::{AppName, Code, Digest, Next, Refusal};

use crate::content::Content;
use crate::content::ingest;
use crate::error::{ApiResult, internal};

/// Stores the missing parts of a tree, within the app's plan, and returns the tree's root.
pub(crate) async fn store(content: &Content, app: &AppName, source: Arc<Source>) -> ApiResult<Digest> {
    let root = source.root().map_err(|error| internal(&error))?;
    let items = missing(content, &source).await?;
    let bytes = items.iter().map(Item::size).sum::<u64>();
    if let Some(left) = content.catalog.quota_left(app).await?.filter(|left| *left < bytes) {
        let message = format!("the files have {bytes} new bytes, and the plan of app `{app}` has room for {left}");
        return Err(Refusal::new(Code::PlanLimit, message)
            .correct("delete versions that are not needed")
            .next(Next::LargerPlan { app: app.to_string() })
            .limit(left, bytes)
            .into());
    }
    let sources = Arc::new(vec![source]);
    for items in into_packs(items) {
        // A pack that ends early makes the ingest fail, so a failure here needs no other report.
        let Packing { chunks, reading: _ } = packs::start(Arc::clone(&sources), items, |_| {});
        let pieces = stream::unfold(chunks, |mut chunks| async move { Some((chunks.recv().await?, chunks)) });
        let ingested = content.blobs.ingest(pieces, ingest::limits(u64::MAX)).await?;
        ingest::register(content, app, ingested).await?;
    }
    Ok(root)
}

pub(crate) async fn store_bytes(content: &Content, app: &AppName, bytes: Bytes) -> ApiResult<Digest> {
    let digest = Digest::of(&bytes);
    if content.catalog.blobs_missing(vec![digest]).await?.is_empty() {
        return Ok(digest);
    }
    let mut head = BytesMut::from(&pack::MAGIC[..]);
    head.put_slice(&pack::encode_header(BlobKind::File, digest, bytes.len() as u64));
    let pieces = stream::iter([Ok::<_, io::Error>(head.freeze()), Ok(bytes)]);
    let ingested = content.blobs.ingest(pieces, ingest::limits(u64::MAX)).await?;
    ingest::register(content, app, ingested).await?;
    Ok(digest)
}

/// Returns files before directories: a directory is accepted only when all its entries are stored.
async fn missing(content: &Content, source: &Source) -> ApiResult<Vec<Item>> {
    let tree = source.tree().map_err(|error| internal(&error))?;
    let directories = &source.encoded().map_err(|error| internal(&error))?.directories;
    let files: HashMap<Digest, u64> = tree
        .iter()
        .filter_map(|(_, leaf)| match leaf {
            Leaf::File(file) => Some((file.digest, file.size)),
            Leaf::Link { .. } => None,
        })
        .collect();
    let all = files.keys().copied().chain(directories.iter().map(|(digest, _)| *digest)).collect();
    let mut missing: HashSet<Digest> = content.catalog.blobs_missing(all).await?.into_iter().collect();
    let mut items = Vec::new();
    for (digest, size) in files {
        if missing.contains(&digest) {
            items.push(Item::File { digest, size, source: 0 });
        }
    }
    for (digest, bytes) in directories {
        if missing.remove(digest) {
            items.push(Item::Directory(*digest, Bytes::copy_from_slice(bytes)));
        }
    }
    Ok(items)
}
