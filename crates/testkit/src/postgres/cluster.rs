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

impl Cluster {
    /// Starts a private server, which takes about a second. With `fsync` it is as durable as in
    /// production.
    pub fn start_private(fsync: bool) -> Self {
        let instance = Instance::create(fsync);
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
