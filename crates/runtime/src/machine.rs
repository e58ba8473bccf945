//! What every process of the runtime needs: the sandbox, the directory at run time, numbers and the
//! tasks that end with the server. Executors and builds start their processes on it, and know
//! nothing of each other.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use milepost_model::spec::Runtime;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::host::Host;
use crate::run_folder::RunFolder;
use crate::sandbox::interpreters::{Interpreter, InterpreterError};
use crate::sandbox::{Ability, Jail, JailSettings};
use crate::settings::RuntimeSettings;

pub(crate) struct Machine {
    pub host: Arc<dyn Host>,
    /// Environment variables of every worker.
    pub environment: Vec<(String, String)>,
    /// Additional environment variables of builds.
    pub build_environment: Vec<(String, String)>,
    jail: Arc<Jail>,
    run: Arc<RunFolder>,
    next: AtomicU64,
    /// One task per process, and others that must end before the server does.
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Machine {
    /// Blocks while it detects what the machine supports.
    pub fn detect(settings: &RuntimeSettings, host: Arc<dyn Host>) -> io::Result<Arc<Self>> {
        let run = RunFolder::make(&settings.run)?;
        let jail = Jail::detect(JailSettings {
            program: settings.program.clone(),
            run: run.jail(),
            sandbox: settings.sandbox,
            hidden: settings.hidden.clone(),
            closed_ports: settings.closed_ports.clone(),
        });
        Ok(Arc::new(Self {
            host,
            environment: settings.environment.clone(),
            build_environment: settings.build_environment.clone(),
            jail: Arc::new(jail),
            run: Arc::new(run),
            next: AtomicU64::new(1),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        }))
    }

    pub fn jail(&self) -> &Arc<Jail> {
        &self.jail
    }

    pub fn run_folder(&self) -> &Arc<RunFolder> {
        &self.run
    }

    /// A unique number. It determines a process's user id and the names of its files.
    pub fn next_id(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Blocks until all candidates have answered.
    pub fn interpreter(&self, runtime: Runtime, asked: &str) -> Result<Interpreter, InterpreterError> {
        self.jail.interpreter(runtime, asked)
    }

    pub fn abilities(&self) -> Vec<Ability> {
        self.jail.abilities()
    }

    /// Runs a task that [`Self::stop`] waits for.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }

    pub fn is_stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Completes when the server stops. Tasks end their processes then.
    pub async fn stopping(&self) {
        self.stop.cancelled().await;
    }

    /// Waits until no process and no task is left, and removes the directory.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        let run = self.run.clone();
        let _ = tokio::task::spawn_blocking(move || run.remove()).await;
    }
}
