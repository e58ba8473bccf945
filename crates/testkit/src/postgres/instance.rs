//! One server process and its directory. It has no `Drop`: its creator decides how long it lives.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use super::binaries::ServerUser;
use super::cluster::Setup;
use super::database;
use crate::free_port;

/// A start takes about a second. This allows for a machine that is busy compiling.
const START_DEADLINE: Duration = Duration::from_secs(60);

pub(super) struct Instance {
    pub(super) folder: PathBuf,
    pub(super) port: u16,
    pub(super) postmaster: Child,
    user: ServerUser,
    setup: Setup,
}

impl Instance {
    /// Creates a cluster in a new temporary directory and starts it. Without `fsync` it is several
    /// times as fast, but may lose acknowledged data when it is killed.
    pub(super) fn create(setup: Setup) -> Self {
        // In the system's temporary directory, because the server's user may not be able to reach
        // the target directory.
        let folder = tempfile::Builder::new().prefix("milepost-pg-").tempdir_in(env::temp_dir()).unwrap().keep();
        let user = ServerUser::for_owner_of(&folder);
        user.give(&folder);
        initialise(&folder, user);
        for (name, content) in &setup.files {
            let path = folder.join("data").join(name);
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            user.give(&path);
        }
        let deadline = Instant::now() + START_DEADLINE;
        loop {
            // Another process may take the free port first, so each try uses a new one.
            let port = free_port();
            match launch(&folder, user, port, &setup) {
                Ok(postmaster) => return Self { folder, port, postmaster, user, setup },
                Err(log) => assert!(Instant::now() < deadline, "PostgreSQL did not start; its log:\n{log}"),
            }
        }
    }

    /// Starts the server again on the same port, after it was stopped or killed.
    pub(super) fn start_again(&mut self) {
        let deadline = Instant::now() + START_DEADLINE;
        loop {
            // The children of a killed server take a moment to exit, and a new server refuses to
            // start before that.
            match launch(&self.folder, self.user, self.port, &self.setup) {
                Ok(postmaster) => break self.postmaster = postmaster,
                Err(log) => assert!(Instant::now() < deadline, "PostgreSQL did not start again; its log:\n{log}"),
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub(super) fn url(&self) -> String {
        url(self.port)
    }
}

fn url(port: u16) -> String {
    format!("postgres://milepost@127.0.0.1:{port}/postgres")
}

fn initialise(folder: &Path, user: ServerUser) {
    let mut initdb = user.command("initdb");
    initdb.arg("-D").arg(folder.join("data"));
    initdb.args(["--username=milepost", "--auth=trust", "--no-sync", "--encoding=UTF8"]);
    initdb.args(["--locale=C", "--locale-provider=icu", "--icu-locale=en-US"]);
    let output = initdb.output().expect("run initdb");
    assert!(output.status.success(), "initdb failed:\n{}", String::from_utf8_lossy(&output.stderr));
}

/// Starts the server and waits until it responds. The error is its log.
fn launch(folder: &Path, user: ServerUser, port: u16, setup: &Setup) -> Result<Child, String> {
    let log = File::create(folder.join("log")).unwrap();
    let mut server = user.command("postgres");
    server.arg("-D").arg(folder.join("data")).arg("-k").arg(folder).args(["-p", &port.to_string()]);
    server.args(["-c", "listen_addresses=127.0.0.1", "-c", "max_connections=300"]);
    for (name, value) in &setup.settings {
        server.arg("-c").arg(format!("{name}={value}"));
    }
    if !setup.fsync {
        server.args(["-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off"]);
    }
    server.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
    let mut postmaster = server.spawn().expect("start PostgreSQL");
    let deadline = Instant::now() + START_DEADLINE;
    while database::execute(&url(port), "").is_err() {
        let gone = postmaster.try_wait().unwrap().is_some();
        if gone || Instant::now() > deadline {
            let _ = postmaster.kill();
            let _ = postmaster.wait();
            return Err(fs::read_to_string(folder.join("log")).unwrap_or_default());
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(postmaster)
}
