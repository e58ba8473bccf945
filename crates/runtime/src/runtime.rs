//! The runtime's public interface: functions go to the executors, builds to the machine.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use milepost_model::spec::Runtime as Kind;
use milepost_model::{AppName, Digest, UnitName};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::build::{self, BuildFailure, BuildOrder, BuildRoom};
use crate::call::{CallContext, CallError};
use crate::executor::{Call, RequestBody};
use crate::executors::{Executors, ResponseBody};
use crate::function::Function;
use crate::host::Host;
use crate::machine::Machine;
use crate::pool::PoolStatus;
use crate::sandbox::Ability;
use crate::sandbox::interpreters::{Interpreter, InterpreterError};
use crate::settings::RuntimeSettings;

/// Runs functions and builds. Clones share the same runtime.
#[derive(Clone)]
pub struct Runtime {
    inner: Arc<Inner>,
}

struct Inner {
    machine: Arc<Machine>,
    executors: Executors,
}

impl Runtime {
    /// Detects what the machine supports. Nothing runs before the first call, unless the settings
    /// ask for spares at start.
    pub async fn start(settings: RuntimeSettings, host: Arc<dyn Host>) -> io::Result<Self> {
        let start = move || {
            let machine = Machine::detect(&settings, host)?;
            Ok::<_, io::Error>((Executors::new(&machine, &settings), machine, settings.spares.at_start))
        };
        let (executors, machine, at_start) = tokio::task::spawn_blocking(start).await.map_err(io::Error::other)??;
        let runtime = Self { inner: Arc::new(Inner { machine, executors }) };
        if at_start {
            let ahead = runtime.clone();
            tokio::spawn(async move { ahead.inner.executors.start_ahead().await });
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
        self.inner.executors.call(function, Call::new(request, context)).await
    }

    /// Verifies that an instance of the function starts and becomes ready, without calling it. The
    /// instance stays for the first call.
    pub async fn load(&self, function: &Arc<Function>) -> Result<(), CallError> {
        self.inner.executors.load(function).await
    }

    /// Returns why this machine cannot run a runtime with the requested interpreter version. Blocks
    /// no thread of the async runtime.
    pub async fn lacks_interpreter(&self, runtime: Kind, asked: &str) -> Option<String> {
        self.inner.executors.lacks(runtime, asked).await
    }

    /// Finds the interpreter that functions and builds run with. Blocks until all candidates have
    /// answered.
    pub fn interpreter(&self, runtime: Kind, asked: &str) -> Result<Interpreter, InterpreterError> {
        self.inner.machine.interpreter(runtime, asked)
    }

    /// Sets the bindings that an app's live release, tags and aliases point at, each with its
    /// minimum number of instances. Replaces the app's previous set. A warm binding that is no
    /// longer in the set keeps one instance for a while, for a rollback.
    pub fn keep_warm(&self, app: &AppName, bindings: &[(Arc<Function>, u32)]) {
        self.inner.executors.keep_warm(app, bindings);
    }

    /// Starts `more` instances of a binding, up to the function's `max`, and keeps them for a
    /// while.
    pub fn warm_up(&self, function: &Arc<Function>, more: usize) {
        self.inner.executors.warm_up(function, more);
    }

    /// Stops at most `most` instances of a version, idle ones first, and leaves `least` of each
    /// binding. Running calls finish first.
    pub fn let_go(&self, app: &AppName, function: &UnitName, number: i64, most: usize, least: usize) {
        self.inner.executors.let_go(app, function, number, most, least);
    }

    /// Returns how many spare interpreters there should be, and how many there are.
    pub fn spares(&self, runtime: Kind) -> (usize, usize) {
        self.inner.executors.ahead(runtime)
    }

    pub fn status(&self, app: &AppName) -> Vec<PoolStatus> {
        let mut pools = self.inner.executors.status(app);
        pools.sort_by(|a, b| (&a.function, a.number).cmp(&(&b.function, b.number)));
        pools
    }

    /// The packages of all bindings that have instances, wait for some, or had some a moment ago.
    pub fn packages(&self) -> HashSet<Digest> {
        self.inner.executors.packages()
    }

    /// Creates a directory to build in.
    pub async fn build_room(&self) -> io::Result<BuildRoom> {
        let machine = self.inner.machine.clone();
        tokio::task::spawn_blocking(move || BuildRoom::make(&machine)).await.map_err(io::Error::other)?
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
        build::run(&self.inner.machine, room, order, lines).await
    }

    /// What protects workers on this machine, and what does not and why.
    pub fn abilities(&self) -> Vec<Ability> {
        self.inner.machine.abilities()
    }

    /// Refuses new calls, lets running and waiting ones end within `grace`, then ends all
    /// processes. None is left afterwards.
    pub async fn stop(&self, grace: Duration) {
        self.inner.executors.stop(Instant::now() + grace).await;
        self.inner.machine.stop().await;
    }
}
