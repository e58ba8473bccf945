//! File trees of static items for the gateway. Each is built once and shared while in use.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared, join_all};
use milepost_gateway::{FileRef, FileTree};
use milepost_model::{Code, Digest, Refusal};
use tokio::sync::Semaphore;

use crate::content::trees;
use crate::error::ApiResult;
use crate::state::Store;

/// How long a view waits for trees that are not in memory. Loads go on after that, and a later view
/// finds their results.
const PATIENCE: Duration = Duration::from_secs(2);
/// Trees that are loaded at once.
const LOADS: usize = 32;

type Load = Shared<BoxFuture<'static, Result<Arc<FileTree>, Refusal>>>;

pub(crate) struct FileTrees {
    known: Mutex<HashMap<Digest, Entry>>,
    loads: Arc<Semaphore>,
}

enum Entry {
    Used(Weak<FileTree>),
    /// Keeps the result until the next request for it.
    Loading(Load),
}

impl Default for FileTrees {
    fn default() -> Self {
        Self { known: Mutex::default(), loads: Arc::new(Semaphore::new(LOADS)) }
    }
}

impl FileTrees {
    /// Returns those of the trees that are in memory or can be loaded in time, and why others could
    /// not be loaded. Waits only if one is not in memory.
    pub(super) async fn get_many(
        &self,
        store: &Store,
        roots: impl IntoIterator<Item = Digest>,
    ) -> (HashMap<Digest, Arc<FileTree>>, Option<Refusal>) {
        let (mut found, mut loads) = (HashMap::new(), Vec::new());
        for root in roots {
            match self.find_or_load(store, root) {
                Ok(tree) => drop(found.insert(root, tree)),
                Err(load) => loads.push(async move { (root, load.await) }),
            }
        }
        let deadline = tokio::time::Instant::now() + PATIENCE;
        let loads = loads.into_iter().map(|load| tokio::time::timeout_at(deadline, load));
        let mut problem = None;
        for loaded in join_all(loads).await {
            match loaded {
                Ok((root, Ok(tree))) => {
                    self.lock().insert(root, Entry::Used(Arc::downgrade(&tree)));
                    found.insert(root, tree);
                }
                Ok((root, Err(refusal))) => {
                    self.lock().remove(&root);
                    problem = Some(refusal);
                }
                Err(_) => {
                    let late = format!("The blob store did not answer within {} s.", PATIENCE.as_secs());
                    problem = problem.or_else(|| Some(Refusal::new(Code::Unavailable, late)));
                }
            }
        }
        (found, problem)
    }

    fn find_or_load(&self, store: &Store, root: Digest) -> Result<Arc<FileTree>, Load> {
        let mut known = self.lock();
        match known.get(&root) {
            Some(Entry::Loading(load)) => return Err(load.clone()),
            Some(Entry::Used(tree)) => {
                if let Some(tree) = tree.upgrade() {
                    return Ok(tree);
                }
            }
            None => {}
        }
        let (store, loads) = (store.clone(), Arc::clone(&self.loads));
        let load = async move {
            let _place = loads.acquire().await;
            load(&store, root).await.map(Arc::new).map_err(|error| error.0)
        };
        let load = load.boxed().shared();
        known.retain(|_, entry| !matches!(entry, Entry::Used(tree) if tree.strong_count() == 0));
        known.insert(root, Entry::Loading(load.clone()));
        drop(known);
        tokio::spawn(load.clone());
        Err(load)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Digest, Entry>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
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
