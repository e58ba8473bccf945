//! The life of an instance, whatever runs it.
//!
//! 1. [`Executor::prepare`] runs once for a binding, before its first instance: code is brought to this machine (later:
//!    a component is compiled). It may be slow; calls wait for it in the pool's queue.
//! 2. [`Executor::start`] makes an instance that is ready to run requests. When it fails, the calls that wait for it fail
//!    with its reason and the next call tries again.
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

pub trait Slot: Send + 'static {
    type Body: http_body::Body<Data = Bytes> + Send + 'static;

    /// Runs one call. The slot comes back with the outcome when it can be used again at once, or travels inside the
    /// body, which hands it to `home` at its end.
    fn call<B>(
        self,
        request: http::Request<B>,
        context: CallContext,
        home: impl SlotHome<Self>,
    ) -> impl Future<Output = Result<http::Response<Self::Body>, CallError>> + Send
    where
        B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: std::fmt::Display,
        Self: Sized;
}

/// Where a slot goes when its call is over.
pub trait SlotHome<S>: Send + 'static {
    /// Ready for the next call.
    fn give_back(self, slot: S);
    /// Not usable any more: the instance hangs, died, or spoke nonsense.
    fn broken(self, reason: StopReason);
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
}
