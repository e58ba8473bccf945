//! Makes instances: takes a spare interpreter or starts one, and gives it the function's files and
//! settings.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use milepost_model::spec::{Runtime, STDIO};
use tokio::net::UnixStream;

use super::frame_slot::FrameSlot;
use super::handshake::make_ready;
use super::http_slot::HttpSlot;
use super::launcher::Launcher;
use super::link::{MOST_FILES, link_tree};
use super::spares::Spares;
use super::worker::{Starting, Worker};
use super::{ProcessInstance, ProcessSlot};
use crate::executor::{Executor, StartError};
use crate::function::Function;
use crate::host::Package;
use crate::machine::Machine;
use crate::sandbox::interpreters::Interpreter;
use crate::settings::{RuntimeSettings, Spares as SpareCounts};

/// The default entrypoint of a binary.
const BINARY: &str = "main";

/// How many spares may die while they load a function before the function is blamed.
const TRIES_WITH_SPARES: u32 = 3;

pub(crate) struct ProcessExecutor {
    launcher: Arc<Launcher>,
    counts: SpareCounts,
    spares: Mutex<HashMap<PathBuf, Arc<Spares>>>,
}

pub(crate) enum Prepared {
    Interpreted { package: Package, interpreter: Interpreter, spares: Arc<Spares> },
    Binary { package: Package, program: String },
}

impl ProcessExecutor {
    pub fn new(machine: &Arc<Machine>, settings: &RuntimeSettings) -> Self {
        let launcher = Launcher::new(machine.clone());
        machine.spawn(launcher.clone().watch());
        Self { launcher, counts: settings.spares, spares: Mutex::default() }
    }

    async fn find(&self, runtime: Runtime, asked: String) -> Result<Interpreter, StartError> {
        let machine = self.launcher.machine().clone();
        tokio::task::spawn_blocking(move || machine.interpreter(runtime, &asked))
            .await
            .map_err(|error| StartError::machine(error.to_string()))?
            .map_err(|error| StartError::machine(error.to_string()))
    }

    fn spares_of(&self, runtime: Runtime, interpreter: &Interpreter) -> Arc<Spares> {
        let mut all = self.spares.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(spares) = all.get(&interpreter.program) {
            return spares.clone();
        }
        let count = if runtime == Runtime::Python { self.counts.python } else { self.counts.node };
        let spares = Arc::new(Spares::new(runtime, interpreter.clone(), count));
        all.insert(interpreter.program.clone(), spares.clone());
        if count > 0 {
            self.launcher.machine().spawn(spares.clone().keep(self.launcher.clone()));
        }
        spares
    }

    /// Returns a worker that sees the package's files.
    async fn worker_with(
        &self,
        runtime: Runtime,
        package: &Package,
        interpreter: &Interpreter,
        spares: &Spares,
    ) -> Result<Starting, StartError> {
        let spare = if package.files <= MOST_FILES { spares.take() } else { None };
        let Some(spare) = spare.map(Starting::new) else {
            let started = self.launcher.launch_interpreter(runtime, interpreter, Some(package.folder.clone())).await;
            return started.map(Starting::new).map_err(|error| StartError::machine(no_process(&error)));
        };
        if let Some(own) = spare.worker().and_then(|worker| worker.own_folder()).map(Path::to_owned) {
            let from = package.folder.clone();
            tokio::task::spawn_blocking(move || link_tree(&from, &own))
                .await
                .map_err(io::Error::other)
                .flatten()
                .map_err(|error| StartError::machine(format!("its files could not be put in place: {error}")))?;
        }
        Ok(spare)
    }

