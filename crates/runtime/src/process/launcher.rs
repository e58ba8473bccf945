//! Starts worker processes and tracks the living ones, to end them and to watch their memory use.

use std::io;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use milepost_model::spec::Runtime;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::worker::Worker;
use crate::executor::StopReason;
use crate::host::Host;
use crate::run_folder::RunFolder;
use crate::sandbox::interpreters::Interpreter;
use crate::sandbox::{Ability, ClosedPorts, Jail, JailLimits, JailSettings, JailSpec};

/// Limits of a worker apart from memory and CPU, which the function sets.
const LIMITS: JailLimits = JailLimits { processes: 256, open_files: 1024, file_size: 1 << 30, scratch: 256 << 20 };
/// How often memory is sampled where the kernel does not limit it.
const SAMPLE: Duration = Duration::from_millis(200);
const COMPILE: Duration = Duration::from_secs(20);

#[derive(Debug, Clone)]
pub(crate) struct ProcessSettings {
    pub program: PathBuf,
    pub run: PathBuf,
    pub sandbox: bool,
    pub hidden: Vec<PathBuf>,
    pub closed_ports: ClosedPorts,
    pub environment: Vec<(String, String)>,
    pub build_environment: Vec<(String, String)>,
    pub python_spares: usize,
    pub node_spares: usize,
}

pub(crate) struct Launcher {
    pub settings: ProcessSettings,
    pub host: Arc<dyn Host>,
    jail: Arc<Jail>,
    run: Arc<RunFolder>,
    next: AtomicU64,
    living: Mutex<Vec<Weak<Worker>>>,
    /// One task per process, and others that must end before the launcher stops.
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// What to run in a sandbox.
struct Launch {
    program: PathBuf,
    args: Vec<String>,
    env: Vec<(String, String)>,
    /// `None` means a new empty directory.
    app_folder: Option<PathBuf>,
    readable: Vec<PathBuf>,
}

impl Launcher {
    /// Blocks while it detects what the machine supports.
    pub fn new(settings: ProcessSettings, host: Arc<dyn Host>) -> io::Result<Arc<Self>> {
        let run = RunFolder::make(&settings.run)?;
        let jail = Jail::detect(JailSettings {
            program: settings.program.clone(),
            run: run.jail(),
            sandbox: settings.sandbox,
            hidden: settings.hidden.clone(),
            closed_ports: settings.closed_ports.clone(),
        });
        Ok(Arc::new(Self {
            settings,
            host,
            jail: Arc::new(jail),
            run: Arc::new(run),
            next: AtomicU64::new(1),
            living: Mutex::default(),
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

    /// A unique number. It determines the worker's user id and the names of its files.
    pub fn next_id(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    pub fn abilities(&self) -> Vec<Ability> {
        self.jail.abilities()
    }

    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }

    pub async fn stopping(&self) {
        self.stop.cancelled().await;
    }

    /// Starts an interpreter that waits for `init`, with an empty directory of its own or over a
    /// package.
    pub async fn launch_interpreter(
        &self,
        runtime: Runtime,
        interpreter: &Interpreter,
        package: Option<PathBuf>,
    ) -> io::Result<Arc<Worker>> {
        let folder = self.run.worker(&runtime.to_string());
        let script = |name: &str| folder.join(name).to_string_lossy().into_owned();
        let args = match runtime {
            Runtime::Python => vec!["-I".into(), "-B".into(), "-X".into(), "utf8".into(), script("milepost_worker.py")],
            _ => vec![script("milepost_worker.mjs")],
        };
        let mut readable = interpreter.readable.clone();
        readable.push(folder);
        let env = self.settings.environment.clone();
        self.launch(Launch { program: interpreter.program.clone(), args, env, app_folder: package, readable }).await
    }

    /// Starts an executable of a package that serves HTTP on descriptor 3.
    pub async fn launch_binary(
        &self,
        package: PathBuf,
        program: &str,
        mut env: Vec<(String, String)>,
    ) -> io::Result<Arc<Worker>> {
        let seen = self.jail.app_path(&package);
        env.extend(self.settings.environment.iter().cloned());
        env.push(("LISTEN_FDS".to_owned(), "1".to_owned()));
        if seen != package {
            // In a sandbox the worker is the first child of pid 1. Elsewhere its pid cannot be
            // known in advance.
            env.push(("LISTEN_PID".to_owned(), "2".to_owned()));
        }
        let program = seen.join(program);
        self.launch(Launch { program, args: Vec::new(), env, app_folder: Some(package), readable: Vec::new() }).await
    }

    async fn launch(&self, launch: Launch) -> io::Result<Arc<Worker>> {
        if self.stop.is_cancelled() {
            return Err(io::Error::other("the server is stopping"));
        }
        let id = self.next_id();
        let (jail, run, host) = (self.jail.clone(), self.run.clone(), self.host.clone());
        // Starting a process blocks a thread for a millisecond or more.
        let started = tokio::task::spawn_blocking(move || {
            let own_folder = match launch.app_folder {
                Some(_) => None,
                None => Some(run.app(id)?),
            };
            let socket = run.socket(id);
            let listener = UnixListener::bind(&socket)?;
            let spec = JailSpec {
                program: launch.program,
                args: launch.args,
                env: launch.env,
                app_folder: launch.app_folder.or(own_folder.clone()).unwrap_or_default(),
                readable: launch.readable,
                writable: None,
                limits: LIMITS,
                instance: id,
            };
            let jailed = jail.start(&spec, listener)?;
            Ok::<_, io::Error>(Worker::new(id, jailed, socket, own_folder, host))
        });
        let (worker, watch) = started.await.map_err(io::Error::other)??;
        self.tasks.spawn(watch);
        self.living.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&worker));
        if self.stop.is_cancelled() {
            worker.kill(StopReason::Shutdown);
        }
        Ok(worker)
    }

    /// Precompiles the Python worker's modules for a faster start, because a worker cannot write
    /// next to them.
    pub async fn compile_workers(&self, runtime: Runtime, interpreter: &Interpreter) {
        if runtime != Runtime::Python {
            return;
        }
        let mut compile = tokio::process::Command::new(&interpreter.program);
        compile
            .args(["-I", "-m", "compileall", "-q"])
            .arg(self.run.worker("python"))
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        // Only an optimisation, so errors are ignored.
        let _ = tokio::time::timeout(COMPILE, compile.status()).await;
    }

    /// Kills workers that exceed their memory limit. Runs until the server stops.
    pub async fn watch_memory(self: Arc<Self>) {
        let mut ticks = tokio::time::interval(SAMPLE);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = self.stop.cancelled() => return,
            }
            for worker in self.all() {
                worker.kill_if_too_large();
            }
        }
    }

    fn all(&self) -> Vec<Arc<Worker>> {
        let mut living = self.living.lock().unwrap_or_else(PoisonError::into_inner);
        living.retain(|worker| worker.upgrade().is_some_and(|worker| !worker.has_ended()));
        living.iter().filter_map(Weak::upgrade).collect()
    }

    /// Ends every process and waits until nothing is left.
    pub async fn stop(&self) {
        self.stop.cancel();
        for worker in self.all() {
            worker.kill(StopReason::Shutdown);
        }
        self.tasks.close();
        self.tasks.wait().await;
        let run = self.run.clone();
        let _ = tokio::task::spawn_blocking(move || run.remove()).await;
    }
}
