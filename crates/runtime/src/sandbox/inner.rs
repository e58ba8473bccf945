//! `__jail-init`: pid 1 of the worker. Builds the sandbox around itself, starts the worker inside
//! and reaps.
//!
//! It does not exec into the worker, because pid 1 is special: the worker would have to reap every
//! orphan, and signals that a function sends to itself, or `abort`, would have no effect.

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use nix::sys::signal::SigSet;
use rustix::process::WaitOptions;

use super::order::{Order, Walls};
use super::{APP, SCRATCH, landlock, privileges, root, seccomp};

pub(super) const STAGE: &str = "__jail-init";

/// Sent by the outer stage once the worker may be started.
pub(super) const GO: u8 = b'g';

/// Sent by this stage when only starting the worker is left.
const READY: u8 = b'r';

/// Sent by this stage when the worker runs.
const STARTED: u8 = b's';

/// A progress message to the outer stage.
pub(super) enum Progress {
    Ready,
    Started,
}

/// The descriptor of the worker's listening socket.
const LISTENER: i32 = 3;

/// Added to the niceness of builds.
const NICE: i32 = 10;

/// Higher than the server's, so that a machine out of memory kills a worker first.
const OOM_SCORE: &str = "500";

pub(super) fn run() -> io::Result<ExitCode> {
    // Directories of the new root must be accessible to the worker, whatever umask the server was
    // started with.
    nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o022));
    let outer = io::stdin();
    let (order, listener) = Order::receive(outer.as_fd())?;
    if listener.as_raw_fd() != LISTENER {
        return Err(io::Error::other(format!("the listener is descriptor {}, not 3", listener.as_raw_fd())));
    }
    // Some containers refuse this. Server and workers then have the same score.
    let _ = fs::write("/proc/self/oom_score_adj", OOM_SCORE);

    let mut abilities = Vec::new();
    let (folder, scratch) = match &order.walls {
        Walls::Root { user } => {
            abilities.extend(root::build(&order, *user)?);
            (PathBuf::from(APP), PathBuf::from(SCRATCH))
        }
        Walls::User => {
            abilities.extend(root::build(&order, privileges::INNER_USER)?);
            (PathBuf::from(APP), PathBuf::from(SCRATCH))
        }
        Walls::Plain { scratch, close_files, .. } => {
            if *close_files {
                abilities.push(landlock::close_files(&order, scratch)?);
            }
            (order.app_folder.clone(), scratch.clone())
        }
    };
    privileges::limit(&order)?;
    if order.writable.is_some() {
        // A build yields to functions.
        rustix::process::nice(NICE)?;
    }
    abilities.extend(privileges::drop_all(&order.walls)?);
    // Set last, because a change of user clears it.
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
    nix::sys::prctl::set_no_new_privs()?;
    // Without root the worker has the same user as this process, and must not access its memory.
    nix::sys::prctl::set_dumpable(false)?;
    if !matches!(order.walls, Walls::Plain { .. }) {
        abilities.push(landlock::close_abstract_sockets());
    }
    let sandboxed = !matches!(order.walls, Walls::Plain { close_files: false, .. });
    // Tools of builds start servers for themselves, such as one that is rendered to files.
    if sandboxed && order.writable.is_none() {
        abilities.push(landlock::close_ports());
    }
    abilities.push(seccomp::refuse_calls(seccomp::Refusals::of(&order))?);
    if order.probe {
        io::stdout().write_all(&serde_json::to_vec(&abilities)?)?;
        return Ok(ExitCode::SUCCESS);
    }

    rustix::io::write(outer.as_fd(), &[READY])?;
    wait_for_go(outer.as_fd())?;
    // The stages run without huge pages (see `STAGE_ENVIRONMENT`). This restores the default for
    // the worker.
    let _ = rustix::thread::disable_transparent_huge_pages(false);
    // The outer stage blocks signals, and the mask is inherited.
    SigSet::all().thread_unblock()?;
    let mut command = Command::new(&order.program);
    command.args(&order.args).env_clear().envs(environment(&order.env, &scratch)).stdin(Stdio::null());
    command.current_dir(folder);
    let worker = command.spawn().map_err(at(format!("cannot run {}", order.program.display())))?;
    rustix::io::write(outer.as_fd(), &[STARTED])?;
    drop(listener);
    let status = reap_until(worker.id())?;
    rustix::io::write(outer.as_fd(), &status.to_le_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Returns `None` if the inner stage ended before there was a worker.
pub(super) fn read_progress(mut inner: &UnixStream) -> Option<Progress> {
    let mut word = [0];
    inner.read_exact(&mut word).ok()?;
    match word[0] {
        READY => Some(Progress::Ready),
        STARTED => Some(Progress::Started),
        _ => None,
    }
}

/// Returns the worker's status as the inner stage reported it before it ended, if it did.
pub(super) fn read_status(mut inner: &UnixStream) -> Option<ExitStatus> {
    let mut words = Vec::new();
    inner.read_to_end(&mut words).ok()?;
    // The `STARTED` byte may not have been read yet.
    let status = words.strip_prefix(&[STARTED]).unwrap_or(&words);
    Some(ExitStatus::from_raw(i32::from_le_bytes(status.try_into().ok()?)))
}

/// Waits until the worker may be started. End of file is an error: the outer stage failed, or died
/// before the parent-death signal was armed. (Inside a pid namespace the parent has no pid to
/// compare with.)
fn wait_for_go(outer: BorrowedFd<'_>) -> io::Result<()> {
    let mut word = [0];
    match rustix::io::read(outer, &mut word)? {
        1 if word[0] == GO => Ok(()),
        _ => Err(io::Error::other("the outer stage is gone")),
    }
}

fn environment(given: &[(String, String)], scratch: &Path) -> Vec<(String, String)> {
    let scratch = scratch.to_string_lossy();
    let mut all = given.to_vec();
    for (name, value) in [
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("LANG", "C.UTF-8"),
        ("HOME", scratch.as_ref()),
        ("TMPDIR", scratch.as_ref()),
    ] {
        if !given.iter().any(|(other, _)| other == name) {
            all.push((name.to_owned(), value.to_owned()));
        }
    }
    all
}

/// Returns the worker's raw status, reaping orphans on the way.
fn reap_until(worker: u32) -> io::Result<i32> {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((who, status))) if who.as_raw_nonzero().get().cast_unsigned() == worker => {
                return Ok(status.as_raw());
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Adds what was being done to an error.
pub(super) fn at(what: String) -> impl Fn(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{what}: {error}"))
}
