//! `__jail`: creates the namespaces, starts the inner stage in them, and stays outside until
//! nothing of the worker is left.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{SigSet, Signal, kill, raise};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Gid, Pid, Uid, setresgid, setresuid};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Resource, Rlimit, prlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::cgroup::Group;
use super::order::{Order, Walls};
use super::{inner, privileges, processes};

pub(super) const STAGE: &str = "__jail";

/// Sent to the server after the end of a worker that the kernel killed for exceeding its memory.
pub(super) const OUT_OF_MEMORY: u8 = b'm';

pub(super) fn run() -> io::Result<ExitCode> {
    // A service manager may signal all of the server's processes, but only the server decides when
    // a worker ends.
    SigSet::all().thread_block()?;
    // The server opens everything close-on-exec, but the process that started the server may not
    // have.
    close_fds::CloseFdsBuilder::new().cloexecfrom(3);
    let lifeline = io::stdin();
    let (order, listener) = Order::receive(lifeline.as_fd())?;
    rustix::io::fcntl_setfd(&listener, rustix::io::FdFlags::CLOEXEC)?;
    separate(&order.walls)?;
    // Comes after the user maps are written, which requires a dumpable process. The worker may have
    // the same user.
    nix::sys::prctl::set_dumpable(false)?;

    let (to_inner, theirs) = UnixStream::pair()?;
    let mut inner = Command::new(&order.stages)
        .arg(inner::STAGE)
        .env_clear()
        .envs(super::STAGE_ENVIRONMENT)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .spawn()
        .map_err(|error| io::Error::other(format!("cannot run {}: {error}", order.stages.display())))?;
    let group = Group::of(order.groups.clone());
    let outcome = order.send(&to_inner, listener.as_fd()).and_then(|()| {
        drop(listener);
        // Moving a process to a cgroup waits for every core of the machine, some milliseconds. The
        // inner stage builds the root in the meantime and waits for the signal to start the worker.
        group.take_in_uncharged(inner.id())?;
        watch(lifeline.as_fd(), &to_inner, inner.id(), &group, &order.walls)
    });
    let inner = end(&mut inner, &order.walls)?;
    // Without a status, the inner stage was killed, or failed and has printed why.
    let worker = inner::read_status(&to_inner).unwrap_or(inner);

    if group.killed_for_memory() {
        // The server may be gone.
        let _ = rustix::io::write(lifeline.as_fd(), &[OUT_OF_MEMORY]);
    }
    group.remove();
    outcome?;
    end_like(worker)
}

fn separate(walls: &Walls) -> io::Result<()> {
    // The mount namespace comes later: a change of root affects every process of the namespace, and
    // this one stays on the host.
    let kinds = CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWIPC | CloneFlags::CLONE_NEWUTS;
    let refused = |errno: Errno| io::Error::other(format!("namespaces are refused: {errno}"));
    match walls {
        Walls::Root { .. } => unshare(kinds).map_err(refused),
        Walls::User => {
            let (user, group) = (nix::unistd::geteuid(), nix::unistd::getegid());
            unshare(kinds | CloneFlags::CLONE_NEWUSER).map_err(refused)?;
            // An ordinary user may write the group map only after denying setgroups.
            fs::write("/proc/self/setgroups", "deny")?;
            fs::write("/proc/self/uid_map", format!("{0} {user} 1", privileges::INNER_USER))?;
            fs::write("/proc/self/gid_map", format!("{0} {group} 1", privileges::INNER_USER))?;
            keep_across_exec(CapabilitySet::SYS_ADMIN | CapabilitySet::SETPCAP)
        }
        // Makes orphans of the worker children of this process, so that they can be found and
        // killed.
        Walls::Plain { .. } => Ok(nix::sys::prctl::set_child_subreaper(true)?),
    }
}

/// The inner stage is not root inside either, so exec would drop the capabilities that it needs for
/// mounting.
fn keep_across_exec(wanted: CapabilitySet) -> io::Result<()> {
    let sets = rustix::thread::capabilities(None)?;
    rustix::thread::set_capabilities(None, CapabilitySets { inheritable: wanted, ..sets })?;
    for one in wanted.iter() {
        rustix::thread::configure_capability_in_ambient_set(one, true)?;
    }
    Ok(())
}

