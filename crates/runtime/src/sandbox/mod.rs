//! The walls around a worker: what it sees, what it may use, and that nothing of it outlives the server.
//!
//! The server starts itself twice more for each worker. [`Jail::start`] runs `PROGRAM __jail` (`outer`), which makes the
//! namespaces and stays outside to watch; that runs `PROGRAM __jail-init` (`inner`), pid 1 of the worker, which builds the
//! root (`root`), gives up what it may do (`privileges`, `seccomp`), starts the worker and reaps its orphans. Both read an
//! `order` from a socket that is their standard input. No stage forks without executing, and none has a second thread.
//!
//! **Who notices whose death.** The outer stage holds one end of a socket whose other end only the server has: the
//! kernel closes it however the server ends, and that is also how [`JailHandle::kill`] works. A parent-death signal would be
//! simpler, but it fires when the *thread* that started the process ends, and threads of an async runtime come and go. The
//! inner stage has a parent with one thread, so there the signal is right. When pid 1 ends the kernel ends the rest. The
//! outer stage ends last: when its exit has been collected, nothing of the worker is left.
//!
//! What the machine refuses is left out and told by [`Jail::abilities`].

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

/// The exit code of a worker that never ran because its walls could not be built. The reason is on its standard error.
pub const JAIL_FAILED: u8 = 125;

/// Where the app's files are, seen from inside.
const APP: &str = "/app";
const BUILD: &str = "/build";
const SCRATCH: &str = "/tmp";

/// What a stage's own environment has. The server's allocator asks for huge pages: 4 MiB in each of two stages of each
/// worker, of which they need next to nothing.
const STAGE_ENVIRONMENT: [(&str, &str); 1] = [("MIMALLOC_ALLOW_THP", "0")];

#[derive(Debug, Clone)]
pub struct JailSettings {
    /// A program whose `main` begins with [`jail_main`]: the server itself.
    pub program: PathBuf,
    /// A private folder of this server. It must exist for as long as workers run.
    pub run: PathBuf,
    /// False: no namespaces and no root of its own, only limits.
    pub sandbox: bool,
    /// Files that no worker may see even where it sees their folder: the gateway's private key.
    pub hidden: Vec<PathBuf>,
    pub closed_ports: ClosedPorts,
}

/// TCP ports of this machine that are out of reach where the machine allows it.
#[derive(Debug, Clone, Default)]
pub struct ClosedPorts {
    /// For functions and builds: the server's API.
    pub workers: Vec<u16>,
    /// For builds only: where functions call each other.
    pub builds: Vec<u16>,
}

#[derive(Debug, Clone)]
pub struct JailSpec {
    /// As seen from inside: see [`Jail::app_path`].
    pub program: PathBuf,
    pub args: Vec<String>,
    /// Everything the worker's environment has, but for `PATH`, `HOME`, `LANG` and `TMPDIR`, which get a value if absent.
    pub env: Vec<(String, String)>,
    /// Seen read-only as `/app`. Files that are added to it later are seen too. It is made readable for everyone; what
    /// keeps it private is the folder around it.
    pub app_folder: PathBuf,
    /// More files and folders, read-only at the same path.
    pub readable: Vec<PathBuf>,
    /// A folder of the disk that the worker may write to, seen as [`Jail::build_path`] tells. It becomes the worker's own,
    /// with everything that is in it when the worker starts.
    pub writable: Option<PathBuf>,
    pub limits: JailLimits,
    /// Decides the user that the worker becomes, when the server may choose.
    pub instance: u64,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct JailLimits {
    /// Processes and threads, together.
    pub processes: u64,
    pub open_files: u64,
    /// Bytes of one file.
    pub file_size: u64,
    /// Bytes of `/tmp`.
    pub scratch: u64,
}

/// A protection, and whether this machine lets us have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ability {
    pub name: String,
    pub in_force: bool,
    /// How it is done, or why it is not and what would change that.
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

/// Runs a stage of the sandbox if this process was started as one. `main` must ask before anything else, while the process
/// has one thread and nothing open: `if let Some(code) = jail_main(std::env::args_os()) { return code; }`
pub fn jail_main(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let stage = args.into_iter().nth(1)?;
    let outcome = match stage.to_str()? {
        outer::STAGE => outer::run(),
        inner::STAGE => inner::run(),
        _ => return None,
    };
    Some(outcome.unwrap_or_else(|error| {
        // Standard error is the pipe to the server; nobody else is there to tell.
        eprintln!("milepost: the sandbox could not be set up: {error}");
        ExitCode::from(JAIL_FAILED)
    }))
}
