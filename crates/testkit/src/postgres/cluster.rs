//! A server that one test owns.

use std::fs::{self, File};

use rustix::process::{Pid, Signal, kill_process};

use super::database::TestDatabase;
use super::instance::Instance;
use super::watchdog;

/// A PostgreSQL server for one test. Dropping it ends the server and removes its data.
pub struct Cluster {
    instance: Instance,
    /// Locked as long as this process lives, so that the watchdog ends the server even if the test
    /// is killed.
    _lease: File,
}

/// How a private server is set up.
#[derive(Debug, Default)]
pub struct Setup {
    /// As durable as in production.
    pub fsync: bool,
    /// Settings as in `postgresql.conf`.
    pub settings: Vec<(&'static str, &'static str)>,
    /// Files in the data folder, such as certificates. A file `pg_hba.conf` replaces the default.
    pub files: Vec<(&'static str, String)>,
}

impl Cluster {
    /// Starts a private server, which takes about a second. With `fsync` it is as durable as in
    /// production.
    pub fn start_private(fsync: bool) -> Self {
        Self::start_with(Setup { fsync, ..Setup::default() })
    }

    /// Starts a private server with settings and files of its own.
    pub fn start_with(setup: Setup) -> Self {
        let instance = Instance::create(setup);
        let path = instance.folder.join("lease");
        let lease = File::create(&path).unwrap();
        lease.lock_shared().unwrap();
        watchdog::start(&path, &instance.folder, 0);
        Self { instance, _lease: lease }
    }

    /// The URL of the server's own database `postgres`.
    pub fn url(&self) -> String {
        self.instance.url()
    }

    pub fn port(&self) -> u16 {
        self.instance.port
    }

    /// Runs statements in the server's own database.
    pub fn execute(&self, sql: &str) {
        super::database::execute(&self.url(), sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }

    /// Creates an empty database on this server.
    pub fn database(&self) -> TestDatabase {
        TestDatabase::create(&self.url(), None)
    }

    /// Kills the server with SIGKILL, as a crash would. Open connections break a moment later.
    pub fn kill9(&mut self) {
        self.instance.postmaster.kill().unwrap();
        self.instance.postmaster.wait().unwrap();
    }

    /// Shuts the server down cleanly: running transactions are rolled back, connections closed.
    pub fn stop(&mut self) {
        self.end(Signal::INT);
    }

    /// Starts the server again on the same port after [`Cluster::kill9`] or [`Cluster::stop`], with
    /// its data unchanged.
    pub fn restart(&mut self) {
        self.end(Signal::INT);
        self.instance.start_again();
    }

    fn end(&mut self, signal: Signal) {
        if matches!(self.instance.postmaster.try_wait(), Ok(None)) {
            let _ = kill_process(Pid::from_child(&self.instance.postmaster), signal);
            let _ = self.instance.postmaster.wait();
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.end(Signal::QUIT);
        let _ = fs::remove_dir_all(&self.instance.folder);
    }
}
