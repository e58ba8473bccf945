//! What a worker may use.

use std::os::unix::net::UnixStream;

use crate::place::{Place, end, first_line, mark, processes_with};

#[tokio::test]
async fn scratch_is_bounded() {
    let place = Place::new();
    let code = "
n = 0
try:
    for n in range(100): open(f'/tmp/{n}', 'wb').write(bytes(1 << 19))
except OSError as error: print(n, error.errno)";
    assert_eq!(place.says(code).await, "8 28");
}

#[tokio::test]
async fn a_fork_bomb_is_bounded_and_ends_with_the_worker() {
    for sandbox in [true, false] {
        let place = Place::with(sandbox);
        let mark = mark(&format!("bomb-{sandbox}"));
        let code = format!(
            "# {mark}
import os, sys, time
started = time.monotonic()
while time.monotonic() - started < 2:
    try:
        if os.fork() == 0: started = time.monotonic()
    except OSError: time.sleep(0.01); os.write(1, b'full\\n')
time.sleep(60)"
        );
        let mut jailed = place.start(&place.spec(1, &code));
        assert_eq!(first_line(&mut jailed).await, "full");
        let running = processes_with(&mark);
        assert!((8..=40).contains(&running), "{running} processes");
        jailed.kill();
        drop(jailed.stdout);
        jailed.child.wait().await.expect("wait for its end");
        assert_eq!(processes_with(&mark), 0, "sandbox: {sandbox}");
    }
}

#[tokio::test]
async fn exceeding_the_memory_limit_fails_or_kills_the_worker() {
    let place = Place::new();
    let code = "import socket; socket.socket(fileno=3).accept(); b = bytearray(3 << 30); b[::4096] = b'x' * len(b[::4096]); print('had it')";
    let jailed = place.start(&place.spec(1, code));
    jailed.limit(128 << 20, 500).expect("limit it");
    UnixStream::connect(place.folder.path().join("run/1.sock")).expect("connect");
    let ended = end(jailed).await;
    assert!(!ended.status.success() && ended.stdout.is_empty(), "{}: {}", ended.status, ended.stdout);
    assert!(ended.stderr.contains("MemoryError"), "{}", ended.stderr);
}

#[tokio::test]
async fn limits_the_memory_of_all_processes_together() {
    let place = Place::new();
    let code = "
import os, socket
held = bytearray(b'x' * (40 << 20))
listener = socket.socket(fileno=3); print('ready'); listener.accept()
for _ in range(7):
    if os.fork() == 0: break
held = bytearray(b'y' * (60 << 20)); os.write(1, b'filled\\n'); listener.accept()";
    let mut jailed = place.start(&place.spec(1, code));
    assert_eq!(first_line(&mut jailed).await, "ready");
    let used = jailed.memory_used().expect("memory is counted");
    assert!((40 << 20..80 << 20).contains(&used), "{used}");
    jailed.limit(128 << 20, 0).expect("limit it");
    if !place.jail.abilities().iter().any(|ability| ability.name == "cgroup memory" && ability.in_force) {
        println!("no control group here: the sum is only counted");
        return;
    }
    UnixStream::connect(place.folder.path().join("run/1.sock")).expect("connect");
    while !jailed.handle.ran_out_of_memory() {
        // A part was killed, or the worker itself, which the outer stage reports.
        if first_line(&mut jailed).await.is_empty() || processes_with("held = bytearray(b'x' * (40") < 8 {
            jailed.kill();
            jailed.child.wait().await.expect("wait for its end");
            break;
        }
    }
    assert!(jailed.handle.ran_out_of_memory());
}

#[tokio::test]
async fn a_limit_on_an_ended_worker_is_an_error() {
    let place = Place::new();
    let mut jailed = place.start(&place.spec(1, ""));
    jailed.child.wait().await.expect("wait for its end");
    assert_eq!(jailed.limit(1, 1).expect_err("it is gone").kind(), std::io::ErrorKind::NotFound);
    assert_eq!(jailed.memory_used(), None);
    jailed.kill();
}