    async fn start_interpreted(
        &self,
        function: &Arc<Function>,
        package: &Package,
        interpreter: &Interpreter,
        spares: &Spares,
    ) -> Result<ProcessInstance, StartError> {
        let secrets = self.open_secrets(function)?;
        let (mut worker, mut starting, mut first);
        let mut tries = 0;
        loop {
            worker = self.bounded_worker(function, package, interpreter, spares).await?;
            starting = Starting::new(worker.clone());
            first = make_ready(&worker, function, &secrets).await;
            tries += 1;
            // A spare that was killed from outside may have looked alive when it was taken. That is
            // not the function's fault.
            let was_spare = worker.own_folder().is_some();
            if tries < TRIES_WITH_SPARES && was_spare && first.as_ref().is_err_and(|error| error.died) {
                continue;
            }
            break;
        }
        let first = first?;
        let mut slots = vec![frame_slot(first, &worker, function)];
        for _ in 1..function.scale.concurrency {
            let next = UnixStream::connect(&worker.socket).await.map_err(cannot_start)?;
            slots.push(frame_slot(next, &worker, function));
        }
        starting.done();
        Ok(ProcessInstance::new(worker, slots))
    }

    /// Takes the next spare if one has died since it was looked at.
    async fn bounded_worker(
        &self,
        function: &Arc<Function>,
        package: &Package,
        interpreter: &Interpreter,
        spares: &Spares,
    ) -> Result<Arc<Worker>, StartError> {
        loop {
            let starting = self.worker_with(worker_of(function).0, package, interpreter, spares).await?;
            let Some(worker) = starting.worker() else { continue };
            match bound(worker, function) {
                Err(_) if worker.own_folder().is_some() => {}
                Err(error) => return Err(error),
                Ok(()) => {
                    if let Some(worker) = starting.done() {
                        return Ok(worker);
                    }
                }
            }
        }
    }

    async fn start_binary(
        &self,
        function: &Arc<Function>,
        package: &Package,
        program: &str,
    ) -> Result<ProcessInstance, StartError> {
        let mut env: Vec<_> = function.variables.clone().into_iter().collect();
        env.extend(self.open_secrets(function)?);
        for (name, value) in [
            ("MILEPOST_APP", function.app.to_string()),
            ("MILEPOST_FUNCTION", function.name.to_string()),
            ("MILEPOST_VERSION", function.number.to_string()),
            ("MILEPOST_CONFIG", function.config.to_string()),
        ] {
            env.push((name.to_owned(), value));
        }
        let worker = self.launcher.launch_binary(package.folder.clone(), program, env).await.map_err(cannot_start)?;
        let starting = Starting::new(worker.clone());
        bound(&worker, function)?;
        let slots = (0..function.scale.concurrency.max(1))
            .map(|_| ProcessSlot::Http(Box::new(HttpSlot::new(worker.clone(), function.timeout))))
            .collect();
        starting.done();
        Ok(ProcessInstance::new(worker, slots))
    }

    fn open_secrets(&self, function: &Function) -> Result<BTreeMap<String, String>, StartError> {
        let open = |secret: &crate::SealedValue| {
            let value = self.launcher.machine().host.open_secret(secret);
            let value = value.map_err(|error| StartError::new(format!("secret `{}`: {error}", secret.name)))?;
            Ok((secret.name.to_string(), value))
        };
        function.secrets.iter().map(open).collect()
    }
}

impl Executor for ProcessExecutor {
    type Prepared = Prepared;
    type Instance = ProcessInstance;

    async fn prepare(&self, function: &Arc<Function>) -> Result<Prepared, StartError> {
        let package = self.launcher.machine().host.package(function.package);
        let package = async { package.await.map_err(|error| StartError::unfetched(error.to_string())) };
        if function.runtime == Runtime::Binary && function.interpreter != STDIO {
            let package = package.await?;
            let program = server(&function.entrypoint, &package.folder)?;
            return Ok(Prepared::Binary { package, program });
        }
        let interpreter = async {
            let (runtime, asked) = worker_of(function);
            let interpreter = self.find(runtime, asked).await?;
            let spares = self.spares_of(runtime, &interpreter);
            Ok((interpreter, spares))
        };
        let (package, (interpreter, spares)) = tokio::try_join!(package, interpreter)?;
        Ok(Prepared::Interpreted { package, interpreter, spares })
    }

