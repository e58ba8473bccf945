//! Runs the command of a build and watches it.

use std::io;
use std::os::unix::net::UnixListener;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use nix::sys::signal::Signal;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::cache::Cached;
use super::room::{BuildRoom, Folder};
use super::{BuildFailure, BuildOrder, DiskLimit, MEMORY, disk, output, surroundings, tools};
use crate::machine::Machine;
use crate::sandbox::interpreters::InterpreterError;
use crate::sandbox::{JailHandle, JailLimits, JailSpec, Jailed};

/// The earliest date that a zip file can represent.
const EPOCH: &str = "315532800";
const LIMITS: JailLimits = JailLimits { processes: 512, open_files: 4096, file_size: 2 << 30, scratch: 256 << 20 };
/// How often memory use is sampled.
const SAMPLE: Duration = Duration::from_millis(200);
/// How long reading the remaining output may take after the command has ended.
const LAST_LINES: Duration = Duration::from_secs(5);
/// Limit on the sandbox's own error message, which is short.
const LAST_WORDS: u64 = 16 << 10;
/// A single pipe for stdout and stderr keeps their order. Descriptor 3 is of use only to functions.
const START: &str = "cd \"$SRC_PKG\" && unset OLDPWD && exec /bin/sh -c \"$1\" 2>&1 3>&-";

/// Runs the command of an order in a room and sends its output to `lines`. Dropping the future ends
/// every process of the build. The room's directory stays until that is done.
pub(crate) async fn run(
    machine: &Arc<Machine>,
    room: &BuildRoom,
    order: BuildOrder,
    lines: mpsc::Sender<String>,
) -> Result<(), BuildFailure> {
    let (tell, told) = oneshot::channel();
    let left = CancellationToken::new();
    let _left = left.clone().drop_guard();
    let job = Job { machine: machine.clone(), folder: room.folder(), left };
    let (folder, machine) = (room.folder(), machine.clone());
    // A separate task, because it must finish the cleanup after this future is dropped.
    machine.clone().spawn(async move {
        let home = order.cache.clone();
        let lent = tokio::task::spawn_blocking(move || home.map(|home| Cached::lend(home, folder))).await;
        let outcome = job.run(order, lines).await;
        if let Ok(Some(cached)) = lent {
            let now = machine.host.now().as_millisecond();
            let now = UNIX_EPOCH + Duration::from_millis(u64::try_from(now).unwrap_or(0));
            let _ = tokio::task::spawn_blocking(move || cached.take_back(now)).await;
        }
        let _ = tell.send(outcome);
    });
    told.await.unwrap_or(Err(BuildFailure::Stopping))?;
    match room.result().symlink_metadata() {
        Ok(_) => Ok(()),
        Err(_) => Err(BuildFailure::NoResult),
    }
}

struct Bounds {
    limit: Duration,
    disk: DiskLimit,
}

struct Job {
    machine: Arc<Machine>,
    folder: Arc<Folder>,
    /// Cancelled when the caller has dropped the build.
    left: CancellationToken,
}

impl Job {
    async fn run(self, order: BuildOrder, lines: mpsc::Sender<String>) -> Result<(), BuildFailure> {
        let bounds = Bounds { limit: order.limit, disk: order.disk };
        let cpu = order.cpu;
        let (machine, folder) = (self.machine.clone(), self.folder.clone());
        // Looking up an interpreter, changing file ownership and starting a process all block.
        let started = tokio::task::spawn_blocking(move || start(&machine, &folder, &order));
        let jailed = started.await.map_err(|error| BuildFailure::NotStarted(error.to_string()))??;
        let Jailed { mut child, stdout, stderr, handle } = jailed;
        if let Err(error) = handle.limit(MEMORY, cpu)
            && error.kind() != io::ErrorKind::NotFound
        {
            handle.kill();
            let _ = child.wait().await;
            return Err(BuildFailure::NotStarted(format!("its limits could not be set: {error}")));
        }
        let mut follow = std::pin::pin!(async { tokio::join!(output::follow(stdout, lines), last_words(stderr)).1 });
        let mut said = None;
        let mut stopped = None;
        let mut watch = std::pin::pin!(self.watch(&handle, &bounds));
        let status = loop {
            tokio::select! {
                status = child.wait() => break status,
                words = &mut follow, if said.is_none() => said = Some(words),
                reason = &mut watch, if stopped.is_none() => {
                    stopped = Some(reason);
                    handle.kill();
                }
            }
        };
        // No process is left that could write, so this ends as soon as the lines are read.
        let said = match said {
            Some(said) => said,
            None => tokio::select! {
                said = follow => said,
                () = self.left.cancelled() => String::new(),
                () = self.machine.stopping() => String::new(),
                // A receiver that does not read must not keep the build waiting.
                () = tokio::time::sleep(LAST_LINES) => String::new(),
            },
        };
        match stopped {
            Some(reason) => Err(reason),
            None => judge(status, &handle, &said),
        }
    }