/// Returns when the server is gone or closes the lifeline, or when the inner stage has ended.
///
/// A limit that arrives before the worker exists is applied later. The stages are not limited: they
/// are the server's own program, whose allocator may have reserved more than a function may use.
/// For the same reason the inner stage joins the memory cgroup only when all it has left to do is
/// start the worker. The kernel charges a page to the cgroup of its process at the first touch.
/// When the move raced with that process's own start, a random part of some 7 MiB was charged to
/// the function, and first calls were killed below their limit.
fn watch(lifeline: BorrowedFd<'_>, inner: &UnixStream, inner_pid: u32, group: &Group, walls: &Walls) -> io::Result<()> {
    let (mut ready, mut started, mut limit) = (false, false, None);
    loop {
        let mut both = [PollFd::from_borrowed_fd(lifeline, PollFlags::IN), PollFd::new(inner, PollFlags::IN)];
        match poll(&mut both, None) {
            Err(rustix::io::Errno::INTR) => continue,
            result => result?,
        };
        if !both[1].revents().is_empty() {
            // The last message is the worker's status, after which the inner stage exits.
            if started {
                return Ok(());
            }
            match inner::read_progress(inner) {
                Some(inner::Progress::Ready) if !ready => {
                    ready = true;
                    group.take_in(inner_pid)?;
                    rustix::io::write(inner, &[inner::GO])?;
                }
                Some(inner::Progress::Started) => started = true,
                _ => return Ok(()),
            }
        } else {
            let mut most = [0; 8];
            if rustix::io::read(lifeline, &mut most)? < most.len() {
                return Ok(());
            }
            limit = Some(u64::from_le_bytes(most));
        }
        if let Some(most) = limit.take_if(|_| started) {
            limit_data(most, processes::children(inner_pid), walls)?;
        }
    }
}

/// Walks from the top down and limits each process before listing its children, so children forked
/// in the meantime inherit the limit.
///
/// A root without `CAP_SYS_RESOURCE`, as in most containers, may not limit processes of another
/// user. That user may.
fn limit_data(most: u64, mut next: Vec<u32>, walls: &Walls) -> io::Result<()> {
    let limit = Rlimit { current: Some(most), maximum: Some(most) };
    while let Some(process) = next.pop() {
        let Some(pid) = i32::try_from(process).ok().and_then(rustix::process::Pid::from_raw) else { continue };
        let attempt = || prlimit(Some(pid), Resource::Data, limit).map(drop);
        let done = match (attempt(), walls) {
            (Err(rustix::io::Errno::PERM), Walls::Root { user } | Walls::Plain { user: Some(user), .. }) => {
                with_real_user(*user, attempt)?
            }
            (done, _) => done,
        };
        match done {
            // `SRCH`: the process is gone already.
            Ok(()) | Err(rustix::io::Errno::SRCH) => next.extend(processes::children(process)),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn with_real_user<T>(user: u32, act: impl Fn() -> T) -> io::Result<T> {
    let (root, no_group) = (Uid::from_raw(0), Gid::from_raw(0));
    setresgid(Gid::from_raw(user), no_group, no_group)?;
    setresuid(Uid::from_raw(user), root, root)?;
    let outcome = act();
    setresuid(root, root, root)?;
    setresgid(no_group, no_group, no_group)?;
    Ok(outcome)
}

fn end(inner: &mut Child, walls: &Walls) -> io::Result<ExitStatus> {
    // A process that has already ended keeps its status.
    inner.kill()?;
    // The kernel ends pid 1 only after every process in its namespace.
    let status = inner.wait()?;
    if let Walls::Plain { user, .. } = walls {
        end_descendants(*user);
    }
    Ok(status)
}

/// Without a pid namespace, kills repeatedly until no child is left. Processes with a user of their
/// own are killed by a single call, which a fork bomb cannot outrun.
fn end_descendants(user: Option<u32>) {
    if let Some(user) = user.map(Uid::from_raw) {
        // Keeps root only as the saved user, so that the signal does not reach the server.
        let root = Uid::from_raw(0);
        if setresuid(user, user, root).is_ok() {
            let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
            let _ = setresuid(root, root, root);
        }
    }
    loop {
        for process in processes::descendants(std::process::id()) {
            let _ = kill(Pid::from_raw(process.cast_signed()), Signal::SIGKILL);
        }
        match waitpid(Pid::from_raw(-1), Some(WaitPidFlag::WNOHANG)) {
            Err(Errno::EINTR) => {}
            Err(_) => return,
            Ok(WaitStatus::StillAlive) => std::thread::sleep(std::time::Duration::from_millis(1)),
            Ok(_) => {}
        }
    }
}

/// Ends this process the same way as the worker, so that the server sees the worker's exit code or
/// signal.
fn end_like(worker: ExitStatus) -> io::Result<ExitCode> {
    if let Some(signal) = worker.signal() {
        let nothing = Rlimit { current: Some(0), maximum: Some(0) };
        rustix::process::setrlimit(Resource::Core, nothing)?;
        SigSet::all().thread_unblock()?;
        // Rust's stack overflow handler catches the first of some signals and then uninstalls
        // itself, so the signal is raised twice.
        for signal in Signal::try_from(signal).into_iter().chain(Signal::try_from(signal)) {
            raise(signal)?;
        }
    }
    // For a signal that this process ignores, such as SIGPIPE, the exit code is the shell's 128 +
    // number.
    let code = worker.code().or(worker.signal().map(|signal| 128 + signal));
    Ok(ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(super::JAIL_FAILED)))
}
