//! Loads trees from their stored directories and compares two of them.

mod texts;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use futures::TryStreamExt;
use futures::stream::{self, StreamExt};
use milepost_blobs::Location;
use milepost_catalog::BlobRow;
use milepost_model::plan::Reason;
use milepost_model::tree::{Directory, Entry, Leaf, Tree, TreeError, checked_path};
use milepost_model::{Code, Digest, Refusal};

use crate::content::Content;
use crate::error::{ApiError, ApiResult, internal};
use crate::state::Store;

pub(crate) use texts::add as add_texts;

/// Maximum files, links and directories of one tree. Without it, a few directories that contain
/// each other many times could expand to a tree that exceeds memory.
const MAX_ENTRIES: usize = 250_000;
/// Maximum encoded size of all directories on one level; enough for `MAX_ENTRIES`.
const MAX_LEVEL_BYTES: u64 = 128 << 20;
const READS_AT_ONCE: usize = 8;
/// Maximum remembered digests. When full, all are forgotten at once, which only costs a second
/// check.
const MAX_REMEMBERED: usize = 100_000;

/// Digests of trees that passed the check. A digest always names the same content, so one check is
/// enough.
#[derive(Default)]
pub(crate) struct CheckedTrees(Mutex<HashSet<Digest>>);

impl CheckedTrees {
    fn without_known(&self, digests: BTreeSet<Digest>) -> Vec<Digest> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        digests.into_iter().filter(|digest| !known.contains(digest)).collect()
    }

    fn remember(&self, digest: Digest) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_REMEMBERED {
            known.clear();
        }
        known.insert(digest);
    }
}

pub(crate) fn location(row: &BlobRow) -> ApiResult<Location> {
    let pack = row.pack.parse().map_err(|error| internal(&error))?;
    Ok(Location { pack, offset: row.offset, size: row.size })
}

pub(crate) async fn locate(store: &Store, digest: Digest) -> ApiResult<BlobRow> {
    let found = store.catalog.blob_locate(vec![digest]).await?.pop();
    found.ok_or_else(|| not_here(digest))
}

pub(crate) fn not_here(digest: Digest) -> ApiError {
    let message = format!("the server has no blob `{digest}`");
    Refusal::new(Code::BlobNotFound, message)
        .correct("upload it first: it was never uploaded, or it has been swept")
        .into()
}

fn unusable(root: Digest, error: &TreeError) -> ApiError {
    let message = format!("tree `{root}` cannot be used: {error}");
    Refusal::new(Code::InvalidUpload, message).correct("make the tree again without it, and upload that").into()
}

/// Rejects invalid trees and trees with links that escape them, before a version refers to them. If
/// a tree is not stored at all, the change reports that.
pub(crate) async fn check(content: &Content, roots: BTreeSet<Digest>) -> ApiResult<()> {
    let fresh = content.checked_trees.without_known(roots);
    if fresh.is_empty() {
        return Ok(());
    }
    for row in content.catalog.blob_locate(fresh).await? {
        let tree = load(content, row.digest).await?;
        check_sizes(content, row.digest, &tree).await?;
        let checked = tokio::task::spawn_blocking(move || tree.check_links());
        checked.await.map_err(|error| internal(&error))?.map_err(|error| unusable(row.digest, &error))?;
        content.checked_trees.remember(row.digest);
    }
    Ok(())
}

/// Verifies the file sizes that directories declare, because all readers trust them.
async fn check_sizes(store: &Store, root: Digest, tree: &Tree) -> ApiResult<()> {
    let files = || {
        tree.iter().filter_map(|(path, leaf)| match leaf {
            Leaf::File(file) => Some((path, file)),
            Leaf::Link { .. } => None,
        })
    };
    let wanted: BTreeSet<Digest> = files().map(|(_, file)| file.digest).collect();
    let rows = store.catalog.blob_locate(wanted.into_iter().collect()).await?;
    let sizes: HashMap<Digest, u64> = rows.into_iter().map(|row| (row.digest, row.size)).collect();
    for (path, file) in files() {
        if let Some(size) = sizes.get(&file.digest).filter(|size| **size != file.size) {
            let message = format!(
                "tree `{root}` cannot be used: it says that `{path}` has {} bytes, and `{}` has {size}",
                file.size, file.digest
            );
            let hint = "make the tree again with the real sizes of the files, and upload that";
            return Err(Refusal::new(Code::InvalidUpload, message).correct(hint).into());
        }
    }
    Ok(())
}

