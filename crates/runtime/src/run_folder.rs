//! The runtime directory of one server: sockets, directories of workers, the worker programs. It is
//! locked as long as the server lives, so that the next server can tell which directories are
//! stale.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::removal::remove_folder;

include!(concat!(env!("OUT_DIR"), "/workers.rs"));

const LOCK: &str = "lock";
/// The address of a Unix socket has 108 bytes, including the terminating NUL.
const LONGEST_ADDRESS: usize = 107;

pub(crate) struct RunFolder {
    path: PathBuf,
    /// Held open for its lock.
    _lock: File,
    /// Used to shorten addresses that are too long.
    sockets: File,
}

impl RunFolder {
    /// Creates a directory under `base` and removes those of servers that are gone.
    pub fn make(base: &Path) -> io::Result<Self> {
        private(base)?;
        // Two servers that start at the same time must not take each other's new directory for a
        // stale one.
        let turn = File::create(base.join(LOCK))?;
        turn.lock()?;
        remove_stale(base)?;
        let path = fresh(base)?;
        let lock = File::create(path.join(LOCK))?;
        lock.lock()?;
        for part in ["socket", "app", "worker", "jail", "build"] {
            private(&path.join(part))?;
        }
        write_workers(&path.join("worker"))?;
        let sockets = File::open(path.join("socket"))?;
        Ok(Self { path, _lock: lock, sockets })
    }

    pub fn jail(&self) -> PathBuf {
        self.path.join("jail")
    }

    /// The worker programs of a runtime.
    pub fn worker(&self, runtime: &str) -> PathBuf {
        self.path.join("worker").join(runtime)
    }

    pub fn app(&self, instance: u64) -> io::Result<PathBuf> {
        let folder = self.path.join("app").join(instance.to_string());
        DirBuilder::new().mode(0o755).create(&folder)?;
        Ok(folder)
    }

    /// The directory of a build. Leftovers are removed with the run folder.
    pub fn build(&self, instance: u64) -> PathBuf {
        self.path.join("build").join(instance.to_string())
    }

    pub fn socket(&self, instance: u64) -> PathBuf {
        use std::os::fd::AsRawFd as _;
        let name = instance.to_string();
        let path = self.path.join("socket").join(&name);
        if path.as_os_str().len() <= LONGEST_ADDRESS {
            return path;
        }
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.sockets.as_raw_fd()))
    }

    pub fn remove(&self) {
        let _ = remove_folder(&self.path);
    }
}

fn fresh(base: &Path) -> io::Result<PathBuf> {
    let mut number = 0;
    loop {
        let path = base.join(format!("{}-{number}", std::process::id()));
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}

fn remove_stale(base: &Path) -> io::Result<()> {
    for entry in fs::read_dir(base)? {
        let path = entry?.path();
        if !path.is_dir() {
            continue;
        }
        let in_use = match File::open(path.join(LOCK)) {
            Ok(lock) => matches!(lock.try_lock(), Err(TryLockError::WouldBlock)),
            Err(_) => false,
        };
        if !in_use && let Err(error) = remove_folder(&path) {
            tracing::warn!(folder = %path.display(), %error, "the folder of a server that is gone could not be removed");
        }
    }
    Ok(())
}

fn private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn write_workers(folder: &Path) -> io::Result<()> {
    let open = |folder: &Path| DirBuilder::new().recursive(true).mode(0o755).create(folder);
    for (name, content) in WORKERS {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            open(parent)?;
        }
        fs::write(&path, content)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_only_the_folders_of_servers_that_are_gone() {
        let base = tempfile::tempdir().unwrap();
        let alive = RunFolder::make(base.path()).unwrap();
        let gone = base.path().join("1-0");
        fs::create_dir(&gone).unwrap();
        fs::write(gone.join(LOCK), "").unwrap();
        let second = RunFolder::make(base.path()).unwrap();
        assert!(alive.path.exists() && second.path.exists() && !gone.exists());
        drop(alive);
        let third = RunFolder::make(base.path()).unwrap();
        assert!(second.path.exists() && third.path.exists());
    }

    #[test]
    fn writes_the_worker_programs_read_only() {
        let base = tempfile::tempdir().unwrap();
        let run = RunFolder::make(base.path()).unwrap();
        let program = run.worker("python").join("milepost_worker.py");
        assert_eq!(fs::metadata(program).unwrap().permissions().mode() & 0o777, 0o444);
    }

    #[test]
    fn binds_a_socket_in_a_very_deep_folder() {
        let base = tempfile::tempdir().unwrap();
        let deep = base.path().join("x".repeat(90)).join("y".repeat(90));
        let run = RunFolder::make(&deep).unwrap();
        let listener = std::os::unix::net::UnixListener::bind(run.socket(1)).unwrap();
        std::os::unix::net::UnixStream::connect(run.socket(1)).unwrap();
        listener.accept().unwrap();
    }
}