    async fn start(&self, function: &Arc<Function>, prepared: &Prepared) -> Result<ProcessInstance, StartError> {
        match prepared {
            Prepared::Interpreted { package, interpreter, spares } => {
                let started = self.start_interpreted(function, package, interpreter, spares).await;
                spares.refill();
                started
            }
            Prepared::Binary { package, program } => self.start_binary(function, package, program).await,
        }
    }

    /// Interpreters that are not installed are left out.
    async fn start_ahead(&self) {
        for runtime in [Runtime::Python, Runtime::Node] {
            if let Ok(interpreter) = self.find(runtime, String::new()).await {
                self.spares_of(runtime, &interpreter);
            }
        }
    }

    fn ahead(&self, runtime: Runtime) -> (usize, usize) {
        let all = self.spares.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = all.values().filter(|spares| spares.runtime() == runtime).map(|spares| spares.counts());
        counts.fold((0, 0), |(total, waiting), (more, wait)| (total + more, waiting + wait))
    }

    async fn lacks(&self, runtime: Runtime, asked: &str) -> Option<String> {
        let (runtime, asked) = match (runtime, asked) {
            // The Python worker starts these programs.
            (Runtime::Binary, STDIO) => (Runtime::Python, ""),
            (Runtime::Binary, "") => return None,
            (Runtime::Binary, _) => {
                return Some(format!(
                    "a binary has no interpreter `{asked}`: leave it out for a program that serves HTTP, or use `{STDIO}`"
                ));
            }
            other => other,
        };
        self.find(runtime, asked.to_owned()).await.err().map(|error| error.reason)
    }
}

fn bound(worker: &Worker, function: &Arc<Function>) -> Result<(), StartError> {
    worker.adopt(function).map_err(|error| StartError::machine(format!("its limits could not be set: {error}")))
}

fn frame_slot(stream: UnixStream, worker: &Arc<Worker>, function: &Function) -> ProcessSlot {
    ProcessSlot::Frames(Box::new(FrameSlot::new(stream, function.timeout, worker.clone())))
}

/// The worker program that serves a function, and the requested version of its interpreter. The
/// Python worker runs `stdio` programs.
fn worker_of(function: &Function) -> (Runtime, String) {
    match function.runtime {
        Runtime::Binary => (Runtime::Python, String::new()),
        runtime => (runtime, function.interpreter.clone()),
    }
}

/// The path of a server in its package. The file must be executable, because it is run directly.
fn server(entrypoint: &str, folder: &Path) -> Result<String, StartError> {
    let program = binary(entrypoint, folder)?;
    let mode = folder.join(&program).metadata().map(|found| found.permissions().mode());
    if mode.is_ok_and(|mode| mode & 0o111 == 0) {
        return Err(StartError::new(format!("the file `{program}` is not executable: run `chmod +x` on it")));
    }
    Ok(program)
}

/// The path of a program in its package.
fn binary(entrypoint: &str, folder: &Path) -> Result<String, StartError> {
    let program = if entrypoint.is_empty() { BINARY } else { entrypoint };
    let inside = Path::new(program).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !inside {
        return Err(StartError::new(format!("`{program}` is not a path inside the package")));
    }
    if !folder.join(program).is_file() {
        return Err(StartError::new(format!("the package has no file `{program}` to run")));
    }
    Ok(program.to_owned())
}

/// A program that cannot be executed is the function's fault, a machine without room is not.
fn cannot_start(error: io::Error) -> StartError {
    use io::ErrorKind::{OutOfMemory, QuotaExceeded, ReadOnlyFilesystem, StorageFull, WouldBlock};
    let reason = no_process(&error);
    match error.kind() {
        OutOfMemory | QuotaExceeded | ReadOnlyFilesystem | StorageFull | WouldBlock => StartError::machine(reason),
        _ => StartError::new(reason),
    }
}

fn no_process(error: &io::Error) -> String {
    format!("its process could not be started: {error}")
}
