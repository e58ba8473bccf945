//! The runtime's public interface. Chooses the executor of a function.

use std::collections::HashSet;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use milepost_model::spec::{Runtime as Kind, STDIO};
use milepost_model::{AppName, Digest, UnitName};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::build::{self, BuildFailure, BuildOrder, BuildRoom};
use crate::call::{CallContext, CallError};
use crate::executor::{BodyError, Call, RequestBody};
use crate::function::Function;
use crate::host::Host;
use crate::pool::{BodyOf, PoolSettings, PoolStatus, Pools, Shared};
use crate::process::{ProcessExecutor, ProcessSettings};
use crate::sandbox::Ability;
use crate::sandbox::interpreters::{Interpreter, InterpreterError};
use crate::settings::RuntimeSettings;

/// Runs functions. Clones share the same runtime.
#[derive(Clone)]
pub struct Runtime {
    inner: Arc<Inner>,
}

struct Inner {
    process: Pools<ProcessExecutor>,
}

impl Runtime {
    /// Detects what the machine supports. Nothing runs before the first call, unless the settings
    /// ask for spares at start.
    pub async fn start(settings: RuntimeSettings, host: Arc<dyn Host>) -> io::Result<Self> {
        let process = ProcessSettings {
            program: settings.program,
            run: settings.run,
            sandbox: settings.sandbox,
            hidden: settings.hidden,
            closed_ports: settings.closed_ports,
            environment: settings.environment,
            build_environment: settings.build_environment,
            python_spares: settings.spares.python,
            node_spares: settings.spares.node,
        };
        let for_executor = host.clone();
        let executor = tokio::task::spawn_blocking(move || ProcessExecutor::new(process, for_executor))
            .await
            .map_err(io::Error::other)??;
        let pools = PoolSettings {
            queue_per_place: settings.queue_per_place,
            wait: settings.wait,
            start: settings.start,
            recycle: settings.recycle,
            keep_for_rollback: settings.keep_for_rollback,
            forget: settings.forget,
        };
        let process = Pools::new(Shared {
            executor,
            host,
            settings: pools,
            tasks: TaskTracker::new(),
            cut: CancellationToken::new(),
        });
        let runtime = Self { inner: Arc::new(Inner { process }) };
        if settings.spares.at_start {
            let ahead = runtime.clone();
            tokio::spawn(async move {
                for kind in [Kind::Python, Kind::Node] {
                    ahead.inner.process.executor().start_spares(kind).await;
                }
            });
        }
        Ok(runtime)
    }

    /// Runs one call. The response body holds the instance until its end. Dropping it early signals
    /// the function that its caller left.
    pub async fn call<B: RequestBody>(
        &self,
        function: &Arc<Function>,
        request: http::Request<B>,
        context: CallContext,
    ) -> Result<http::Response<ResponseBody>, CallError> {
        match function.runtime {
            Kind::Python | Kind::Node | Kind::Binary => {
                let response = self.inner.process.call(function, Call::new(request, context)).await?;
                Ok(response.map(ResponseBody))
            }
            Kind::Wasm => Err(CallError::NotReady { reason: "this server does not run wasm functions yet".to_owned() }),
        }
    }

    /// Verifies that an instance of the function starts and becomes ready, without calling it. The
    /// instance stays for the first call.
    pub async fn load(&self, function: &Arc<Function>) -> Result<(), CallError> {
        match function.runtime {
            Kind::Python | Kind::Node | Kind::Binary => self.inner.process.load(function).await,
            Kind::Wasm => Err(CallError::NotReady { reason: "this server does not run wasm functions yet".to_owned() }),
        }
    }

