//! One sandboxed process, from its start until nothing of it is left.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::process::Child;
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::output::Output;
use crate::call::Ended;
use crate::executor::StopReason;
use crate::function::Function;
use crate::sandbox::{JAIL_FAILED, JailHandle, Jailed};

/// How long to wait for the exit status of a process whose connection has closed.
const LAST_WORDS: Duration = Duration::from_secs(1);

pub(crate) struct Worker {
    pub id: u64,
    pub socket: PathBuf,
    /// An empty directory to link a package into. `None` if the package was mounted at the start.
    pub own_folder: Option<PathBuf>,
    pub output: Output,
    pub runtime: Handle,
    handle: JailHandle,
    reason: OnceLock<StopReason>,
    /// The memory limit in bytes, 0 until it is set.
    memory: AtomicU64,
    ended: watch::Sender<Option<Ended>>,
}

impl Worker {
    /// Returns the worker and a future that must be run and ends with the process.
    pub fn new(
        id: u64,
        jailed: Jailed,
        socket: PathBuf,
        own_folder: Option<PathBuf>,
        host: Arc<dyn crate::Host>,
    ) -> (Arc<Self>, impl Future<Output = ()> + Send + 'static) {
        let Jailed { child, stdout, stderr, handle } = jailed;
        let worker = Arc::new(Self {
            id,
            socket,
            own_folder,
            output: Output::new(id, host, stdout, stderr),
            runtime: Handle::current(),
            handle,
            reason: OnceLock::new(),
            memory: AtomicU64::new(0),
            ended: watch::Sender::new(None),
        });
        (worker.clone(), worker.watch(child))
    }

    async fn watch(self: Arc<Self>, mut child: Child) {
        let mut follow = std::pin::pin!(self.output.follow());
        let mut followed = false;
        let status = loop {
            tokio::select! {
                status = child.wait() => break status,
                () = &mut follow, if !followed => followed = true,
            }
        };
        if !followed {
            // No process is left that could write, so only the pipes' remaining content is read.
            let _ = tokio::time::timeout(LAST_WORDS, follow).await;
        }
        let how = self.describe(status.ok());
        self.remove_files().await;
        self.ended.send_replace(Some(how));
    }

    async fn remove_files(&self) {
        let _ = tokio::fs::remove_file(&self.socket).await;
        if let Some(folder) = &self.own_folder {
            let _ = tokio::fs::remove_dir_all(folder).await;
        }
    }

    fn describe(&self, status: Option<ExitStatus>) -> Ended {
        let memory = self.memory.load(Ordering::Relaxed);
        match self.reason.get() {
            Some(StopReason::TooMuchMemory) => return too_much_memory(memory),
            Some(StopReason::TimedOut) => return Ended::exited("it was ended because it took too long"),
            Some(StopReason::Idle) => return Ended::exited("it was put to sleep"),
            Some(StopReason::Recycled) => return Ended::exited("it was replaced after many requests"),
            Some(StopReason::Shutdown) => return Ended::exited("the server is stopping"),
            Some(StopReason::Broken) | None => {}
        }
        if self.handle.ran_out_of_memory() {
            return too_much_memory(memory);
        }
        let Some(status) = status else { return Ended::exited("how is not known") };
        match (status.code(), status.signal()) {
            (Some(code), _) if code == i32::from(JAIL_FAILED) => {
                let said = self.output.aside();
                Ended::exited(if said.is_empty() { format!("exit code {code}") } else { said })
            }
            (Some(code), _) => Ended::exited(format!("exit code {code}")),
            (_, Some(number)) => {
                let signal = Signal::try_from(number);
                let how = signal.map_or_else(|_| format!("signal {number}"), |signal| signal.to_string());
                // A process sends itself other signals, such as SIGABRT.
                Ended { how: format!("killed by {how}"), killed: signal == Ok(Signal::SIGKILL) }
            }
            _ => Ended::exited(status.to_string()),
        }
    }

    /// Assigns the worker to a function: its output and its limits.
    pub fn adopt(&self, function: &Arc<Function>) -> std::io::Result<()> {
        self.output.adopt(function);
        self.memory.store(function.memory, Ordering::Relaxed);
        self.handle.limit(function.memory, function.cpu)
    }

    /// Kills the worker at once.
    pub fn kill(&self, reason: StopReason) {
        let _ = self.reason.set(reason);
        self.handle.kill();
    }

    /// For machines where the kernel does not enforce the memory limit exactly.
    pub fn kill_if_too_large(&self) {
        let memory = self.memory.load(Ordering::Relaxed);
        if memory > 0 && self.handle.memory_used().is_some_and(|used| used > memory) {
            self.kill(StopReason::TooMuchMemory);
        }
    }

    pub fn has_ended(&self) -> bool {
        self.ended.borrow().is_some()
    }

    pub async fn ended(&self) -> Ended {
        let mut ended = self.ended.subscribe();
        match ended.wait_for(Option::is_some).await {
            Ok(how) => how.clone().unwrap_or_default(),
            Err(_) => Ended::default(),
        }
    }

    /// How the worker ended, for a call that lost its connection.
    pub async fn how_it_ended(&self) -> Ended {
        match tokio::time::timeout(LAST_WORDS, self.ended()).await {
            Ok(how) => how,
            Err(_) => Ended::exited("it closed its connection"),
        }
    }

    /// The path of the app's files inside the sandbox.
    pub fn app_path(&self) -> PathBuf {
        self.handle.app_path()
    }

    pub fn own_folder(&self) -> Option<&Path> {
        self.own_folder.as_deref()
    }
}

#[cfg(test)]
impl Worker {
    /// A worker without a process, for tests that play its side of the protocol.
    pub fn played(host: Arc<dyn crate::Host>) -> std::io::Result<Arc<Self>> {
        let (handle, _) = JailHandle::of_nothing()?;
        let (_, stdout) = tokio::net::unix::pipe::pipe()?;
        let (_, stderr) = tokio::net::unix::pipe::pipe()?;
        Ok(Arc::new(Self {
            id: 1,
            socket: PathBuf::new(),
            own_folder: None,
            output: Output::new(1, host, stdout, stderr),
            runtime: Handle::current(),
            handle,
            reason: OnceLock::new(),
            memory: AtomicU64::new(0),
            ended: watch::Sender::new(Some(Ended::exited("it was played"))),
        }))
    }
}

fn too_much_memory(memory: u64) -> Ended {
    Ended::killed(format!("it used more than its {} MiB of memory", memory >> 20))
}

/// Kills a worker that did not become an instance.
pub(crate) struct Starting(Option<Arc<Worker>>);

impl Starting {
    pub fn new(worker: Arc<Worker>) -> Self {
        Self(Some(worker))
    }

    pub fn worker(&self) -> Option<&Arc<Worker>> {
        self.0.as_ref()
    }

    pub fn done(mut self) -> Option<Arc<Worker>> {
        self.0.take()
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        if let Some(worker) = self.0.take() {
            worker.kill(StopReason::Broken);
        }
    }
}
