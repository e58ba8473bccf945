//! The server's handle on a worker in its sandbox.

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

/// What an interpreter reserves before a function has used anything: thread stacks, heaps, its
/// code. The cgroup, or the sampling of [`JailHandle::memory_used`], enforces the exact limit. This
/// one only stops gross excess.
const INTERPRETER: u64 = 256 << 20;

/// Dropping any of the parts is safe. Dropping the handle kills the worker.
#[derive(Debug)]
pub struct Jailed {
    /// The outer stage. It exits once nothing of the worker is left, with the worker's exit code or
    /// signal.
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

/// Controls a worker while others wait for its exit and read its output.
#[derive(Debug)]
pub struct JailHandle {
    /// The outer stage. Only valid while the lifeline shows it alive, because pids are reused.
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

    /// A handle without a process, for tests that act as the worker. Also returns the stages' end
    /// of the lifeline.
    #[cfg(test)]
    pub(crate) fn of_nothing() -> io::Result<(Self, UnixStream)> {
        let (lifeline, theirs) = UnixStream::pair()?;
        let group = super::cgroup::Groups::default().create(0)?;
        Ok((Self::new(0, lifeline, group, PathBuf::new(), Scratch::inside("/")), theirs))
    }

    /// Limits the worker from now on, to bytes of memory and thousandths of a core (0 means no
    /// limit). The cgroup is set when this returns. The outer stage sets the limit of each process
    /// (`RLIMIT_DATA`) a moment later.
    pub fn limit(&self, memory: u64, cpu: u32) -> io::Result<()> {
        if !self.is_alive() {
            return Err(io::Error::new(ErrorKind::NotFound, "the worker has ended"));
        }
        self.group.limit(memory, cpu)?;
        // Cannot block: a few bytes on a socket without other writers.
        let most = memory.saturating_add(INTERPRETER).to_le_bytes();
        (&self.lifeline).write_all(&most)
    }

    /// Kills the worker and everything it started, at once. [`Jailed::child`] then exits.
    pub fn kill(&self) {
        // Fails only if the other end is closed already.
        let _ = self.lifeline.shutdown(Shutdown::Write);
    }

    /// Bytes of memory used by the worker and everything it started, including files in its memory
    /// file systems.
    pub fn memory_used(&self) -> Option<u64> {
        if let Some(used) = self.group.used() {
            return Some(used);
        }
        if !self.is_alive() {
            return None;
        }
        // The first is the inner stage, the server's own program, which does not count against the
        // function.
        let all = processes::descendants(self.pid);
        let workers = all.get(1..).unwrap_or_default();
        let own = processes::memory_of(workers);
        let files = match workers.first() {
            Some(worker) if !self.scratch.on_host => processes::scratch_memory(*worker, super::SCRATCH),
            _ => 0,
        };
        Some(own + files)
    }

    /// Whether the kernel killed the worker, or a part of it, for exceeding its memory limit. Valid
    /// after its end.
    pub fn ran_out_of_memory(&self) -> bool {
        let mut said = [0];
        let heard = rustix::net::recv(&self.lifeline, &mut said, RecvFlags::PEEK | RecvFlags::DONTWAIT);
        matches!(heard, Ok((_, 1))) && said[0] == outer::OUT_OF_MEMORY
    }

    /// The path of the app's files inside the sandbox.
    pub fn app_path(&self) -> PathBuf {
        self.app.clone()
    }

    /// The path of the writable scratch directory, as the worker sees it.
    pub fn scratch_path(&self) -> PathBuf {
        self.scratch.path().to_owned()
    }

    fn is_alive(&self) -> bool {
        let heard = rustix::net::recv(&self.lifeline, &mut [0_u8; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT);
        matches!(heard, Err(rustix::io::Errno::AGAIN))
    }
}

/// The scratch directory of a worker. It is on the host only without mount namespaces, and is then
/// removed with the handle.
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
        // Left behind by an instance with the same number of a killed server.
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