    /// Returns why this machine cannot run a runtime with the requested interpreter version. Blocks
    /// no thread of the async runtime.
    pub async fn lacks_interpreter(&self, runtime: Kind, asked: &str) -> Option<String> {
        let (runtime, asked) = match (runtime, asked) {
            (Kind::Python | Kind::Node, _) => (runtime, asked.to_owned()),
            // The Python worker starts these programs.
            (Kind::Binary, STDIO) => (Kind::Python, String::new()),
            (Kind::Binary, "") | (Kind::Wasm, _) => return None,
            (Kind::Binary, _) => {
                return Some(format!(
                    "a binary has no interpreter `{asked}`: leave it out for a program that serves HTTP, or use `{STDIO}`"
                ));
            }
        };
        let own = self.clone();
        let found = tokio::task::spawn_blocking(move || own.interpreter(runtime, &asked)).await;
        found.ok()?.err().map(|error| error.to_string())
    }

    /// Finds the interpreter that functions and builds run with. Blocks until all candidates have
    /// answered.
    pub fn interpreter(&self, runtime: Kind, asked: &str) -> Result<Interpreter, InterpreterError> {
        self.inner.process.executor().launcher().jail().interpreter(runtime, asked)
    }

    /// Sets the bindings that an app's live release, tags and aliases point at, each with its
    /// minimum number of instances. Replaces the app's previous set. A warm binding that is no
    /// longer in the set keeps one instance for a while, for a rollback.
    pub fn keep_warm(&self, app: &AppName, bindings: &[(Arc<Function>, u32)]) {
        let mut processes = bindings.to_vec();
        processes.retain(|(function, _)| function.runtime != Kind::Wasm);
        self.inner.process.keep_warm(app, &processes);
    }

    /// Starts `more` instances of a binding, up to the function's `max`, and keeps them for a
    /// while.
    pub fn warm_up(&self, function: &Arc<Function>, more: usize) {
        if function.runtime != Kind::Wasm {
            self.inner.process.warm_up(function, more);
        }
    }

    /// Stops at most `most` instances of a version, idle ones first, and leaves `least` of each
    /// binding. Running calls finish first.
    pub fn let_go(&self, app: &AppName, function: &UnitName, number: i64, most: usize, least: usize) {
        self.inner.process.let_go(app, function, number, most, least);
    }

    /// Returns how many spare interpreters there should be, and how many there are.
    pub fn spares(&self, runtime: Kind) -> (usize, usize) {
        self.inner.process.executor().count_spares(runtime)
    }

    pub fn status(&self, app: &AppName) -> Vec<PoolStatus> {
        let mut pools = self.inner.process.status(app);
        pools.sort_by(|a, b| (&a.function, a.number).cmp(&(&b.function, b.number)));
        pools
    }

    /// The packages of all bindings that have instances, wait for some, or had some a moment ago.
    pub fn packages(&self) -> HashSet<Digest> {
        self.inner.process.packages()
    }

    /// Creates a directory to build in.
    pub async fn build_room(&self) -> io::Result<BuildRoom> {
        let launcher = self.inner.process.executor().launcher().clone();
        tokio::task::spawn_blocking(move || BuildRoom::make(&launcher)).await.map_err(io::Error::other)?
    }

    /// Runs the command of a build. `SRC_PKG` is the room's source and the working directory,
    /// `DEPLOY_PKG` does not exist yet. After `Ok` the room has a result. The command's output goes
    /// to `lines`, whose receiver sets the pace. Dropping the future ends every process of the
    /// build.
    pub async fn build(
        &self,
        room: &BuildRoom,
        order: BuildOrder,
        lines: mpsc::Sender<String>,
    ) -> Result<(), BuildFailure> {
        build::run(self.inner.process.executor().launcher(), room, order, lines).await
    }

    /// What protects workers on this machine, and what does not and why.
    pub fn abilities(&self) -> Vec<Ability> {
        self.inner.process.executor().abilities()
    }

    /// Refuses new calls, lets running and waiting ones end within `grace`, then ends all workers.
    /// No worker is left afterwards.
    pub async fn stop(&self, grace: Duration) {
        self.inner.process.stop(Instant::now() + grace).await;
        self.inner.process.executor().stop().await;
    }
}

/// A function's response body, streamed.
pub struct ResponseBody(BodyOf<ProcessExecutor>);

impl http_body::Body for ResponseBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        Pin::new(&mut self.0).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}
