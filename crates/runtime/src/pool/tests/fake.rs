//! An executor whose instances only count, and that records violations of the pool's rules.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use http_body_util::Empty;
use milepost_model::spec::{Runtime, Scale};
use milepost_model::{Clock as _, Digest, SystemClock, Timestamp};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::call::{CallContext, CallError, Ended};
use crate::executor::{
    BodyError, Call, Executor, Failure, Instance, RequestBody, Slot, SlotHome, StartError, StopReason,
};
use crate::function::{Function, SealedValue};
use crate::host::{Host, HostError, LogLine, Package};
use crate::pool::{PoolSettings, Pools, Shared};

#[derive(Default)]
pub struct World {
    pub alive: AtomicUsize,
    pub most_alive: AtomicUsize,
    pub starts: AtomicUsize,
    /// Calls in the order in which they began to run.
    pub begun: Mutex<Vec<String>>,
    pub shared_slots: AtomicUsize,
    /// How many more preparations fail to fetch the code.
    pub unfetched: AtomicUsize,
    /// How many more starts fail.
    pub failing: AtomicUsize,
    /// How many more starts hang forever.
    pub hanging: AtomicUsize,
    /// Instances end as soon as they are ready.
    pub short_lived: AtomicBool,
    pub living: Mutex<Vec<watch::Sender<bool>>>,
    next: AtomicU64,
}

impl World {
    pub fn kill(&self, which: usize) {
        let living = self.living.lock().unwrap();
        if let Some(one) = living.get(which % living.len().max(1)) {
            one.send_replace(true);
        }
    }
}

pub struct Fake(pub Arc<World>);

pub struct FakeInstance {
    id: u64,
    slots: Mutex<Vec<FakeSlot>>,
    ended: watch::Sender<bool>,
    world: Arc<World>,
}

pub struct FakeSlot {
    busy: Arc<AtomicBool>,
    ended: watch::Sender<bool>,
    world: Arc<World>,
}

/// Counts an instance from the beginning of its start until the pool can have noticed its end.
struct Alive(Arc<World>);

impl Alive {
    fn new(world: &Arc<World>) -> Self {
        let now = world.alive.fetch_add(1, Ordering::SeqCst) + 1;
        world.most_alive.fetch_max(now, Ordering::SeqCst);
        Self(world.clone())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Executor for Fake {
    type Prepared = ();
    type Instance = FakeInstance;

    async fn prepare(&self, _: &Arc<Function>) -> Result<(), StartError> {
        let count_down =
            |left: &AtomicUsize| left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if count_down(&self.0.unfetched).is_ok() {
            return Err(StartError::unfetched("the blob store does not answer"));
        }
        Ok(())
    }

    async fn start(&self, function: &Arc<Function>, (): &()) -> Result<FakeInstance, StartError> {
        let alive = Alive::new(&self.0);
        self.0.starts.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(10)).await;
        let count_down =
            |left: &AtomicUsize| left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if count_down(&self.0.hanging).is_ok() {
            std::future::pending::<()>().await;
        }
        if count_down(&self.0.failing).is_ok() {
            return Err(StartError::new("it would not"));
        }
        let ended = watch::Sender::new(false);
        let slot = || FakeSlot { busy: Arc::default(), ended: ended.clone(), world: self.0.clone() };
        let slots = (0..function.scale.concurrency).map(|_| slot()).collect();
        self.0.living.lock().unwrap().push(ended.clone());
        let mut gone = ended.subscribe();
        tokio::spawn(async move {
            let _ = gone.wait_for(|ended| *ended).await;
            drop(alive);
        });
        let id = self.0.next.fetch_add(1, Ordering::SeqCst) + 1;
        if self.0.short_lived.load(Ordering::SeqCst) {
            ended.send_replace(true);
        }
        Ok(FakeInstance { id, slots: Mutex::new(slots), ended, world: self.0.clone() })
    }
}

impl Instance for FakeInstance {
    type Slot = FakeSlot;

    fn id(&self) -> u64 {
        self.id
    }

    fn take_slots(&self) -> Vec<FakeSlot> {
        std::mem::take(&mut self.slots.lock().unwrap())
    }

    fn stop(&self, _: StopReason) {
        self.ended.send_replace(true);
    }

    async fn ended(&self) -> String {
        let _ = self.ended.subscribe().wait_for(|ended| *ended).await;
        // The count must go down before the pool may start another instance.
        tokio::time::sleep(Duration::from_millis(1)).await;
        let own = self.ended.subscribe();
        self.world.living.lock().unwrap().retain(|other| !other.subscribe().same_channel(&own));
        "it was a fake".to_owned()
    }
}

impl Slot for FakeSlot {
    type Body<H: SlotHome<Self>> = FakeBody<H>;

