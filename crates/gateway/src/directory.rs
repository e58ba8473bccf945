//! The current view of every app, read by each request and replaced by the server.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::hint::black_box;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use quick_cache::sync::Cache;
use smol_str::SmolStr;
use tokio::sync::Semaphore;

use crate::backend::{Backend, LoadFailure};
use crate::stats::Counters;
use crate::view::{AppView, ReleaseView};

const SHARDS: usize = 64;
/// How long an app that does not exist is not looked up again.
const ABSENT_FOR: Duration = Duration::from_secs(1);
/// Untrusted clients choose the host names, so the negative cache is bounded.
const ABSENT_NAMES: usize = 10_000;
/// Concurrent loads, so that clients asking for thousands of names cannot overload the database.
const LOADS: usize = 16;

type Loaded<F> = Result<Option<Arc<AppView<F>>>, LoadFailure>;
type Loading<F> = Shared<BoxFuture<'static, Loaded<F>>>;
type Shard<F> = HashMap<SmolStr, Entry<F>, RandomState>;

/// One app. The view is stored next to its name.
struct Entry<F> {
    view: Option<Arc<AppView<F>>>,
    /// The view's live release, to be fetched together with it.
    live: Option<Arc<ReleaseView<F>>>,
    /// The order of the newest view seen. An older one never replaces it, nor a removal.
    newest: i64,
    counters: Arc<Counters>,
}

impl<F> Entry<F> {
    /// Touches all parts at once, see [`ReleaseView::read_ahead`]. Cloning one of them first would
    /// stall on it.
    fn read_ahead(&self) {
        let view = self.view.as_ref().map(|view| (Arc::strong_count(view), view.read_ahead()));
        let live = self.live.as_ref().map(|live| (Arc::strong_count(live), live.sizes()));
        black_box((view, live, Arc::strong_count(&self.counters), self.counters.read().success));
    }
}

/// Maps app names to their current views.
pub struct Directory<F> {
    shards: Box<[RwLock<Shard<F>>]>,
    hasher: RandomState,
    absent: Cache<Box<str>, Instant>,
    loading: Mutex<HashMap<Box<str>, Loading<F>>>,
    loads: Semaphore,
}

impl<F> Default for Directory<F> {
    fn default() -> Self {
        let hasher = RandomState::default();
        Self {
            shards: (0..SHARDS).map(|_| RwLock::new(HashMap::with_hasher(hasher.clone()))).collect(),
            hasher,
            absent: Cache::new(ABSENT_NAMES),
            loading: Mutex::default(),
            loads: Semaphore::new(LOADS),
        }
    }
}

impl<F> Directory<F> {
    /// Returns the view if it is in memory.
    pub fn get(&self, app: &str) -> Option<Arc<AppView<F>>> {
        read(self.shard(app)).get(app)?.view.clone()
    }

    /// Like [`Self::get`], with the app's response counters.
    pub(crate) fn find(&self, app: &str) -> Option<(Arc<AppView<F>>, Arc<Counters>)> {
        let shard = read(self.shard(app));
        let entry = shard.get(app)?;
        entry.read_ahead();
        Some((entry.view.clone()?, entry.counters.clone()))
    }

    /// Makes a view the current one, unless a newer one is already there. Returns whether it was
    /// accepted. After that the next request sees the view.
    pub fn publish(&self, view: Arc<AppView<F>>) -> bool {
        let (app, order) = (view.app.clone(), view.order);
        let taken = self.replace(&app, order, Some(view));
        self.absent.remove(app.as_str());
        taken
    }

    /// Removes an app. Views of a lower order are rejected from then on.
    pub fn remove(&self, app: &str, order: i64) -> bool {
        self.replace(app, order, None)
    }

    fn replace(&self, app: &str, order: i64, view: Option<Arc<AppView<F>>>) -> bool {
        let live = view.as_ref().and_then(|view| view.live.clone());
        let mut shard = self.shard(app).write().unwrap_or_else(PoisonError::into_inner);
        let old = match shard.get_mut(app) {
            Some(entry) if order < entry.newest => return false,
            Some(entry) => {
                entry.newest = order;
                (std::mem::replace(&mut entry.live, live), std::mem::replace(&mut entry.view, view))
            }
            None => {
                shard.insert(app.into(), Entry { view, live, newest: order, counters: Arc::default() });
                (None, None)
            }
        };
        // Drops the old view outside of the lock: this may be the last reference to a large one.
        drop(shard);
        drop(old);
        true
    }

    /// The number of apps in memory.
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| read(shard).values().filter(|entry| entry.view.is_some()).count()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Response counters of all apps, including removed ones.
    pub(crate) fn counters(&self) -> impl Iterator<Item = (SmolStr, Arc<Counters>)> {
        self.each(|app, entry| (app.clone(), entry.counters.clone()))
    }

    fn each<R>(&self, of: impl Fn(&SmolStr, &Entry<F>) -> R) -> impl Iterator<Item = R> {
        self.shards
            .iter()
            .flat_map(move |shard| read(shard).iter().map(|(app, entry)| of(app, entry)).collect::<Vec<_>>())
    }

    fn shard(&self, app: &str) -> &RwLock<Shard<F>> {
        // The map itself uses the lowest and the highest bits of the same hash.
        let at = (self.hasher.hash_one(app) >> 32) as usize % SHARDS;
        &self.shards[at]
    }

    pub(crate) fn is_absent(&self, app: &str) -> bool {
        match self.absent.get(app) {
            Some(since) if since.elapsed() < ABSENT_FOR => true,
            Some(_) => {
                self.absent.remove(app);
                false
            }
            None => false,
        }
    }
}

impl<F: Send + Sync + 'static> Directory<F> {
    /// Returns the view of an app, loading it if necessary. Concurrent callers share one load,
    /// which continues when they leave.
    pub async fn get_or_load<B: Backend<Function = F>>(self: &Arc<Self>, backend: &Arc<B>, app: &str) -> Loaded<F> {
        if let Some(view) = self.get(app) {
            return Ok(Some(view));
        }
        if self.is_absent(app) {
            return Ok(None);
        }
        self.join_load(backend, app).await
    }

    fn join_load<B: Backend<Function = F>>(self: &Arc<Self>, backend: &Arc<B>, app: &str) -> Loading<F> {
        let mut loading = lock(&self.loading);
        if let Some(load) = loading.get(app) {
            return load.clone();
        }
        let (directory, backend, name) = (self.clone(), backend.clone(), Box::<str>::from(app));
        let load = async move {
            let loaded = directory.load(&*backend, &name).await;
            lock(&directory.loading).remove(&name);
            loaded
        };
        let load = load.boxed().shared();
        loading.insert(app.into(), load.clone());
        drop(loading);
        tokio::spawn(load.clone());
        load
    }

    async fn load<B: Backend<Function = F>>(&self, backend: &B, app: &str) -> Loaded<F> {
        let _permit = self.loads.acquire().await;
        // The server may have published it while this waited.
        if let Some(view) = self.get(app) {
            return Ok(Some(view));
        }
        match backend.load(app).await? {
            Some(view) => {
                self.publish(view);
            }
            None => self.absent.insert(app.into(), Instant::now()),
        }
        Ok(self.get(app))
    }
}

/// Held briefly: nothing awaits while holding this lock, and writers only swap a pointer.
fn read<F>(shard: &RwLock<Shard<F>>) -> RwLockReadGuard<'_, Shard<F>> {
    shard.read().unwrap_or_else(PoisonError::into_inner)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
