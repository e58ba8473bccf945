//! What a worker can see, and what it cannot.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;

use milepost_model::spec::Runtime;
use milepost_runtime::sandbox::interpreters;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::place::{Place, end, first_line};

#[tokio::test]
async fn a_worker_serves_on_the_socket_that_it_is_given() {
    let place = Place::new();
    let code = "import socket; c, _ = socket.socket(fileno=3).accept(); c.sendall(c.recv(9)[::-1])";
    let jailed = place.start(&place.spec(1, code));
    let socket = place.folder.path().join("run/1.sock");
    let mut caller = tokio::net::UnixStream::connect(socket).await.expect("connect");
    caller.write_all(b"abc").await.expect("write");
    let mut answer = String::new();
    caller.read_to_string(&mut answer).await.expect("read");
    assert_eq!(answer, "cba");
    assert!(end(jailed).await.status.success());
}

#[tokio::test]
async fn node_runs_inside() {
    let place = Place::new();
    let node = interpreters::find(Runtime::Node, "").expect("node");
    let mut spec = place.spec(1, "");
    (spec.program, spec.readable) = (node.program, node.readable);
    spec.args = vec!["-e".to_owned(), "console.log(process.cwd(), require('os').hostname(), 6 * 7)".to_owned()];
    let jailed = place.start(&spec);
    jailed.limit(128 << 20, 1000).expect("limit it");
    assert_eq!(end(jailed).await.stdout.trim(), "/app function 42");
}

#[tokio::test]
async fn hides_the_host() {
    let place = Place::new();
    let secret = place.folder.path().join("catalog.db");
    fs::write(&secret, "secret").expect("write");
    fs::write(place.folder.path().join("run/other"), "secret").expect("write");
    let code = format!(
        "import os; print([p for p in [{secret:?}, {run:?}, '/home', '/etc/shadow', '/work', \
         '/sys/kernel', '/dev/vda', '/dev/sda', '/dev/mem', '/proc/1/root/sys', '/var/lib', '/var/log'] if os.path.exists(p)], \
         sorted(os.listdir('/')), [l for l in open('/etc/passwd')].__len__())",
        run = place.folder.path().join("run"),
    );
    let seen = place.says(&code).await;
    assert!(seen.starts_with("[] ["), "{seen}");
    assert!(seen.ends_with("] 2"), "{seen}");
    assert!(!seen.contains("'mnt'") && !seen.contains("'boot'"), "{seen}");
}

#[tokio::test]
async fn only_scratch_is_writable() {
    let place = Place::new();
    let code = "\
import os
places = ['/app/main.py', '/app/new', '/usr/new', '/new', '/etc/passwd', '/etc/new', '/dev/new', '/proc/sys/kernel/hostname']
for place in places:
    try:
        open(place, 'w').write('x'); print('wrote', place)
    except OSError: pass
for place in ['/tmp/new', '/dev/null', '/dev/stdout']: open(place, 'w').write('')
print('done')";
    let spec = place.spec(1, code);
    let file = spec.app_folder.join("main.py");
    fs::write(&file, "original").expect("write");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).expect("open the file");
    assert_eq!(place.says(code).await, "done");
    assert_eq!(fs::read_to_string(file).expect("read"), "original");
}

#[tokio::test]
async fn sees_files_that_are_added_later() {
    let place = Place::new();
    let code = "import os, socket; print(os.getcwd(), os.listdir('.')); s = socket.socket(fileno=3); s.accept(); print(open('/app/late').read())";
    let spec = place.spec(1, code);
    let mut jailed = place.start(&spec);
    assert_eq!(first_line(&mut jailed).await, "/app []");
    fs::write(place.folder.path().join("elsewhere"), "came later").expect("write");
    fs::hard_link(place.folder.path().join("elsewhere"), spec.app_folder.join("late")).expect("link");
    UnixStream::connect(place.folder.path().join("run/1.sock")).expect("connect");
    assert_eq!(end(jailed).await.stdout.trim(), "came later");
}

#[tokio::test]
async fn two_instances_share_neither_scratch_nor_processes() {
    let place = Place::new();
    let first = "import os, time; open('/tmp/mine', 'w').write('x'); print(os.listdir('/tmp')); time.sleep(60)";
    let mut first = place.start(&place.spec(1, first));
    assert_eq!(first_line(&mut first).await, "['mine']");
    let second =
        "import os; print(os.listdir('/tmp'), sorted(int(n) for n in os.listdir('/proc') if n.isdigit()), os.getpid())";
    let second = end(place.start(&place.spec(2, second))).await;
    assert_eq!(second.stdout.trim(), "[] [1, 2] 2");
}

#[tokio::test]
async fn the_environment_has_the_given_variables_and_four_defaults() {
    for sandbox in [true, false] {
        let place = Place::with(sandbox);
        let mut spec = place.spec(1, "import os; print(sorted(os.environ.items()))");
        // Python adds this itself if the locale is C.
        spec.env = vec![("GIVEN".to_owned(), "värde".to_owned()), ("HOME".to_owned(), "/app".to_owned())];
        let jailed = place.start(&spec);
        let scratch = jailed.scratch_path().display().to_string();
        let ended = end(jailed).await;
        assert_eq!(
            ended.stdout.trim(),
            format!(
                "[('GIVEN', 'värde'), ('HOME', '/app'), ('LANG', 'C.UTF-8'), ('PATH', '/usr/local/bin:/usr/bin:/bin'), \
                 ('TMPDIR', '{scratch}')]"
            ),
            "{}",
            ended.stderr
        );
    }
}

#[tokio::test]
async fn inherits_no_descriptor_of_the_server() {
    let place = Place::new();
    // Stays open across exec, as an inherited one would.
    let secret = fs::File::open("/proc/self/status").expect("open a file");
    let leaked = rustix::io::dup(&secret).expect("duplicate it");
    let listed = place
        .says("import os; print([n for n in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + n)])")
        .await;
    drop(leaked);
    assert_eq!(listed, "['0', '1', '2', '3']");
}

#[tokio::test]
async fn a_worker_has_its_own_user_and_no_privileges() {
    let place = Place::new();
    let code = "\
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def errno(result): return ctypes.get_errno() if result == -1 else 0
print(errno(libc.unshare(0x10000000)), errno(libc.mount(b'x', b'/tmp', b'tmpfs', 0, None)), errno(libc.ptrace(16, 1, 0, 0)),
      errno(libc.syscall(425, 1, 0)), errno(libc.chroot(b'/tmp')), errno(libc.setns(0, 0)))
status = dict(line.split(':', 1) for line in open('/proc/self/status'))
print(*(status[name].strip() for name in ['CapEff', 'CapPrm', 'CapInh', 'CapBnd', 'CapAmb', 'NoNewPrivs', 'Seccomp']))
print(os.getuid() == 0, os.getgroups() in ([], [65534]), os.cpu_count() > 0)";
    let said = place.says(code).await;
    let none = "0000000000000000";
    assert_eq!(said, format!("1 1 1 1 1 1\n{none} {none} {none} {none} {none} 1 2\nFalse True True"));
}

#[tokio::test]
async fn threads_and_child_processes_work() {
    let place = Place::new();
    let code = "\
import subprocess, threading
t = threading.Thread(target=lambda: print('thread')); t.start(); t.join()
print(subprocess.run(['/bin/sh', '-c', 'echo child > /dev/stdout'], capture_output=True, text=True).stdout.strip())
import socket; print(len(socket.getaddrinfo('localhost', 80)) > 0)";
    assert_eq!(place.says(code).await, "thread\nchild\nTrue");
}