    /// The path selects the behaviour: `/run/MS`, `/stream/MS`, `/break`, `/die`.
    async fn call<B: RequestBody, H: SlotHome<Self>>(
        self,
        call: Call<B>,
        home: H,
    ) -> Result<http::Response<FakeBody<H>>, Failure<B>> {
        if *self.ended.borrow() {
            home.broken(StopReason::Broken);
            return Err(Failure::NotSent(Box::new(call)));
        }
        if self.busy.swap(true, Ordering::SeqCst) {
            self.world.shared_slots.fetch_add(1, Ordering::SeqCst);
        }
        self.world.begun.lock().unwrap().push(call.context.request_id.to_string());
        let path = call.head.uri.path().to_owned();
        let mut parts = path.trim_start_matches('/').split('/');
        let what = parts.next().unwrap_or_default();
        let time = Duration::from_millis(parts.next().and_then(|ms| ms.parse().ok()).unwrap_or(0));
        let mut ended = self.ended.subscribe();
        let running = Guard { parts: Some((self, home)) };
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            () = async { drop(ended.wait_for(|ended| *ended).await) } => return Err(running.crashed().into()),
        }
        match what {
            "stream" => Ok(http::Response::new(FakeBody(Some(running)))),
            "break" => Err(running.crashed().into()),
            "die" => {
                if let Some((slot, _)) = &running.parts {
                    slot.ended.send_replace(true);
                }
                Err(running.crashed().into())
            }
            _ => {
                drop(running);
                Ok(http::Response::new(FakeBody(None)))
            }
        }
    }
}

/// Gives the slot back when dropped. A fake has nothing to drain.
struct Guard<H: SlotHome<FakeSlot>> {
    parts: Option<(FakeSlot, H)>,
}

impl<H: SlotHome<FakeSlot>> Guard<H> {
    fn crashed(mut self) -> CallError {
        if let Some((_, home)) = self.parts.take() {
            home.broken(StopReason::Broken);
        }
        CallError::Crashed { how: Ended::exited("on purpose") }
    }
}

impl<H: SlotHome<FakeSlot>> Drop for Guard<H> {
    fn drop(&mut self) {
        if let Some((slot, home)) = self.parts.take() {
            slot.busy.store(false, Ordering::SeqCst);
            home.give_back(slot);
        }
    }
}

pub struct FakeBody<H: SlotHome<FakeSlot>>(Option<Guard<H>>);

impl<H: SlotHome<FakeSlot>> http_body::Body for FakeBody<H> {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, BodyError>>> {
        self.0 = None;
        Poll::Ready(None)
    }
}

pub struct Quiet;

impl Host for Quiet {
    fn package(&self, _: Digest) -> BoxFuture<'_, Result<Package, HostError>> {
        Box::pin(async { Err(HostError("there are no packages here".to_owned())) })
    }

    fn open_secret(&self, _: &SealedValue) -> Result<String, HostError> {
        Err(HostError("there are no secrets here".to_owned()))
    }

    fn log(&self, _: LogLine) {}

    fn now(&self) -> Timestamp {
        SystemClock.now()
    }
}

pub struct Place {
    pub pools: Arc<Pools<Fake>>,
    pub world: Arc<World>,
    pub function: Arc<Function>,
}

impl Place {
    pub fn new(scale: Scale) -> Self {
        Self::with(scale, |_| {})
    }

    pub fn with(scale: Scale, change: impl FnOnce(&mut PoolSettings)) -> Self {
        let world = Arc::new(World::default());
        let mut settings = PoolSettings {
            queue_per_place: 1000,
            wait: Duration::from_secs(60),
            start: Duration::from_secs(5),
            recycle: u64::MAX,
            keep_for_rollback: Duration::from_secs(3600),
            forget: Duration::from_secs(600),
        };
        change(&mut settings);
        let pools = Pools::new(Shared {
            executor: Fake(world.clone()),
            host: Arc::new(Quiet),
            settings,
            tasks: TaskTracker::new(),
            cut: CancellationToken::new(),
        });
        Self { pools: Arc::new(pools), world, function: function(scale) }
    }

    pub fn call(&self, id: usize, path: &str) -> impl Future<Output = Result<(), CallError>> + Send + 'static {
        let (pools, function) = (self.pools.clone(), self.function.clone());
        let request = http::Request::get(path).body(Empty::new()).unwrap();
        let context = CallContext { request_id: id.to_string().into(), ..CallContext::default() };
        async move {
            let mut response = pools.call(&function, Call::new(request, context)).await?;
            if !http_body::Body::is_end_stream(response.body()) {
                let _ = http_body_util::BodyExt::frame(response.body_mut()).await;
            }
            Ok(())
        }
    }

    pub fn begun(&self) -> Vec<usize> {
        self.world.begun.lock().unwrap().iter().map(|id| id.parse().unwrap()).collect()
    }

    pub fn alive(&self) -> usize {
        self.world.alive.load(Ordering::SeqCst)
    }

    pub fn most_alive(&self) -> usize {
        self.world.most_alive.load(Ordering::SeqCst)
    }

    pub fn starts(&self) -> usize {
        self.world.starts.load(Ordering::SeqCst)
    }
}

pub fn function(scale: Scale) -> Arc<Function> {
    Arc::new(Function {
        key: Digest::of(b"a function"),
        app: "shop".parse().unwrap(),
        name: "hello".parse().unwrap(),
        number: 1,
        uid: "abcdef".to_owned(),
        runtime: Runtime::Python,
        interpreter: String::new(),
        entrypoint: String::new(),
        package: Digest::of(b"a package"),
        variables: std::collections::BTreeMap::default(),
        config: Arc::new(serde_json::Value::Null),
        secrets: Vec::new(),
        configmaps: std::collections::BTreeSet::default(),
        memory: 0,
        cpu: 0,
        timeout: Duration::from_secs(1),
        scale,
    })
}

pub fn scale(max: u32, concurrency: u32) -> Scale {
    Scale { min: 0, max, concurrency, idle_ms: 60_000 }
}

/// Runs everything that happens within `ms` of virtual time.
pub async fn pass(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}
