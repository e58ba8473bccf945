//! `__jail-init`: pid 1 of the worker. Builds the walls around itself, starts the worker inside, and reaps.
//!
//! It stays, instead of becoming the worker, because pid 1 is special: it would have to collect every orphan, and signals
//! that a function sends to itself, or `abort`, would do nothing.

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

/// What the outer stage says when the worker may be started.
pub(super) const GO: u8 = b'g';

/// What this stage says when all it has left to do is to start the worker.
const READY: u8 = b'r';

/// What this stage says when the worker runs.
const STARTED: u8 = b's';

/// What the outer stage hears on the way.
pub(super) enum Progress {
    Ready,
    Started,
}

/// Where a worker finds its listening socket.
const LISTENER: i32 = 3;

/// Steps down in priority.
const NICE: i32 = 10;

/// Above the server's, so that a machine out of memory loses a worker first.
const OOM_SCORE: &str = "500";

pub(super) fn run() -> io::Result<ExitCode> {
    // Folders of the new root must be open for the worker, whatever the server was started with.
    nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o022));
    let outer = io::stdin();
    let (order, listener) = Order::receive(outer.as_fd())?;
    if listener.as_raw_fd() != LISTENER {
        return Err(io::Error::other(format!("the listener is descriptor {}, not 3", listener.as_raw_fd())));
    }
    // Refused by some containers; then all are equal.
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
        // A build: what it does can wait for what a function does.
        rustix::process::nice(NICE)?;
    }
    abilities.extend(privileges::drop_all(&order.walls)?);
    // Set last: a change of user clears it.
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
    nix::sys::prctl::set_no_new_privs()?;
    // Without root the worker has this process's user: it must not read or write its memory.
    nix::sys::prctl::set_dumpable(false)?;
    if !matches!(order.walls, Walls::Plain { .. }) {
        abilities.push(landlock::close_abstract_sockets());
    }
    abilities.push(seccomp::refuse_calls(seccomp::Refusals::of(&order))?);
    if order.probe {
        io::stdout().write_all(&serde_json::to_vec(&abilities)?)?;
        return Ok(ExitCode::SUCCESS);
    }

    rustix::io::write(outer.as_fd(), &[READY])?;
    wait_for_go(outer.as_fd())?;
    // The stages run without huge pages, see `STAGE_ENVIRONMENT`; a worker decides for itself.
    let _ = rustix::thread::disable_transparent_huge_pages(false);
    // The outer stage holds signals back, and a mask is inherited.
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

/// `None`: it ended, or was ended, before there was a worker.
pub(super) fn read_progress(mut inner: &UnixStream) -> Option<Progress> {
    let mut word = [0];
    inner.read_exact(&mut word).ok()?;
    match word[0] {
        READY => Some(Progress::Ready),
        STARTED => Some(Progress::Started),
        _ => None,
    }
}

/// What the inner stage said about the worker before it ended, if it came to that.
pub(super) fn read_status(mut inner: &UnixStream) -> Option<ExitStatus> {
    let mut words = Vec::new();
    inner.read_to_end(&mut words).ok()?;
    // Nobody may have come to reading that it started.
    let status = words.strip_prefix(&[STARTED]).unwrap_or(&words);
    Some(ExitStatus::from_raw(i32::from_le_bytes(status.try_into().ok()?)))
}

/// Waits until the worker may be started. No word is an error: the outer stage failed, or died between starting this process
/// and the signal being armed. (Inside a pid namespace a parent has no number that could be compared.)
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

/// The raw status of the worker; the ends of orphans are collected on the way.
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

/// Says what was being done when something failed.
pub(super) fn at(what: String) -> impl Fn(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{what}: {error}"))
}
