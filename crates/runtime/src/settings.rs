//! Settings of the runtime as a whole.

use std::path::PathBuf;
use std::time::Duration;

use crate::sandbox::ClosedPorts;

#[derive(Debug, Clone)]
pub struct RuntimeSettings {
    /// A program whose `main` begins with [`crate::sandbox::jail_main`]: the server itself.
    pub program: PathBuf,
    /// Parent of the runtime directories of all servers that use this data. Each server creates its
    /// own, which lasts as long as the server.
    pub run: PathBuf,
    /// False applies resource limits only, without isolation.
    pub sandbox: bool,
    /// Files and directories that no worker may see, such as the gateway's private key and the
    /// server's data. Directories that the runtime itself shows to a worker may be inside.
    pub hidden: Vec<PathBuf>,
    /// Ports of this machine that functions and builds must not reach, as far as the machine can
    /// enforce it.
    pub closed_ports: ClosedPorts,
    /// Environment variables of every worker.
    pub environment: Vec<(String, String)>,
    /// Additional environment variables of builds: package indexes, proxies, certificates. Builds
    /// can read the files and directories that are named here.
    pub build_environment: Vec<(String, String)>,
    pub spares: Spares,
    /// Calls that may queue, per slot that a function may have.
    pub queue_per_place: usize,
    /// How long a call waits for a slot.
    pub wait: Duration,
    /// How long an instance may take to become ready.
    pub start: Duration,
    /// Calls that an instance runs before it is replaced.
    pub recycle: u64,
    /// How long an instance of a binding is kept for a rollback after nothing points at it any
    /// more.
    pub keep_for_rollback: Duration,
    /// How long a pool without instances is kept.
    pub forget: Duration,
}

/// Idle interpreters, started ahead of the functions that will use them.
#[derive(Debug, Clone, Copy)]
pub struct Spares {
    pub python: usize,
    pub node: usize,
    /// Starts them with the server. Otherwise they start with the first function of their runtime.
    pub at_start: bool,
}

impl RuntimeSettings {
    pub fn new(program: PathBuf, run: PathBuf) -> Self {
        Self {
            program,
            run,
            sandbox: true,
            hidden: Vec::new(),
            closed_ports: ClosedPorts::default(),
            environment: Vec::new(),
            build_environment: Vec::new(),
            spares: Spares { python: 2, node: 1, at_start: false },
            queue_per_place: 64,
            wait: Duration::from_secs(30),
            start: Duration::from_secs(30),
            recycle: 100_000,
            keep_for_rollback: Duration::from_secs(60 * 60),
            forget: Duration::from_secs(10 * 60),
        }
    }
}
