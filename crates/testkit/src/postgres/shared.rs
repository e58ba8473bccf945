//! The server that all test processes share.
//!
//! nextest runs every test in its own process, and a server for each would cost a second per test.
//! So the first process that needs a server starts one and leaves it running.
//! `target/testkit/postgres/` holds three files:
//!
//! - `lock`: held while looking for the server or starting it, so that only one process starts one.
//! - `lease`: held shared by every process that uses the server. Once it is free, the watchdog ends
//!   the server. `cargo xtask test` holds it too, so that the server lives as long as the run.
//! - `current`: the server's directory and its URL, one per line. The watchdog removes the
//!   directory with the server, so a stale file is recognised by its missing directory.

use std::fs::{self, File};
use std::path::Path;

use super::cluster::Setup;
use super::instance::Instance;
use super::{database, watchdog};
use crate::target_dir;

/// How long the server waits for another test before it is stopped.
const GRACE_SECONDS: u32 = 10;

/// The URL of the shared server, which is started if necessary, and the lease that keeps it
/// running.
pub(super) fn acquire() -> (String, File) {
    let home = target_dir().join("testkit/postgres");
    fs::create_dir_all(&home).unwrap();
    let lock = open(&home.join("lock"));
    lock.lock().unwrap();
    let lease_path = home.join("lease");
    let lease = open(&lease_path);
    // Waits for a watchdog that is ending the previous server.
    lease.lock_shared().unwrap();
    let current = home.join("current");
    if let Some(url) = running(&current) {
        return (url, lease);
    }
    let server = Instance::create(Setup::default());
    watchdog::start(&lease_path, &server.folder, GRACE_SECONDS);
    fs::write(&current, format!("{}\n{}\n", server.folder.display(), server.url())).unwrap();
    (server.url(), lease)
}

fn open(path: &Path) -> File {
    File::options().create(true).append(true).open(path).unwrap()
}

fn running(current: &Path) -> Option<String> {
    let text = fs::read_to_string(current).ok()?;
    let (folder, url) = text.trim_end().split_once('\n')?;
    let answers = Path::new(folder).is_dir() && database::execute(url, "").is_ok();
    answers.then(|| url.to_owned())
}
