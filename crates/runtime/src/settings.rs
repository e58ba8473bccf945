//! What can be chosen about the runtime as a whole.

use std::path::PathBuf;
use std::time::Duration;

use crate::sandbox::ClosedPorts;

#[derive(Debug, Clone)]
pub struct RuntimeSettings {
    /// A program whose `main` begins with [`crate::sandbox::jail_main`]: the server itself.
    pub program: PathBuf,
    /// Where servers on this data keep what lives as long as they do. Each makes a folder of its own in it.
    pub run: PathBuf,
    /// False: limits only, no walls.
    pub sandbox: bool,
    /// Files that no worker may see, wherever they lie: the gateway's private key.
    pub hidden: Vec<PathBuf>,
    /// Ports of this machine that functions and builds must not reach, as far as the machine allows it.
    pub closed_ports: ClosedPorts,
    /// What every worker's environment has.
    pub environment: Vec<(String, String)>,
    /// What the environment of builds has besides: where packages come from, proxies, certificates. Files and folders that
    /// are named here can be read by builds.
    pub build_environment: Vec<(String, String)>,
    pub spares: Spares,
    /// Calls that may wait, for each slot that a function may have.
    pub queue_per_place: usize,
    /// How long a call waits for a slot.
    pub wait: Duration,
    /// How long an instance may take to be ready.
    pub start: Duration,
    /// Calls that an instance runs before it is replaced.
    pub recycle: u64,
    /// How long an instance of a binding that nothing points at any more is kept, for a rollback.
    pub keep_for_rollback: Duration,
    /// How long a pool without instances is remembered.
    pub forget: Duration,
}

/// Interpreters that wait for a function.
#[derive(Debug, Clone, Copy)]
pub struct Spares {
    pub python: usize,
    pub node: usize,
    /// Start them with the server. Otherwise they come with the first function of their runtime.
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
