//! Sandboxes workers: limits what a worker sees and uses, and ensures that nothing of it outlives
//! the server.
//!
//! The server starts itself twice more for each worker. [`Jail::start`] runs `PROGRAM __jail`
//! (`outer`), which creates the namespaces and stays outside to watch. That runs `PROGRAM
//! __jail-init` (`inner`), pid 1 of the worker, which builds the root (`root`), drops privileges
//! (`privileges`, `seccomp`), starts the worker and reaps its orphans. Both read an `order` from a
//! socket that is their standard input. No stage forks without executing, and none has a second
//! thread.
//!
//! **How deaths are noticed.** The outer stage holds one end of a socket whose other end only the
//! server has. The kernel closes it however the server ends, and [`JailHandle::kill`] works the
//! same way. A parent-death signal would be simpler, but it fires when the *thread* that started
//! the process ends, and threads of an async runtime come and go. The inner stage has a
//! single-threaded parent, so there the signal is right. When pid 1 ends, the kernel kills the
//! rest. The outer stage ends last: once it has been reaped, nothing of the worker is left.
//!
//! What the machine refuses is left out and reported by [`Jail::abilities`].

mod cgroup;
mod hidden;
mod inner;
pub mod interpreters;
mod jail;
mod jailed;
mod landlock;
mod network;
mod nftables;
mod order;
mod outer;
mod privileges;
mod probe;
mod processes;
mod root;
mod seccomp;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};

pub use jail::Jail;
pub use jailed::{JailHandle, Jailed};

/// The exit code of a worker that never ran because its sandbox could not be set up. The reason is
/// on its standard error.
pub const JAIL_FAILED: u8 = 125;

/// The path of the app's files inside the sandbox.
const APP: &str = "/app";
const BUILD: &str = "/build";
const SCRATCH: &str = "/tmp";

/// The environment of a stage. The server's allocator would use huge pages: 4 MiB in each of the
/// two stages per worker, which need next to nothing.
const STAGE_ENVIRONMENT: [(&str, &str); 1] = [("MIMALLOC_ALLOW_THP", "0")];

#[derive(Debug, Clone)]
pub struct JailSettings {
    /// A program whose `main` begins with [`jail_main`]: the server itself.
    pub program: PathBuf,
    /// A private directory of this server. It must exist as long as workers run.
    pub run: PathBuf,
    /// False applies only limits, without namespaces and a root of its own.
    pub sandbox: bool,
    /// Files and directories that no worker may see even in a directory that it sees, such as the
    /// gateway's private key and the server's data.
    pub hidden: Vec<PathBuf>,
    pub closed_ports: ClosedPorts,
}

/// TCP ports of this machine that are blocked where the machine supports it.
#[derive(Debug, Clone, Default)]
pub struct ClosedPorts {
    /// Blocked for functions and builds: the server's API and its gateway.
    pub workers: Vec<u16>,
    /// Blocked for builds only: the port for calls between functions.
    pub builds: Vec<u16>,
}

#[derive(Debug, Clone)]
pub struct JailSpec {
    /// As seen from inside: see [`Jail::app_path`].
    pub program: PathBuf,
    pub args: Vec<String>,
    /// The worker's environment. `PATH`, `HOME`, `LANG` and `TMPDIR` get a default if absent.
    pub env: Vec<(String, String)>,
    /// Mounted read-only at `/app`. Files that are added later are visible too. It is made readable
    /// for all users. Its parent directory keeps it private.
    pub app_folder: PathBuf,
    /// More files and directories, read-only at the same path.
    pub readable: Vec<PathBuf>,
    /// A directory on disk that the worker may write to, at [`Jail::build_path`]. The worker
    /// becomes the owner of the directory and of its content at the start.
    pub writable: Option<PathBuf>,
    pub limits: JailLimits,
    /// Determines the worker's user id, if the server runs as root.
    pub instance: u64,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct JailLimits {
    /// Processes and threads together.
    pub processes: u64,
    pub open_files: u64,
    /// Maximum size of a file, in bytes.
    pub file_size: u64,
    /// Size of `/tmp`, in bytes.
    pub scratch: u64,
}

/// A protection, and whether it is in force on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ability {
    pub name: String,
    pub in_force: bool,
    /// How it is enforced, or why it is not and how to change that.
    pub detail: String,
}

impl Ability {
    fn yes(name: &str, detail: impl Into<String>) -> Self {
        Self { name: name.to_owned(), in_force: true, detail: detail.into() }
    }

    fn no(name: &str, detail: impl Into<String>) -> Self {
        Self { name: name.to_owned(), in_force: false, detail: detail.into() }
    }
}

/// Runs a stage of the sandbox if this process was started as one. `main` must call this first,
/// while the process has one thread and nothing open: `if let Some(code) =
/// jail_main(std::env::args_os()) { return code; }`
pub fn jail_main(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let stage = args.into_iter().nth(1)?;
    let outcome = match stage.to_str()? {
        outer::STAGE => outer::run(),
        inner::STAGE => inner::run(),
        _ => return None,
    };
    Some(outcome.unwrap_or_else(|error| {
        // Standard error is the pipe to the server, and the only way to report this.
        eprintln!("milepost: the sandbox could not be set up: {error}");
        ExitCode::from(JAIL_FAILED)
    }))
}
