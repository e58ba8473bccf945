//! Detects what the machine supports by trying it once, without a worker.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use super::order::Order;
use super::{Ability, outer};

/// Sets up the sandbox of the order and tears it down again. The error describes what was refused.
pub(super) fn probe(order: &Order) -> Result<Vec<Ability>, String> {
    let attempt = || -> io::Result<Result<Vec<Ability>, String>> {
        let (ours, theirs) = UnixStream::pair()?;
        let stage = Command::new(&order.stages)
            .arg(outer::STAGE)
            .env_clear()
            .envs(super::STAGE_ENVIRONMENT)
            .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        // Stands in for the listener.
        order.send(&ours, ours.as_fd())?;
        let output = stage.wait_with_output()?;
        if output.status.success() {
            return Ok(serde_json::from_slice(&output.stdout).map_err(|error| error.to_string()));
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Ok(Err(if said.is_empty() { output.status.to_string() } else { said.trim().to_owned() }))
    };
    attempt().unwrap_or_else(|error| Err(format!("cannot run {}: {error}", order.stages.display())))
}

/// How an operator can enable namespaces that are refused.
pub(super) fn remedy() -> &'static str {
    let setting = |path: &str| std::fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
    if setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1" {
        return "run the server as root, or set kernel.apparmor_restrict_unprivileged_userns=0";
    }
    if setting("/proc/sys/kernel/unprivileged_userns_clone") == "0" {
        return "run the server as root, or set kernel.unprivileged_userns_clone=1";
    }
    if setting("/proc/sys/user/max_user_namespaces") == "0" {
        return "run the server as root, or set user.max_user_namespaces to some thousands";
    }
    if ["/.dockerenv", "/run/.containerenv"].iter().any(|mark| Path::new(mark).exists()) {
        return "give the container CAP_SYS_ADMIN and an unconfined seccomp and AppArmor profile, or run the server outside of it";
    }
    "run the server as root, or where ordinary users may make user namespaces"
}
