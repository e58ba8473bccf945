//! The current view of every app, read by each request and replaced by the server.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use foldhash::fast::RandomState;
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use quick_cache::sync::Cache;
use tokio::sync::Semaphore;

use crate::backend::{Backend, LoadFailure};
use crate::stats::Counters;
use crate::view::AppView;

const SHARDS: usize = 64;
/// How long an app that does not exist is not asked for again.
const ABSENT_FOR: Duration = Duration::from_secs(1);
/// Names of hosts come from strangers: what is remembered about unknown ones is bounded.
const ABSENT_NAMES: usize = 10_000;
/// Loads at the same time, so that strangers who ask for a thousand names do not occupy the database.
const LOADS: usize = 16;

type Loaded<F> = Result<Option<Arc<AppView<F>>>, LoadFailure>;
type Loading<F> = Shared<BoxFuture<'static, Loaded<F>>>;
type Shard<F> = HashMap<Box<str>, Arc<Slot<F>>, RandomState>;

/// One app. Readers load the view without a lock; writers take `newest`, so that an older view never replaces a newer one.
pub(crate) struct Slot<F> {
    view: ArcSwapOption<AppView<F>>,
    newest: Mutex<i64>,
    pub(crate) counters: Counters,
}

impl<F> Slot<F> {
    pub(crate) fn view(&self) -> Option<Arc<AppView<F>>> {
        self.view.load_full()
    }

    fn replace(&self, event: i64, view: Option<Arc<AppView<F>>>) -> bool {
        let old;
        {
            let mut newest = lock(&self.newest);
            if event < *newest {
                return false;
            }
            *newest = event;
            old = self.view.swap(view);
        }
        // The last reference to a large view may go here, outside of the lock.
        drop(old);
        true
    }
}

/// App name → current view.
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
    /// The view to serve from, if there is one in memory.
    pub fn get(&self, app: &str) -> Option<Arc<AppView<F>>> {
        self.slot(app)?.view()
    }

    /// Makes a view the current one, unless a newer one is there already. Returns whether it was taken. When this
    /// returns, the next request sees the view.
    pub fn publish(&self, view: Arc<AppView<F>>) -> bool {
        let taken = match self.slot(&view.app) {
            Some(slot) => slot.replace(view.event, Some(view.clone())),
            None => self.slot_or_new(&view.app).replace(view.event, Some(view.clone())),
        };
        self.absent.remove(&*view.app);
        taken
    }

    /// Forgets an app that was deleted by `event`. Views from before that event are not taken any more.
    pub fn remove(&self, app: &str, event: i64) -> bool {
        self.slot_or_new(app).replace(event, None)
    }

    /// How many apps can be served from memory.
    pub fn len(&self) -> usize {
        self.each(|_, slot| slot.view.load().is_some()).filter(|there| *there).count()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every app in memory with the event of its view: what a poll compares with the catalog.
    pub fn events(&self) -> Vec<(Box<str>, i64)> {
        self.each(|app, slot| slot.view.load().as_ref().map(|view| (app.into(), view.event))).flatten().collect()
    }

    pub(crate) fn each<R>(&self, read: impl Fn(&str, &Slot<F>) -> R) -> impl Iterator<Item = R> {
        self.shards.iter().flat_map(move |shard| {
            let shard = shard.read().unwrap_or_else(PoisonError::into_inner);
            shard.iter().map(|(app, slot)| read(app, slot)).collect::<Vec<_>>()
        })
    }

    pub(crate) fn slot(&self, app: &str) -> Option<Arc<Slot<F>>> {
        self.shard(app).read().unwrap_or_else(PoisonError::into_inner).get(app).cloned()
    }

    fn slot_or_new(&self, app: &str) -> Arc<Slot<F>> {
        let mut shard = self.shard(app).write().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = shard.get(app) {
            return slot.clone();
        }
        let slot = Arc::new(Slot {
            view: ArcSwapOption::empty(),
            newest: Mutex::new(i64::MIN),
            counters: Counters::default(),
        });
        shard.insert(app.into(), slot.clone());
        slot
    }

    fn shard(&self, app: &str) -> &RwLock<Shard<F>> {
        // The map inside uses the low and the highest bits of the same hash.
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
    /// The view of an app that may not be in memory yet. All who ask for the same app wait for one load, which goes on
    /// when they leave.
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
