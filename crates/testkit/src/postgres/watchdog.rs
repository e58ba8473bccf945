//! Ends a server once the processes that used it are gone, however they ended.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Starts an independent process that ends the server in `folder` and removes the folder, once
/// `lease` has not been locked for `grace_seconds`.
#[expect(clippy::zombie_processes, reason = "it outlives this process, and its parent is then another")]
pub(super) fn start(lease: &Path, folder: &Path, grace_seconds: u32) {
    let mut shell = Command::new("sh");
    shell.args(["-c", include_str!("watchdog.sh"), "milepost-testkit-watchdog"]);
    shell.arg(lease).arg(folder).arg(grace_seconds.to_string());
    // It must not keep a pipe of the test open: nextest waits for those.
    shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    shell.current_dir("/").process_group(0).spawn().expect("start the watchdog of PostgreSQL");
}
