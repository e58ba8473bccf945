//! File trees of static items for the gateway. Each is built once and shared while in use.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use milepost_gateway::{FileRef, FileTree};
use milepost_model::{Code, Digest, Refusal};

use crate::content::trees;
use crate::error::ApiResult;
use crate::state::Store;

#[derive(Default)]
pub(crate) struct FileTrees(Mutex<HashMap<Digest, Weak<FileTree>>>);

impl FileTrees {
    pub(crate) async fn get(&self, store: &Store, root: Digest) -> ApiResult<Arc<FileTree>> {
        if let Some(tree) = self.lock().get(&root).and_then(Weak::upgrade) {
            return Ok(tree);
        }
        let tree = Arc::new(load(store, root).await?);
        let mut known = self.lock();
        known.retain(|_, tree| tree.strong_count() > 0);
        known.insert(root, Arc::downgrade(&tree));
        Ok(tree)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Digest, Weak<FileTree>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn load(store: &Store, root: Digest) -> ApiResult<FileTree> {
    let tree = trees::load(store, root).await?;
    let paths: Vec<(&str, Digest)> =
        tree.iter().filter_map(|(path, _)| Some((path, tree.file_at(path)?.digest))).collect();
    let wanted: BTreeSet<Digest> = paths.iter().map(|(_, digest)| *digest).collect();
    let mut places = HashMap::with_capacity(wanted.len());
    for row in store.catalog.blob_locate(wanted.into_iter().collect()).await? {
        let location = trees::location(&row)?;
        let file =
            FileRef { digest: row.digest, size: row.size, pack: location.pack.to_bytes(), offset: location.offset };
        places.insert(row.digest, file);
    }
    let mut files = Vec::with_capacity(paths.len());
    for (path, digest) in paths {
        let Some(file) = places.get(&digest) else {
            let message = format!("the server has no blob `{digest}`, the file `{path}` of a static item");
            return Err(Refusal::new(Code::BlobNotFound, message).correct("upload it again").into());
        };
        files.push((path.into(), *file));
    }
    Ok(FileTree::new(files))
}
