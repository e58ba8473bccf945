//! Implements what the gateway and the runtime need from the server.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use milepost_blobs::{BlobError, Location, PackName};
use milepost_gateway::view::AppView;
use milepost_gateway::{Backend, CallContext, CallFailure, CallScope, FileRef, LoadFailure, RequestBody};
use milepost_model::{AppName, Clock, Digest, Timestamp};
use milepost_runtime::{CallError, Function, HostError, LogLine, Package, ResponseBody, Runtime, SealedValue};
use tokio::sync::{OwnedMutexGuard, Semaphore};

use super::file_trees::FileTrees;
use super::history::History;
use super::packages::Packages;
use super::tokens::{self, Tokens};
use super::views::AppMemory;
use crate::error::{ApiResult, internal};
use crate::keyring::Keyring;
use crate::logs::Logs;
use crate::state::Store;

/// Below the number of the pool's connections.
const READS: usize = 8;

/// The server's side of the data plane.
pub(crate) struct Plane {
    pub(super) store: Store,
    pub(super) keyring: Arc<Keyring>,
    pub(super) clock: Arc<dyn Clock>,
    pub(crate) runtime: Runtime,
    pub(super) trees: FileTrees,
    pub(super) packages: Arc<Packages>,
    pub(crate) tokens: Tokens,
    pub(crate) history: History,
    /// Bounds how many apps are read at once, to leave connections to others. Not held while files
    /// are waited for.
    pub(super) reads: Semaphore,
    /// State kept for each app between two views. Its lock serializes refreshes of the app.
    apps: Mutex<HashMap<AppName, Arc<tokio::sync::Mutex<AppMemory>>>>,
}

impl Plane {
    pub(crate) fn new(store: Store, keyring: Arc<Keyring>, runtime: Runtime, packages: Arc<Packages>) -> Self {
        Self {
            clock: Arc::clone(store.catalog.clock()),
            store,
            keyring,
            runtime,
            trees: FileTrees::default(),
            packages,
            tokens: Tokens::default(),
            history: History::default(),
            reads: Semaphore::new(READS),
            apps: Mutex::default(),
        }
    }

    /// Locks the app's state. No other task refreshes the app while it is held.
    pub(super) async fn memory(&self, app: &AppName) -> OwnedMutexGuard<AppMemory> {
        loop {
            let memory = Arc::clone(self.apps().entry(app.clone()).or_default());
            let held = Arc::clone(&memory).lock_owned().await;
            // If the state was removed during the wait, other tasks use a newer one by now.
            if self.apps().get(app).is_some_and(|current| Arc::ptr_eq(current, &memory)) {
                return held;
            }
        }
    }

    /// Removes the state of a deleted app. The caller must hold its lock.
    pub(super) fn forget(&self, app: &AppName) {
        self.apps().remove(app);
    }

    /// Removes unused packages from the local disk.
    pub(crate) async fn sweep_packages(&self, unused: Duration) -> ApiResult<u64> {
        let swept = self.packages.sweep(unused, || self.runtime.packages()).await;
        swept.map_err(|error| internal(&error))
    }

    fn apps(&self) -> MutexGuard<'_, HashMap<AppName, Arc<tokio::sync::Mutex<AppMemory>>>> {
        self.apps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Implements the runtime's callbacks into the server.
pub(crate) struct Host {
    pub packages: Arc<Packages>,
    pub keyring: Arc<Keyring>,
    pub logs: Arc<Logs>,
    pub clock: Arc<dyn Clock>,
}

impl milepost_runtime::Host for Host {
    fn package(&self, root: Digest) -> BoxFuture<'_, Result<Package, HostError>> {
        Box::pin(self.packages.get(root))
    }

    fn open_secret(&self, secret: &SealedValue) -> Result<String, HostError> {
        let name = &secret.name;
        if secret.sealed.is_empty() {
            let problem = format!("the secret {name} is not set in this release");
            return Err(HostError(problem));
        }
        self.keyring
            .open_sealed(&secret.sealed)
            .ok_or_else(|| HostError(format!("the secret {name} cannot be opened with this server's key")))
    }

    fn log(&self, line: LogLine) {
        self.logs.push(line);
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

impl Backend for Plane {
    type Function = Function;
    type Body = ResponseBody;

    async fn call(
        &self,
        function: &Arc<Function>,
        request: http::Request<RequestBody>,
        context: CallContext,
    ) -> Result<http::Response<ResponseBody>, CallFailure> {
        let context = milepost_runtime::CallContext {
            request_id: context.request_id,
            release: context.release,
            client: context.client,
            route: context.route,
            params: context.params,
            call_token: context.call_token,
            patience: None,
        };
        self.runtime.call(function, request, context).await.map_err(|error| failure(&error))
    }

    async fn read(&self, file: &FileRef) -> std::io::Result<Bytes> {
        self.store.blobs.read(&place(file), file.digest).await.map_err(io_error)
    }

    async fn stream(
        &self,
        file: &FileRef,
        range: Range<u64>,
    ) -> std::io::Result<BoxStream<'static, std::io::Result<Bytes>>> {
        let stream = self.store.blobs.stream(&place(file), Some(range)).await.map_err(io_error)?;
        Ok(stream.map(|chunk| chunk.map_err(io_error)).boxed())
    }

    async fn load(&self, app: &str) -> Result<Option<Arc<AppView<Function>>>, LoadFailure> {
        let Ok(app) = app.parse::<AppName>() else { return Ok(None) };
        self.view(&app).await.map_err(|error| LoadFailure(error.0.message))
    }

    fn may_invoke(&self, app: &str, token: &str) -> Option<bool> {
        self.tokens.may_invoke(app, token)
    }

    fn open_call_token(&self, token: &str) -> Option<CallScope> {
        tokens::open_call_token(&self.keyring, token, &*self.clock)
    }

    fn make_call_token(&self, app: &str, release: &str) -> Box<str> {
        tokens::make_call_token(&self.keyring, app, release, self.clock.now())
    }
}

fn failure(error: &CallError) -> CallFailure {
    let retry_after = if let CallError::Busy { retry_after, .. } = error { Some(*retry_after) } else { None };
    CallFailure { status: error.status(), code: error.code(), message: told(error), retry_after }
}

/// The message for callers, who may be anyone. The function's own texts, such as exceptions, appear
/// only in its log.
fn told(error: &CallError) -> String {
    match error {
        CallError::Threw(_) => "The function failed.".to_owned(),
        CallError::NotReady { .. } | CallError::NotFetched { .. } | CallError::NotStarted { .. } => {
            "No instance of the function became ready.".to_owned()
        }
        CallError::Malformed { .. } => "The function returned an invalid response.".to_owned(),
        CallError::Busy { .. }
        | CallError::TimedOut { .. }
        | CallError::Crashed { .. }
        | CallError::RequestBody { .. }
        | CallError::Stopping => error.to_string(),
    }
}

fn place(file: &FileRef) -> Location {
    Location { pack: PackName::from_bytes(file.pack), offset: file.offset, size: file.size }
}

fn io_error(error: BlobError) -> std::io::Error {
    tracing::error!(error = &error as &dyn std::error::Error, "a file could not be read");
    std::io::Error::other(error)
}
