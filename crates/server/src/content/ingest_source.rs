//! Stores local files, such as build results, as if a client had uploaded them.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read};
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use futures::stream;
use milepost_client::source::Source;
use milepost_model::pack::{self, BlobKind};
use milepost_model::tree::Leaf;
use milepost_model::{AppName, Code, Digest, Refusal};
use tokio::sync::mpsc;

use crate::content::ingest;
use crate::error::{ApiResult, internal};
use crate::state::State;

/// Maximum size of a pack, unless a single file is larger.
const PACK_BYTES: u64 = 64 << 20;
const PACK_BLOBS: usize = 20_000;
const CHUNK: usize = 256 << 10;
const CHUNKS_AHEAD: usize = 4;

enum Item {
    File(Digest, u64),
    Directory(Digest, Bytes),
}

impl Item {
    fn size(&self) -> u64 {
        match self {
            Self::File(_, size) => *size,
            Self::Directory(_, bytes) => bytes.len() as u64,
        }
    }
}

/// Stores the missing parts of a tree, within the app's plan, and returns the tree's root.
pub(crate) async fn store(state: &State, app: &AppName, source: Arc<Source>) -> ApiResult<Digest> {
    let root = source.root().map_err(|error| internal(&error))?;
    let items = missing(state, &source).await?;
    let bytes = items.iter().map(Item::size).sum::<u64>();
    if let Some(left) = state.catalog.quota_left(app).await?.filter(|left| *left < bytes) {
        let message =
            format!("The files have {bytes} bytes that are new; the plan of app `{app}` has room for {left}.");
        return Err(Refusal::new(Code::PlanLimit, message)
            .hint("delete versions that are not needed, or move the app to a larger plan")
            .into());
    }
    for items in into_packs(items) {
        let (sender, receiver) = mpsc::channel(CHUNKS_AHEAD);
        let from = Arc::clone(&source);
        // A pack that ends early makes the ingest fail, so a failure here needs no other report.
        tokio::task::spawn_blocking(move || {
            if let Err(error) = write_pack(&from, items, &sender) {
                let _ = sender.blocking_send(Err(error));
            }
        });
        let pieces = stream::unfold(receiver, |mut receiver| async move { Some((receiver.recv().await?, receiver)) });
        let ingested = state.blobs.ingest(pieces, ingest::limits(u64::MAX)).await?;
        ingest::register(state, app, ingested).await?;
    }
    Ok(root)
}

pub(crate) async fn store_bytes(state: &State, app: &AppName, bytes: Bytes) -> ApiResult<Digest> {
    let digest = Digest::of(&bytes);
    if state.catalog.blobs_missing(vec![digest]).await?.is_empty() {
        return Ok(digest);
    }
    let mut head = BytesMut::from(&pack::MAGIC[..]);
    head.put_slice(&pack::encode_header(BlobKind::File, digest, bytes.len() as u64));
    let pieces = stream::iter([Ok::<_, io::Error>(head.freeze()), Ok(bytes)]);
    let ingested = state.blobs.ingest(pieces, ingest::limits(u64::MAX)).await?;
    ingest::register(state, app, ingested).await?;
    Ok(digest)
}

/// Returns files before directories: a directory is accepted only when all its entries are stored.
async fn missing(state: &State, source: &Source) -> ApiResult<Vec<Item>> {
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
    let mut missing: HashSet<Digest> = state.catalog.blobs_missing(all).await?.into_iter().collect();
    let mut items = Vec::new();
    for (digest, size) in files {
        if missing.contains(&digest) {
            items.push(Item::File(digest, size));
        }
    }
    for (digest, bytes) in directories {
        if missing.remove(digest) {
            items.push(Item::Directory(*digest, Bytes::copy_from_slice(bytes)));
        }
    }
    Ok(items)
}

fn into_packs(items: Vec<Item>) -> Vec<Vec<Item>> {
    let mut packs: Vec<Vec<Item>> = Vec::new();
    let mut bytes = 0;
    for item in items {
        let size = item.size();
        match packs.last_mut().filter(|pack| pack.len() < PACK_BLOBS && bytes + size <= PACK_BYTES) {
            Some(pack) => pack.push(item),
            None => {
                bytes = 0;
                packs.push(vec![item]);
            }
        }
        bytes += size;
    }
    packs
}

fn write_pack(source: &Source, items: Vec<Item>, to: &mpsc::Sender<io::Result<Bytes>>) -> io::Result<()> {
    let mut buffer = BytesMut::with_capacity(CHUNK * 2);
    let flush = |buffer: &mut BytesMut, least: usize| {
        if buffer.len() < least {
            return Ok(());
        }
        to.blocking_send(Ok(buffer.split().freeze())).map_err(|_| io::Error::other("nobody takes the pack"))
    };
    buffer.put_slice(&pack::MAGIC);
    let mut piece = vec![0; 64 << 10];
    for item in items {
        match item {
            Item::Directory(digest, bytes) => {
                buffer.put_slice(&pack::encode_header(BlobKind::Directory, digest, bytes.len() as u64));
                buffer.put_slice(&bytes);
            }
            Item::File(digest, size) => {
                buffer.put_slice(&pack::encode_header(BlobKind::File, digest, size));
                let mut blob = source.open_blob(&digest).map_err(io::Error::other)?;
                loop {
                    let read = blob.read(&mut piece)?;
                    if read == 0 {
                        break;
                    }
                    buffer.put_slice(&piece[..read]);
                    flush(&mut buffer, CHUNK)?;
                }
            }
        }
        flush(&mut buffer, CHUNK)?;
    }
    flush(&mut buffer, 1)
}
