//! The server that all test processes share.
//!
//! nextest runs every test in a process of its own, and a server for each would cost a second a test. So the first
//! process that asks starts one and leaves it running. `target/testkit/postgres/` holds three files:
//!
//! - `lock`: held while looking for the server or starting it, so that only one process starts one;
//! - `lease`: held shared by every process that uses the server. When nobody holds it any more, the watchdog ends the
//!   server. `cargo xtask test` holds it too, so that the server lives as long as the run;
//! - `current`: the server's folder and its address, one a line. The watchdog removes the folder with the server, so a
//!   stale file is recognised by its folder.

use std::fs::{self, File};
use std::path::Path;

use super::instance::Instance;
use super::{database, watchdog};
use crate::target_dir;

/// How long the server waits for another test before it is stopped.
const GRACE_SECONDS: u32 = 10;

/// The address of the shared server, started if need be, and the lease that keeps it running.
pub(super) fn acquire() -> (String, File) {
    let home = target_dir().join("testkit/postgres");
    fs::create_dir_all(&home).unwrap();
    let lock = open(&home.join("lock"));
    lock.lock().unwrap();
    let lease_path = home.join("lease");
    let lease = open(&lease_path);
    // Waits for a watchdog that is ending the last server.
    lease.lock_shared().unwrap();
    let current = home.join("current");
    if let Some(url) = running(&current) {
        return (url, lease);
    }
    let server = Instance::create(false);
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
