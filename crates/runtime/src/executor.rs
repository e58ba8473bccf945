//! The life of an instance, whatever runs it.
//!
//! 1. [`Executor::prepare`] runs once for a binding, before its first instance: code is brought to this machine (later:
//!    a component is compiled). It may be slow; calls wait for it in the pool's queue.
//! 2. [`Executor::start`] makes an instance that is ready to run requests. When it fails, the calls that wait for it fail
//!    with its reason and the next call tries again. When its future is dropped, nothing of the instance is left.
//! 3. An [`Instance`] gives its slots out once. A [`Slot`] runs one call at a time; the response's body owns the slot and
//!    gives it back to the pool when it ends, or breaks it. A broken slot makes the pool stop the instance.
//! 4. [`Instance::stop`] ends it. [`Instance::ended`] completes when nothing of it is left, whoever ended it.
//!
//! Nothing here speaks of processes, sockets or files. The pool calls `start` and `stop` from tasks of its own and `call`
//! from the task of the request.

use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;

use crate::call::{CallContext, CallError};
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
}

pub trait Instance: Send + Sync + 'static {
    type Slot: Slot;

    /// For logs and status: counted from the start of the server.
    fn id(&self) -> u64;

    /// As many as the function's concurrency, once.
    fn take_slots(&self) -> Vec<Self::Slot>;

    /// At once: what runs on it is lost. The pool waits for running calls itself when it wants a gentle end.
    fn stop(&self, reason: StopReason);

    /// How it ended, once nothing of it is left.
    fn ended(&self) -> impl Future<Output = String> + Send;
}

pub trait Slot: Send + Sized + 'static {
    /// Knows the home, since a body that is still coming has the slot inside it.
    type Body<H: SlotHome<Self>>: http_body::Body<Data = Bytes, Error = BodyError> + Send + Unpin + 'static;

    /// Waits until a call could be answered, where a started instance is not known to be that far. `Err`: it never will be.
    fn ready(&mut self) -> impl Future<Output = Result<(), String>> + Send {
        async { Ok(()) }
    }

    /// Runs one call, within the function's timeout. The slot goes to `home` before the response comes back when it
    /// can be used again at once, or travels inside the body, which hands it to `home` at its end.
    ///
    /// Dropping the future means that the caller left: the slot goes home when it can be used again, or is broken.
    fn call<B, H>(
        self,
        call: Call<B>,
        home: H,
    ) -> impl Future<Output = Result<http::Response<Self::Body<H>>, Failure<B>>> + Send
    where
        B: RequestBody,
        H: SlotHome<Self>;
}

/// Where a slot goes when its call is over. Dropping it without a word means broken.
pub trait SlotHome<S>: Send + Unpin + 'static {
    /// Ready for the next call.
    fn give_back(self, slot: S);
    /// Not usable any more: the instance hangs, died, or spoke nonsense.
    fn broken(self, reason: StopReason);
    /// Something went wrong that the caller's status does not tell in full.
    fn report(&self, request: &str, message: &str);
}

/// What a body must be to travel to an instance.
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

/// A request on its way. It can go to a second instance as long as nothing of it has reached the first.
pub struct Call<B> {
    pub head: http::request::Parts,
    pub body: B,
    /// What was read of the body already.
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

/// Why a response was cut after its head.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BodyError {
    #[error("the function sent nothing more for {} s", after.as_secs_f64())]
    TimedOut { after: std::time::Duration },
    #[error("the function's process ended in the middle of its response ({how})")]
    Crashed { how: String },
    #[error("the function threw in the middle of its response: {message}")]
    Threw { message: String },
    #[error("the function broke its response: {problem}")]
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
    /// The process ended before it said anything about the code.
    pub died: bool,
    /// The code could not be brought to this machine, which says nothing about it.
    pub unfetched: bool,
}

impl StartError {
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), died: false, unfetched: false }
    }

    pub fn unfetched(reason: impl Into<String>) -> Self {
        Self { unfetched: true, ..Self::new(reason) }
    }
}
