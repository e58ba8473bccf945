//! How workers end, and that nothing of them is left.

use std::fs;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use milepost_runtime::sandbox::{JAIL_FAILED, Jailed};

use crate::place::{Place, end, first_line, mark, processes_with};

#[tokio::test]
async fn reports_the_exit_code_or_signal_of_a_worker() {
    for sandbox in [true, false] {
        let place = Place::with(sandbox);
        assert_eq!(place.run("raise SystemExit(7)").await.status.code(), Some(7));
        assert_eq!(place.run("import os; os.kill(os.getpid(), 9)").await.status.signal(), Some(9));
        assert_eq!(place.run("import os; os.abort()").await.status.signal(), Some(6));
        assert_eq!(place.run("import os; os.kill(os.getpid(), 15)").await.status.signal(), Some(15));
        assert_eq!(place.run("import os; os.kill(os.getpid(), 40)").await.status.code(), Some(168));
        assert_eq!(place.run("import ctypes; ctypes.string_at(0)").await.status.signal(), Some(11));
    }
}

#[tokio::test]
async fn reports_why_a_sandbox_could_not_be_set_up() {
    let place = Place::new();
    let mut spec = place.spec(1, "");
    spec.readable.push(PathBuf::from("/no/such/folder"));
    let ended = end(place.start(&spec)).await;
    assert_eq!(ended.status.code(), Some(JAIL_FAILED.into()));
    assert!(ended.stderr.contains("/no/such/folder: No such file or directory"), "{}", ended.stderr);

    let mut spec = place.spec(2, "");
    spec.program = PathBuf::from("/app/main");
    let jailed = place.start(&spec);
    // A limit for a worker that never starts must not delay its end.
    let limited = Instant::now();
    jailed.limit(64 << 20, 100).expect("limit what is being started");
    let ended = end(jailed).await;
    assert!(limited.elapsed() < Duration::from_secs(5), "{:?}", limited.elapsed());
    assert_eq!(ended.status.code(), Some(JAIL_FAILED.into()));
    assert!(ended.stderr.contains("cannot run /app/main"), "{}", ended.stderr);
}

#[tokio::test]
async fn a_kill_leaves_no_process_and_no_control_group() {
    for sandbox in [true, false] {
        let place = Place::with(sandbox);
        let mark = mark(&format!("kill-{sandbox}"));
        // One child with its own session, and one orphan.
        let code = format!(
            "# {mark}
import os, time
if os.fork() == 0: os.setsid()
elif os.fork() == 0 and os.fork() != 0: os._exit(0)
else: time.sleep(0.1)
os.write(1, b'running\\n'); time.sleep(60)"
        );
        let mut jailed = place.start(&place.spec(1, &code));
        for _ in 0..3 {
            assert_eq!(first_line(&mut jailed).await, "running");
        }
        assert!(processes_with(&mark) >= 3);
        let groups = groups_of(&jailed);
        jailed.kill();
        let status = jailed.child.wait().await.expect("wait for its end");
        assert_eq!(processes_with(&mark), 0);
        assert_eq!(status.signal(), Some(9));
        for group in groups {
            assert!(!group.exists(), "{} is left", group.display());
        }
        if !sandbox {
            let scratch = jailed.scratch_path();
            assert!(scratch.exists());
            drop(jailed);
            assert!(!scratch.exists());
        }
    }
}

/// On version 1, the directories of the cgroups that a worker's own process is in.
fn groups_of(jailed: &Jailed) -> Vec<PathBuf> {
    let children = |pid: u32| fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).expect("children");
    let inner = children(jailed.child.id().expect("it runs"));
    let inner = inner.split_whitespace().next().expect("a child");
    let groups = fs::read_to_string(format!("/proc/{inner}/cgroup")).expect("groups");
    let named = groups.lines().filter(|line| line.contains("/milepost-"));
    let folders: Vec<_> = named
        .filter_map(|line| {
            let (controller, path) = line.split_once(':')?.1.split_once(':')?;
            Some(Path::new("/sys/fs/cgroup").join(controller).join(path.trim_start_matches('/')))
        })
        .collect();
    assert!(folders.iter().all(|folder| folder.exists()), "{folders:?}");
    folders
}

#[tokio::test]
async fn a_signal_to_all_of_the_servers_processes_does_not_end_a_worker() {
    let place = Place::new();
    let code = "import socket; print('ready'); c, _ = socket.socket(fileno=3).accept(); print('served')";
    let mut jailed = place.start(&place.spec(1, code));
    assert_eq!(first_line(&mut jailed).await, "ready");
    let outer = nix::unistd::Pid::from_raw(jailed.child.id().expect("it runs").cast_signed());
    nix::sys::signal::kill(outer, nix::sys::signal::Signal::SIGTERM).expect("signal the outer stage");
    UnixStream::connect(place.folder.path().join("run/1.sock")).expect("connect");
    let ended = end(jailed).await;
    assert_eq!((ended.status.code(), ended.stdout.trim()), (Some(0), "served"));
}

#[tokio::test]
async fn dropping_the_handle_ends_the_worker() {
    let place = Place::new();
    let mut jailed = place.start(&place.spec(1, "import time; print('running'); time.sleep(60)"));
    assert_eq!(first_line(&mut jailed).await, "running");
    drop(jailed.handle);
    assert_eq!(jailed.child.wait().await.expect("wait for its end").signal(), Some(9));
}

#[tokio::test]
async fn a_worker_ends_when_its_outer_stage_is_killed() {
    let place = Place::new();
    let mark = mark("watched");
    let mut jailed = place.start(&place.spec(1, &format!("# {mark}\nimport time; print('running'); time.sleep(60)")));
    assert_eq!(first_line(&mut jailed).await, "running");
    jailed.child.kill().await.expect("kill the outer stage");
    wait_until("no worker runs", || processes_with(&mark) == 0);
}

#[test]
fn workers_end_when_their_server_is_killed() {
    let mark = mark("orphan");
    let mut server = Command::new(std::env::current_exe().expect("the path of this test"))
        .args(["--exact", "ends::a_server_that_waits_to_be_killed", "--nocapture"])
        .env("MARK", &mark)
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("start this test once more");
    // Two modes, each with an outer and an inner stage and a worker. Only the workers have the
    // mark.
    wait_until("two workers run", || processes_with(&mark) == 2);
    server.kill().expect("kill the server");
    server.wait().expect("wait for its end");
    wait_until("no worker runs", || processes_with(&mark) == 0);
}

/// Started by the test above, which kills it. Does nothing on its own.
#[tokio::test]
async fn a_server_that_waits_to_be_killed() {
    let Ok(mark) = std::env::var("MARK") else { return };
    let (walls, plain) = (Place::new(), Place::with(false));
    let code = format!("# {mark}\nimport time; time.sleep(60)");
    let _running = (walls.start(&walls.spec(1, &code)), plain.start(&plain.spec(1, &code)));
    std::future::pending::<()>().await;
}

/// Polls for an end that is not reported to this process.
fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < deadline, "it did not come to this: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
