//! The pools of one executor, by the key of their binding.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use futures::future::join_all;
use milepost_model::{AppName, Digest, UnitName};
use tokio::time::Instant;

use super::{BodyOf, Pool, PoolStatus, Shared};
use crate::call::CallError;
use crate::executor::{Call, Executor, RequestBody};
use crate::function::Function;

pub(crate) struct Pools<E: Executor> {
    shared: Arc<Shared<E>>,
    map: Arc<RwLock<Map<E>>>,
    /// The bindings that each app wants kept warm.
    warm: Mutex<HashMap<AppName, HashSet<Digest>>>,
}

struct Map<E: Executor> {
    pools: HashMap<Digest, Arc<Pool<E>>>,
    /// Once set, no new pool is created.
    stopping: bool,
}

impl<E: Executor> Pools<E> {
    pub fn new(shared: Shared<E>) -> Self {
        let map = Map { pools: HashMap::new(), stopping: false };
        Self { shared: Arc::new(shared), map: Arc::new(RwLock::new(map)), warm: Mutex::default() }
    }

    pub fn executor(&self) -> &E {
        &self.shared.executor
    }

    pub async fn call<B: RequestBody>(
        &self,
        function: &Arc<Function>,
        call: Call<B>,
    ) -> Result<http::Response<BodyOf<E>>, CallError> {
        loop {
            let Some(pool) = self.of(function) else { return Err(CallError::Stopping) };
            if let Some(admission) = pool.admit() {
                return pool.run(admission, call).await;
            }
        }
    }

    /// Makes sure that an instance is ready, without calling it.
    pub async fn load(&self, function: &Arc<Function>) -> Result<(), CallError> {
        loop {
            let Some(pool) = self.of(function) else { return Err(CallError::Stopping) };
            if let Some(admission) = pool.admit() {
                return pool.load(admission).await;
            }
        }
    }

    /// The pool of a binding, created if missing.
    fn of(&self, function: &Arc<Function>) -> Option<Arc<Pool<E>>> {
        if let Some(pool) = self.existing(&function.key) {
            return Some(pool);
        }
        let mut map = self.map.write().unwrap_or_else(PoisonError::into_inner);
        if map.stopping {
            return None;
        }
        if let Some(pool) = map.pools.get(&function.key) {
            return Some(pool.clone());
        }
        let pool = Arc::new(Pool::new(function.clone(), self.shared.clone()));
        map.pools.insert(function.key, pool.clone());
        let others = self.map.clone();
        self.shared.tasks.spawn(pool.clone().tend(move |closed| {
            // A pool closes only without instances and waiters, so a new pool under its key
            // inherits nothing.
            others.write().unwrap_or_else(PoisonError::into_inner).pools.remove(&closed.function.key);
        }));
        Some(pool)
    }

    /// Replaces an app's whole set. A warm pool that is no longer in the set is kept for a
    /// rollback.
    pub fn keep_warm(&self, app: &AppName, wanted: &[(Arc<Function>, u32)]) {
        let mut warm = self.warm.lock().unwrap_or_else(PoisonError::into_inner);
        let keys: HashSet<Digest> = wanted.iter().map(|(function, _)| function.key).collect();
        let former =
            if keys.is_empty() { warm.remove(app) } else { warm.insert(app.clone(), keys.clone()) }.unwrap_or_default();
        for (function, min) in wanted {
            if *min > 0 {
                // A pool that closes concurrently refuses: look up its successor.
                while self.of(function).is_some_and(|pool| !pool.want(*min as usize)) {}
            } else if let Some(pool) = self.existing(&function.key) {
                pool.want(0);
            }
        }
        for left in former.difference(&keys) {
            if let Some(pool) = self.existing(left) {
                pool.release();
            }
        }
    }

    pub fn warm_up(&self, function: &Arc<Function>, more: usize) {
        // A pool that closes concurrently refuses: look up its successor.
        while self.of(function).is_some_and(|pool| !pool.ask_for(more)) {}
    }

    /// Applies to every binding of a version.
    pub fn let_go(&self, app: &AppName, function: &UnitName, number: i64, most: usize, least: usize) {
        for pool in self.all() {
            let of = &pool.function;
            if of.app == *app && of.name == *function && of.number == number {
                pool.let_go(most, least);
            }
        }
    }

    fn existing(&self, key: &Digest) -> Option<Arc<Pool<E>>> {
        self.map.read().unwrap_or_else(PoisonError::into_inner).pools.get(key).cloned()
    }

    pub fn status(&self, app: &AppName) -> Vec<PoolStatus> {
        let pools = self.all();
        pools.iter().filter(|pool| pool.function.app == *app).map(|pool| pool.status()).collect()
    }

    pub fn packages(&self) -> HashSet<Digest> {
        self.all().iter().map(|pool| pool.function.package).collect()
    }

    /// Lets calls finish until the deadline. Afterwards nothing runs.
    pub async fn stop(&self, deadline: Instant) {
        self.map.write().unwrap_or_else(PoisonError::into_inner).stopping = true;
        let all = join_all(self.all().into_iter().map(|pool| pool.stop(deadline)));
        let mut all = std::pin::pin!(all);
        if tokio::time::timeout_at(deadline, &mut all).await.is_err() {
            self.shared.cut.cancel();
            all.await;
        }
        self.shared.cut.cancel();
    }

    fn all(&self) -> Vec<Arc<Pool<E>>> {
        self.map.read().unwrap_or_else(PoisonError::into_inner).pools.values().cloned().collect()
    }
}

#[cfg(test)]
impl<E: Executor> Pools<E> {
    /// Asserts that at rest every slot of every healthy instance is free exactly once.
    pub fn assert_whole(&self) {
        for pool in self.all() {
            let state = pool.lock();
            assert_eq!(state.free.len(), state.healthy() * state.bounds.concurrency, "a slot is lost, or there twice");
        }
    }
}
