//! The life cycle of an instance, independent of what runs it.
//!
//! 1. [`Executor::prepare`] runs once per binding, before its first instance, and fetches the code
//!    to this machine (later: compiles a component). It may be slow: calls wait for it in the
//!    pool's queue.
//! 2. [`Executor::start`] makes an instance that is ready for requests. When it fails, the waiting
//!    calls fail with its reason and the next call tries again. Dropping its future leaves nothing
//!    of the instance behind.
//! 3. An [`Instance`] hands out its slots once. A [`Slot`] runs one call at a time. The response
//!    body owns the slot and returns it to the pool at its end, or breaks it. A broken slot makes
//!    the pool stop the instance.
//! 4. [`Instance::stop`] ends it. [`Instance::ended`] completes once nothing of it is left,
//!    whatever ended it.
//!
//! Nothing here mentions processes, sockets or files. The pool calls `start` and `stop` from its
//! own tasks and `call` from the request's task.

use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use milepost_model::spec::Runtime;

use crate::call::{CallContext, CallError, Ended, Thrown};
use crate::function::Function;

pub trait Executor: Send + Sync + 'static {
    type Prepared: Send + Sync + 'static;
    type Instance: Instance;

    fn prepare(&self, function: &Arc<Function>) -> impl Future<Output = Result<Self::Prepared, StartError>> + Send;

    fn start(
        &self,
        function: &Arc<Function>,
        prepared: &Self::Prepared,
    ) -> impl Future<Output = Result<Self::Instance, StartError>> + Send;

    /// Starts ahead what the first functions will need.
    fn start_ahead(&self) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// For a runtime: how much should be there ahead of functions, and how much is.
    fn ahead(&self, _runtime: Runtime) -> (usize, usize) {
        (0, 0)
    }

    /// Returns why this machine cannot run functions of a runtime with the requested interpreter.
    fn lacks(&self, _runtime: Runtime, _asked: &str) -> impl Future<Output = Option<String>> + Send {
        async { None }
    }
}

pub trait Instance: Send + Sync + 'static {
    type Slot: Slot;

    /// For logs and status. Counted from the start of the server.
    fn id(&self) -> u64;

    /// Returns as many slots as the function's concurrency. Works only once.
    fn take_slots(&self) -> Vec<Self::Slot>;

    /// Stops at once, losing running calls. For a graceful stop the pool itself waits for them
    /// first.
    fn stop(&self, reason: StopReason);

    /// Completes once nothing of the instance is left, and returns how it ended.
    fn ended(&self) -> impl Future<Output = String> + Send;
}

pub trait Slot: Send + Sized + 'static {
    /// Generic over the home because a streaming body owns its slot.
    type Body<H: SlotHome<Self>>: http_body::Body<Data = Bytes, Error = BodyError> + Send + Unpin + 'static;

    /// Waits until the slot can answer a call, for executors whose instances start before they are
    /// ready. `Err` means that it never will be.
    fn ready(&mut self) -> impl Future<Output = Result<(), String>> + Send {
        async { Ok(()) }
    }

    /// Runs one call within the function's timeout. The slot goes to `home` before the response is
    /// returned if it is reusable at once. Otherwise it travels inside the body, which hands it to
    /// `home` at its end.
    ///
    /// Dropping the future means that the caller left: the slot goes home if it is reusable, or is
    /// broken.
    fn call<B, H>(
        self,
        call: Call<B>,
        home: H,
    ) -> impl Future<Output = Result<http::Response<Self::Body<H>>, Failure<B>>> + Send
    where
        B: RequestBody,
        H: SlotHome<Self>;
}

/// Where a slot goes when its call is over. Dropping the home without a call means broken.
pub trait SlotHome<S>: Send + Unpin + 'static {
    /// The slot is ready for the next call.
    fn give_back(self, slot: S);
    /// The slot is unusable: the instance hangs, died or violated the protocol.
    fn broken(self, reason: StopReason);
    /// Reports a problem that the caller's status does not fully convey.
    fn report(&self, request: &str, message: &str);
}

/// Requirements on a request body that is sent to an instance.
pub trait RequestBody:
    http_body::Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + Unpin + 'static
{
}

impl<B> RequestBody for B
where
    B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
}

/// A request on its way. It can be sent to a second instance as long as the first has received
/// nothing.
pub struct Call<B> {
    pub head: http::request::Parts,
    pub body: B,
    /// The part of the body that was already read.
    pub first: Option<Bytes>,
    pub context: CallContext,
}

impl<B> Call<B> {
    pub fn new(request: http::Request<B>, context: CallContext) -> Self {
        let (head, body) = request.into_parts();
        Self { head, body, first: None, context }
    }
}

/// Why a slot has no response.
pub enum Failure<B> {
    Failed(CallError),
    /// The instance was dead before anything was sent to it, so the call may run elsewhere.
    NotSent(Box<Call<B>>),
}

impl<B> From<CallError> for Failure<B> {
    fn from(error: CallError) -> Self {
        Self::Failed(error)
    }
}

/// Why a response was cut off after its head.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BodyError {
    #[error("the function sent nothing more for {} s", after.as_secs_f64())]
    TimedOut { after: std::time::Duration },
    #[error("the function's process ended in the middle of its response ({how})")]
    Crashed { how: Ended },
    #[error("the function threw in the middle of its response: {0}")]
    Threw(Thrown),
    #[error("the function sent an invalid response: {problem}")]
    Malformed { problem: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    Idle,
    Recycled,
    TimedOut,
    Broken,
    TooMuchMemory,
    Shutdown,
}

#[derive(Debug, Clone, thiserror::Error)]
#[error("{reason}")]
pub struct StartError {
    pub reason: String,
    /// The process ended before it reported anything about the code.
    pub died: bool,
    /// The code could not be fetched to this machine, so nothing is known about it.
    pub unfetched: bool,
    /// This machine could not run it, whatever the code is: its disk, its memory or its interpreter.
    pub machine: bool,
}

impl StartError {
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), died: false, unfetched: false, machine: false }
    }

    pub fn unfetched(reason: impl Into<String>) -> Self {
        Self { unfetched: true, ..Self::new(reason) }
    }

    pub fn machine(reason: impl Into<String>) -> Self {
        Self { machine: true, ..Self::new(reason) }
    }
}