/// Loads a whole tree by path, level by level, with one catalog query per level.
pub(crate) async fn load(store: &Store, root: Digest) -> ApiResult<Tree> {
    let mut tree = Tree::default();
    let mut level = vec![(String::new(), root)];
    let mut entries = 0;
    while !level.is_empty() {
        let directories = directories(store, root, &level).await?;
        let mut below = Vec::new();
        for (prefix, digest) in level {
            let Some(directory) = directories.get(&digest) else { return Err(not_here(digest)) };
            entries += directory.entries.len();
            if entries > MAX_ENTRIES {
                return Err(too_many_entries(root));
            }
            for (name, entry) in &directory.entries {
                let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
                let added = match entry {
                    Entry::Directory { digest } => checked_path(&path).map(|path| below.push((path, *digest))),
                    Entry::File(file) => tree.insert(&path, Leaf::File(*file)),
                    Entry::Link { target } => tree.insert(&path, Leaf::Link { target: target.clone() }),
                };
                added.map_err(|error| unusable(root, &error))?;
            }
        }
        level = below;
    }
    Ok(tree)
}

fn too_many_entries(root: Digest) -> ApiError {
    let message = format!("tree `{root}` has more than {MAX_ENTRIES} files and folders");
    Refusal::new(Code::InvalidUpload, message).correct("split it, or leave out what is not needed to run").into()
}

/// The directories of one level. Each is read once, however often it occurs.
async fn directories(store: &Store, root: Digest, level: &[(String, Digest)]) -> ApiResult<HashMap<Digest, Directory>> {
    let wanted: BTreeSet<Digest> = level.iter().map(|(_, digest)| *digest).collect();
    let rows = store.catalog.blob_locate(wanted.into_iter().collect()).await?;
    if rows.iter().map(|row| row.size).sum::<u64>() > MAX_LEVEL_BYTES {
        return Err(too_many_entries(root));
    }
    stream::iter(rows)
        .map(|row| async move { Ok((row.digest, directory(store, &row).await?)) })
        .buffer_unordered(READS_AT_ONCE)
        .try_collect()
        .await
}

pub(crate) async fn directory(store: &Store, row: &BlobRow) -> ApiResult<Directory> {
    if !row.is_directory {
        let message = format!("`{}` is a file, not a tree", row.digest);
        return Err(Refusal::new(Code::InvalidUpload, message)
            .correct("name the directory that holds it, or ask for the blob itself")
            .into());
    }
    let bytes = store.blobs.read(&location(row)?, row.digest).await?;
    Directory::decode(&bytes).map_err(|error| internal(&error))
}

/// [`explain`] for a change that has already been applied. A failure to read files must not make
/// the request look failed.
pub(crate) async fn explain_if_readable(store: &Store, reasons: &mut [Reason]) {
    if let Err(error) = explain(store, reasons).await {
        tracing::warn!(message = %error.0, "an answer lacks its list of files");
    }
}

/// Fills in the list of files for each reason that says files differ.
pub(crate) async fn explain(store: &Store, reasons: &mut [Reason]) -> ApiResult<()> {
    let mut known: BTreeMap<Digest, Tree> = BTreeMap::new();
    for reason in reasons {
        let Reason::Files { before, after, files, .. } = reason else { continue };
        for digest in [*before, *after].into_iter().flatten() {
            if let std::collections::btree_map::Entry::Vacant(free) = known.entry(digest) {
                free.insert(load(store, digest).await?);
            }
        }
        let empty = Tree::default();
        let tree = |digest: &Option<Digest>| digest.and_then(|digest| known.get(&digest)).unwrap_or(&empty);
        *files = milepost_model::tree::diff(tree(before), tree(after));
    }
    Ok(())
}
