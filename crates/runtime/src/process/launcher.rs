//! Starts worker processes and tracks the living ones, to end them and to watch their memory use.

use std::io;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use milepost_model::spec::Runtime;

use super::worker::Worker;
use crate::executor::StopReason;
use crate::machine::Machine;
use crate::sandbox::interpreters::Interpreter;
use crate::sandbox::{JailLimits, JailSpec};

/// Limits of a worker apart from memory and CPU, which the function sets.
const LIMITS: JailLimits = JailLimits { processes: 256, open_files: 1024, file_size: 1 << 30, scratch: 256 << 20 };
/// How often memory is sampled where the kernel does not limit it.
const SAMPLE: Duration = Duration::from_millis(200);
const COMPILE: Duration = Duration::from_secs(20);

pub(crate) struct Launcher {
    machine: Arc<Machine>,
    living: Mutex<Vec<Weak<Worker>>>,
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
    pub fn new(machine: Arc<Machine>) -> Arc<Self> {
        Arc::new(Self { machine, living: Mutex::default() })
    }

    pub fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// Starts an interpreter that waits for `init`, with an empty directory of its own or over a
    /// package.
    pub async fn launch_interpreter(
        &self,
        runtime: Runtime,
        interpreter: &Interpreter,
        package: Option<PathBuf>,
    ) -> io::Result<Arc<Worker>> {
        let folder = self.machine.run_folder().worker(&runtime.to_string());
        let script = |name: &str| folder.join(name).to_string_lossy().into_owned();
        let args = match runtime {
            Runtime::Python => vec!["-I".into(), "-B".into(), "-X".into(), "utf8".into(), script("milepost_worker.py")],
            _ => vec![script("milepost_worker.mjs")],
        };
        let mut readable = interpreter.readable.clone();
        readable.push(folder);
        let env = self.machine.environment.clone();
        self.launch(Launch { program: interpreter.program.clone(), args, env, app_folder: package, readable }).await
    }

    /// Starts an executable of a package that serves HTTP on descriptor 3.
    pub async fn launch_binary(
        &self,
        package: PathBuf,
        program: &str,
        mut env: Vec<(String, String)>,
    ) -> io::Result<Arc<Worker>> {
        let seen = self.machine.jail().app_path(&package);
        env.extend(self.machine.environment.iter().cloned());
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
        if self.machine.is_stopping() {
            return Err(io::Error::other("the server is stopping"));
        }
        let machine = &self.machine;
        let id = machine.next_id();
        let (jail, run, host) = (machine.jail().clone(), machine.run_folder().clone(), machine.host.clone());
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
        machine.spawn(watch);
        self.living.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&worker));
        if machine.is_stopping() {
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
            .arg(self.machine.run_folder().worker("python"))
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        // Only an optimisation, so errors are ignored.
        let _ = tokio::time::timeout(COMPILE, compile.status()).await;
    }

    /// Kills workers that exceed their memory limit, and all of them when the server stops.
    pub async fn watch(self: Arc<Self>) {
        let mut ticks = tokio::time::interval(SAMPLE);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = self.machine.stopping() => break,
            }
            for worker in self.all() {
                worker.kill_if_too_large();
            }
        }
        // A worker that starts from now on is killed by its own start.
        for worker in self.all() {
            worker.kill(StopReason::Shutdown);
        }
    }

    fn all(&self) -> Vec<Arc<Worker>> {
        let mut living = self.living.lock().unwrap_or_else(PoisonError::into_inner);
        living.retain(|worker| worker.upgrade().is_some_and(|worker| !worker.has_ended()));
        living.iter().filter_map(Weak::upgrade).collect()
    }
}
