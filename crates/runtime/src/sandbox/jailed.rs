//! A worker behind its walls, as the server holds it.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::net::Shutdown;
use std::os::unix::fs::{DirBuilderExt, chown};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::net::RecvFlags;
use tokio::net::unix::pipe;
use tokio::process::Child;

use super::cgroup::Group;
use super::{outer, processes};

/// What an interpreter reserves for itself before a function has used anything: stacks of threads, heaps, its code.
/// The control group, or whoever samples [`JailHandle::memory_used`], is exact; this only stops what is far beyond.
const INTERPRETER: u64 = 256 << 20;

/// Dropping any of the parts is safe; dropping the handle ends the worker.
#[derive(Debug)]
pub struct Jailed {
    /// The outer stage. It ends as the worker ended, with its exit code or signal, once nothing of it is left.
    pub child: Child,
    pub stdout: pipe::Receiver,
    pub stderr: pipe::Receiver,
    pub handle: JailHandle,
}

impl Jailed {
    /// See [`JailHandle::limit`].
    pub fn limit(&self, memory: u64, cpu: u32) -> io::Result<()> {
        self.handle.limit(memory, cpu)
    }

    /// See [`JailHandle::kill`].
    pub fn kill(&self) {
        self.handle.kill();
    }

    /// See [`JailHandle::memory_used`].
    pub fn memory_used(&self) -> Option<u64> {
        self.handle.memory_used()
    }

    /// See [`JailHandle::app_path`].
    pub fn app_path(&self) -> PathBuf {
        self.handle.app_path()
    }

    /// See [`JailHandle::scratch_path`].
    pub fn scratch_path(&self) -> PathBuf {
        self.handle.scratch_path()
    }
}

/// What can be done to a worker while others wait for its end and read its output.
#[derive(Debug)]
pub struct JailHandle {
    /// The outer stage. To be used only while the lifeline shows it alive: numbers of processes come again.
    pid: u32,
    lifeline: UnixStream,
    group: Group,
    app: PathBuf,
    scratch: Scratch,
}

impl JailHandle {
    pub(super) fn new(pid: u32, lifeline: UnixStream, group: Group, app: PathBuf, scratch: Scratch) -> Self {
        Self { pid, lifeline, group, app, scratch }
    }

    /// A handle on no process, for tests that play the worker themselves. Also gives the end that the stages would hold.
    #[cfg(test)]
    pub(crate) fn of_nothing() -> io::Result<(Self, UnixStream)> {
        let (lifeline, theirs) = UnixStream::pair()?;
        let group = super::cgroup::Groups::default().create(0)?;
        Ok((Self::new(0, lifeline, group, PathBuf::new(), Scratch::inside("/")), theirs))
    }

    /// Bounds what the worker uses from now on: bytes, and thousandths of a core (0: no bound). The control group is set
    /// when this returns; the limit of each process (`RLIMIT_DATA`) follows within a moment, by the outer stage.
    pub fn limit(&self, memory: u64, cpu: u32) -> io::Result<()> {
        if !self.is_alive() {
            return Err(io::Error::new(ErrorKind::NotFound, "the worker has ended"));
        }
        self.group.limit(memory, cpu)?;
        // A few bytes on a socket that nobody else writes to: there is always room.
        let most = memory.saturating_add(INTERPRETER).to_le_bytes();
        (&self.lifeline).write_all(&most)
    }

    /// Ends the worker and everything it started, at once. Its end shows in [`Jailed::child`].
    pub fn kill(&self) {
        // Fails only when the other end is gone already.
        let _ = self.lifeline.shutdown(Shutdown::Write);
    }

    /// Bytes that the worker and everything it started have in memory, files in its memory included.
    pub fn memory_used(&self) -> Option<u64> {
        if let Some(used) = self.group.used() {
            return Some(used);
        }
        if !self.is_alive() {
            return None;
        }
        // The first is the inner stage: the server's own program, which is not the function's doing.
        let all = processes::descendants(self.pid);
        let workers = all.get(1..).unwrap_or_default();
        let own = processes::memory_of(workers);
        let files = match workers.first() {
            Some(worker) if !self.scratch.on_host => processes::scratch_memory(*worker, super::SCRATCH),
            _ => 0,
        };
        Some(own + files)
    }

    /// Whether the kernel killed it, or a part of it, for using more than its limit. To be asked after its end.
    pub fn ran_out_of_memory(&self) -> bool {
        let mut said = [0];
        let heard = rustix::net::recv(&self.lifeline, &mut said, RecvFlags::PEEK | RecvFlags::DONTWAIT);
        matches!(heard, Ok((_, 1))) && said[0] == outer::OUT_OF_MEMORY
    }

    /// Where the worker sees its app's files.
    pub fn app_path(&self) -> PathBuf {
        self.app.clone()
    }

    /// Where the worker may write.
    pub fn scratch_path(&self) -> PathBuf {
        self.scratch.path().to_owned()
    }

    fn is_alive(&self) -> bool {
        let heard = rustix::net::recv(&self.lifeline, &mut [0_u8; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT);
        matches!(heard, Err(rustix::io::Errno::AGAIN))
    }
}

/// The folder that a worker may write to. On the host only where there are no mounts of its own; then it goes with the handle.
#[derive(Debug)]
pub(super) struct Scratch {
    path: PathBuf,
    on_host: bool,
}

impl Scratch {
    pub(super) fn inside(path: &str) -> Self {
        Self { path: PathBuf::from(path), on_host: false }
    }

    pub(super) fn make(path: PathBuf, user: Option<u32>) -> io::Result<Self> {
        // Left by an instance with the same number of a server that was killed.
        let _ = fs::remove_dir_all(&path);
        fs::DirBuilder::new().mode(0o700).create(&path)?;
        let made = Self { path, on_host: true };
        chown(&made.path, user, user)?;
        Ok(made)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.on_host {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