    /// Waits until the build has to be stopped, and returns why.
    async fn watch(&self, handle: &JailHandle, order: &Bounds) -> BuildFailure {
        let work = self.folder.work();
        let mut writes = std::pin::pin!(disk::watch(&work, order.disk));
        let mut ticks = tokio::time::interval(SAMPLE);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut limit_reached = std::pin::pin!(tokio::time::sleep(order.limit));
        loop {
            tokio::select! {
                () = self.left.cancelled() => return BuildFailure::Stopping,
                () = self.machine.stopping() => return BuildFailure::Stopping,
                () = &mut limit_reached => return BuildFailure::TimedOut(order.limit),
                reason = &mut writes => return reason,
                _ = ticks.tick() => {}
            }
            // Covers machines where the kernel does not enforce the memory limit exactly.
            if handle.memory_used().is_some_and(|used| used > MEMORY) {
                return BuildFailure::TooMuchMemory;
            }
        }
    }
}

fn start(machine: &Machine, folder: &Folder, order: &BuildOrder) -> Result<Jailed, BuildFailure> {
    let interpreter = match machine.interpreter(order.runtime, &order.interpreter) {
        Ok(found) => Some(found),
        Err(InterpreterError::NotInterpreted { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let told = |error: io::Error| BuildFailure::NotStarted(error.to_string());
    let jail = machine.jail();
    let (tools, work) = (folder.tools(), folder.work());
    let seen_tools = jail.app_path(&tools);
    let given = &machine.build_environment;
    let around = surroundings::find(given, &tools, &seen_tools, |path| jail.may_be_shown(path)).map_err(told)?;
    let mut env = around.variables;
    env.extend(folder.variables(&jail.build_path(&work), given));
    // Reproducible builds: files get a fixed time, and compiled Python is checked by its source's
    // hash, because file times do not survive being stored.
    env.push(("SOURCE_DATE_EPOCH".to_owned(), EPOCH.to_owned()));
    env.push(("PATH".to_owned(), tools::search_path(&seen_tools, interpreter.as_ref())));
    let mut readable = around.readable;
    if let Some(interpreter) = interpreter {
        tools::write(&tools, order.runtime, &interpreter).map_err(told)?;
        readable.extend(interpreter.readable);
    }
    let spec = JailSpec {
        program: PathBuf::from("/bin/sh"),
        args: ["-c", START, "build", &order.command].map(str::to_owned).into(),
        env,
        app_folder: tools,
        readable,
        writable: Some(work),
        limits: JailLimits { file_size: LIMITS.file_size.min(order.disk.bytes), ..LIMITS },
        instance: folder.id,
    };
    jail.start(&spec, no_listener(machine, folder.id).map_err(told)?).map_err(told)
}

/// The sandbox passes a listening socket to every worker. This one is unlinked, so it cannot be
/// reached.
fn no_listener(machine: &Machine, id: u64) -> io::Result<UnixListener> {
    let socket = machine.run_folder().socket(id);
    let listener = UnixListener::bind(&socket)?;
    std::fs::remove_file(socket)?;
    Ok(listener)
}

/// The command writes to the other pipe, so this one carries only messages of the sandbox.
async fn last_words(pipe: pipe::Receiver) -> String {
    let mut said = Vec::new();
    let _ = pipe.take(LAST_WORDS).read_to_end(&mut said).await;
    String::from_utf8_lossy(&said).trim().to_owned()
}

fn judge(status: io::Result<ExitStatus>, handle: &JailHandle, said: &str) -> Result<(), BuildFailure> {
    let status = status.map_err(|error| BuildFailure::NotStarted(error.to_string()))?;
    if status.success() {
        return Ok(());
    }
    if handle.ran_out_of_memory() {
        return Err(BuildFailure::TooMuchMemory);
    }
    Err(match (status.code(), status.signal()) {
        // Printed by the sandbox, or by the shell that should have run the command.
        (Some(_), _) if !said.is_empty() => BuildFailure::NotStarted(said.to_owned()),
        (Some(code), _) => BuildFailure::ExitCode(code),
        (_, Some(number)) => match Signal::try_from(number) {
            Ok(signal) => BuildFailure::Killed(signal.to_string()),
            Err(_) => BuildFailure::Killed(format!("signal {number}")),
        },
        _ => BuildFailure::Killed(status.to_string()),
    })
}
