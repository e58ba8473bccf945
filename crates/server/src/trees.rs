//! Trees read back from their directories, and the files that differ between two of them.

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use milepost_blobs::Location;
use milepost_catalog::BlobRow;
use milepost_model::plan::Reason;
use milepost_model::tree::{Directory, Entry, Leaf, Tree};
use milepost_model::{Code, Digest, Refusal};

use crate::error::{ApiResult, internal};
use crate::state::State;

pub(crate) fn location(row: &BlobRow) -> ApiResult<Location> {
    let pack = row.pack.parse().map_err(|error| internal(&error))?;
    Ok(Location { pack, offset: row.offset, size: row.size })
}

pub(crate) async fn locate(state: &State, digest: Digest) -> ApiResult<BlobRow> {
    let found = state.catalog.blob_locate(vec![digest]).await?.pop();
    found.ok_or_else(|| {
        let message = format!("The server has no blob `{digest}`.");
        Refusal::new(Code::BlobNotFound, message).hint("it was never uploaded, or it has been swept").into()
    })
}

async fn directory(state: &State, digest: Digest) -> ApiResult<Directory> {
    let row = locate(state, digest).await?;
    if !row.is_directory {
        let message = format!("`{digest}` is a file, not a tree.");
        return Err(Refusal::new(Code::BlobNotFound, message).hint("ask for the blob itself").into());
    }
    let bytes = state.blobs.read(&location(&row)?, digest).await?;
    Directory::decode(&bytes).map_err(|error| internal(&error))
}

/// A whole tree by path.
pub(crate) async fn load(state: &State, root: Digest) -> ApiResult<Tree> {
    let mut tree = Tree::default();
    walk(state, root, String::new(), &mut tree).await?;
    Ok(tree)
}

fn walk<'a>(state: &'a State, digest: Digest, prefix: String, tree: &'a mut Tree) -> BoxFuture<'a, ApiResult<()>> {
    Box::pin(async move {
        for (name, entry) in directory(state, digest).await?.entries {
            let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
            match entry {
                Entry::Directory { digest } => walk(state, digest, path, tree).await?,
                Entry::File(file) => tree.insert(&path, Leaf::File(file)).map_err(|error| internal(&error))?,
                Entry::Link { target } => {
                    tree.insert(&path, Leaf::Link { target }).map_err(|error| internal(&error))?
                }
            }
        }
        Ok(())
    })
}

/// Fills in which files differ, where a reason says that some do.
pub(crate) async fn explain(state: &State, reasons: &mut [Reason]) -> ApiResult<()> {
    let mut known: BTreeMap<Digest, Tree> = BTreeMap::new();
    for reason in reasons {
        let Reason::Files { before, after, files, .. } = reason else { continue };
        for digest in [*before, *after].into_iter().flatten() {
            if let std::collections::btree_map::Entry::Vacant(free) = known.entry(digest) {
                free.insert(load(state, digest).await?);
            }
        }
        let empty = Tree::default();
        let tree = |digest: &Option<Digest>| digest.and_then(|digest| known.get(&digest)).unwrap_or(&empty);
        *files = milepost_model::tree::diff(tree(before), tree(after));
    }
    Ok(())
}
