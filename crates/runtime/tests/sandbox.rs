//! What holds for code inside the sandbox, shown by code inside the sandbox.
#![expect(clippy::expect_used, reason = "this is test code: a failure to prepare a test should end it at once")]

#[path = "support/mod.rs"]
mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use milepost_model::spec::Runtime;
use milepost_runtime::sandbox::{JAIL_FAILED, Jail, JailLimits, JailSettings, JailSpec, Jailed, interpreters};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

struct Place {
    jail: Jail,
    folder: TempDir,
}

struct Ended {
    status: ExitStatus,
    stdout: String,
    stderr: String,
}

impl Place {
    fn new() -> Self {
        Self::with(true)
    }

    fn with(sandbox: bool) -> Self {
        Self::expecting(sandbox, sandbox)
    }

    fn expecting(sandbox: bool, namespaces: bool) -> Self {
        let folder = tempfile::Builder::new().prefix("jail of a test ").tempdir().expect("a folder");
        // Open to all, so that it is the walls that keep others out.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("open the folder");
        let run = folder.path().join("run");
        fs::create_dir(&run).expect("a run folder");
        fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).expect("open the folder");
        let jail = Jail::detect(JailSettings { program: support::stages(), run, sandbox });
        let walls = jail.abilities().iter().any(|ability| ability.name == "namespaces" && ability.in_force);
        assert_eq!(walls, namespaces, "{:#?}", jail.abilities());
        Self { jail, folder }
    }

    fn spec(&self, instance: u64, code: &str) -> JailSpec {
        let python = interpreters::find(Runtime::Python, "").expect("python3");
        let app_folder = self.folder.path().join(format!("run/app-{instance}"));
        fs::create_dir_all(&app_folder).expect("an app folder");
        JailSpec {
            program: python.program,
            args: ["-I", "-S", "-u", "-c", code].map(str::to_owned).into(),
            env: Vec::new(),
            app_folder,
            readable: python.readable,
            limits: JailLimits { processes: 32, open_files: 64, file_size: 1 << 20, scratch: 4 << 20 },
            instance,
        }
    }

    fn start(&self, spec: &JailSpec) -> Jailed {
        let socket = self.folder.path().join(format!("run/{}.sock", spec.instance));
        let _ = fs::remove_file(&socket);
        self.jail.start(spec, UnixListener::bind(socket).expect("a socket")).expect("start the worker")
    }

    async fn run(&self, code: &str) -> Ended {
        end(self.start(&self.spec(1, code))).await
    }

    /// What a program prints that is expected to work.
    async fn says(&self, code: &str) -> String {
        let ended = self.run(code).await;
        assert!(ended.status.success(), "{}: {}", ended.status, ended.stderr);
        ended.stdout.trim().to_owned()
    }
}

async fn end(mut jailed: Jailed) -> Ended {
    let (mut stdout, mut stderr) = (String::new(), String::new());
    let (status, out, err) = tokio::join!(
        jailed.child.wait(),
        jailed.stdout.read_to_string(&mut stdout),
        jailed.stderr.read_to_string(&mut stderr),
    );
    out.and(err).expect("read what it said");
    Ended { status: status.expect("wait for its end"), stdout, stderr }
}

/// Byte by byte: what comes after the line is for the next reader.
async fn first_line(jailed: &mut Jailed) -> String {
    let mut line = Vec::new();
    loop {
        match jailed.stdout.read_u8().await {
            Ok(b'\n') | Err(_) => return String::from_utf8(line).expect("text"),
            Ok(byte) => line.push(byte),
        }
    }
}

/// How many processes of the machine have this in their command line.
fn processes_with(mark: &str) -> usize {
    let all = fs::read_dir("/proc").expect("/proc").flatten();
    all.filter_map(|process| fs::read(process.path().join("cmdline")).ok())
        .filter(|line| line.windows(mark.len()).any(|part| part == mark.as_bytes()))
        .count()
}

fn mark(name: &str) -> String {
    format!("mark-{name}-{}", std::process::id())
}

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
async fn the_host_is_not_seen() {
    let place = Place::new();
    let secret = place.folder.path().join("catalog.db");
    fs::write(&secret, "secret").expect("write");
    fs::write(place.folder.path().join("run/other"), "secret").expect("write");
    let code = format!(
        "import os; print([p for p in [{secret:?}, {run:?}, '/root/.bashrc', '/root/.ssh', '/home', '/etc/shadow', '/work', \
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
async fn nothing_but_scratch_can_be_written() {
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
async fn files_that_are_added_later_are_seen() {
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
async fn the_environment_is_what_was_given_and_four_defaults() {
    for sandbox in [true, false] {
        let place = Place::with(sandbox);
        let mut spec = place.spec(1, "import os; print(sorted(os.environ.items()))");
        // Python adds this itself when the locale is C.
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
async fn no_descriptor_of_the_server_is_inherited() {
    let place = Place::new();
    // One that stays open across exec, as an inherited one would.
    let secret = fs::File::open("/proc/self/status").expect("open a file");
    let leaked = rustix::io::dup(&secret).expect("duplicate it");
    let listed = place
        .says("import os; print([n for n in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + n)])")
        .await;
    drop(leaked);
    assert_eq!(listed, "['0', '1', '2', '3']");
}

#[tokio::test]
async fn a_worker_is_nobody_and_can_do_nothing_special() {
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

#[tokio::test]
async fn the_end_of_a_worker_is_told_as_it_was() {
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
async fn walls_that_cannot_be_built_are_an_end_with_a_reason() {
    let place = Place::new();
    let mut spec = place.spec(1, "");
    spec.readable.push(PathBuf::from("/no/such/folder"));
    let ended = end(place.start(&spec)).await;
    assert_eq!(ended.status.code(), Some(JAIL_FAILED.into()));
    assert!(ended.stderr.contains("/no/such/folder: No such file or directory"), "{}", ended.stderr);

    let mut spec = place.spec(2, "");
    spec.program = PathBuf::from("/app/main");
    let ended = end(place.start(&spec)).await;
    assert_eq!(ended.status.code(), Some(JAIL_FAILED.into()));
    assert!(ended.stderr.contains("cannot run /app/main"), "{}", ended.stderr);
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
async fn memory_beyond_the_limit_is_refused_or_ends_the_worker() {
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
async fn memory_of_all_processes_together_is_counted_and_bounded() {
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
        // A part was killed, or the worker itself; after the latter the outer stage tells.
        if first_line(&mut jailed).await.is_empty() || processes_with("held = bytearray(b'x' * (40") < 8 {
            jailed.kill();
            jailed.child.wait().await.expect("wait for its end");
            break;
        }
    }
    assert!(jailed.handle.ran_out_of_memory());
}

#[tokio::test]
async fn a_limit_on_a_worker_that_has_ended_hits_nobody() {
    let place = Place::new();
    let mut jailed = place.start(&place.spec(1, ""));
    jailed.child.wait().await.expect("wait for its end");
    assert_eq!(jailed.limit(1, 1).expect_err("it is gone").kind(), std::io::ErrorKind::NotFound);
    assert_eq!(jailed.memory_used(), None);
    jailed.kill();
}

#[tokio::test]
async fn a_kill_leaves_no_process_and_no_control_group() {
    for sandbox in [true, false] {
        let place = Place::with(sandbox);
        let mark = mark(&format!("kill-{sandbox}"));
        // One child with a session of its own and one orphan.
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

/// The folders, on version 1, that a worker's own process says it is in.
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
async fn a_signal_for_all_of_the_server_s_processes_does_not_end_a_worker() {
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

#[test]
fn workers_end_when_their_server_is_killed() {
    let mark = mark("orphan");
    let mut server = Command::new(std::env::current_exe().expect("the path of this test"))
        .args(["--exact", "a_server_that_waits_to_be_killed", "--ignored", "--nocapture"])
        .env("MARK", &mark)
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("start this test once more");
    // Two modes, each with an outer and an inner stage and a worker; only the workers have the mark.
    wait_until("two workers run", || processes_with(&mark) == 2);
    server.kill().expect("kill the server");
    server.wait().expect("wait for its end");
    wait_until("no worker runs", || processes_with(&mark) == 0);
}

#[tokio::test]
#[ignore = "another test starts it and kills it"]
async fn a_server_that_waits_to_be_killed() {
    let mark = std::env::var("MARK").expect("the test that starts this gives a mark");
    let (walls, plain) = (Place::new(), Place::with(false));
    let code = format!("# {mark}\nimport time; time.sleep(60)");
    let _running = (walls.start(&walls.spec(1, &code)), plain.start(&plain.spec(1, &code)));
    std::future::pending::<()>().await;
}

/// For ends that nothing reports to this process.
fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < deadline, "it did not come to this: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn files_stay_closed_where_namespaces_are_refused() {
    if !nix::unistd::geteuid().is_root() || Command::new("setpriv").arg("--version").output().is_err() {
        println!("skipped: root and setpriv (of util-linux) are needed to take away a right");
        return;
    }
    // As in a container: root, without the right to make namespaces.
    let output = Command::new("setpriv")
        .args(["--bounding-set=-sys_admin", "--inh-caps=-sys_admin"])
        .arg(std::env::current_exe().expect("the path of this test"))
        .args(["--exact", "a_server_that_may_not_make_namespaces", "--ignored", "--nocapture"])
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .output()
        .expect("run this test without a right");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[tokio::test]
#[ignore = "another test starts it without the right to make namespaces"]
async fn a_server_that_may_not_make_namespaces() {
    let place = Place::expecting(true, false);
    let abilities = place.jail.abilities();
    let in_force = |name: &str| abilities.iter().any(|ability| ability.name == name && ability.in_force);
    assert!(in_force("landlock") && in_force("user switch") && in_force("seccomp"), "{abilities:#?}");
    let refused = abilities.iter().find(|ability| ability.name == "namespaces").expect("it is told");
    assert!(refused.detail.contains("namespaces are refused: EPERM"), "{}", refused.detail);

    let secret = place.folder.path().join("catalog.db");
    fs::write(&secret, "secret").expect("write");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o666)).expect("open the file");
    let code = format!(
        "\
import os, signal
def can(act):
    try: act(); return True
    except OSError: return False
print(can(lambda: open({secret:?})), can(lambda: os.listdir('/root')), can(lambda: open('/proc/{server}/environ').read()),
      can(lambda: os.kill({server}, 0)), can(lambda: os.kill(os.getppid(), 0)), can(lambda: open('main.py', 'w')), os.getuid() > 0)
print(can(lambda: open('main.py').read()), can(lambda: open(os.environ['TMPDIR'] + '/x', 'w').write('x')),
      can(lambda: open('/dev/null', 'w')), can(lambda: os.fork() or os._exit(0)))",
        server = std::process::id(),
    );
    let spec = place.spec(1, &code);
    fs::write(spec.app_folder.join("main.py"), "").expect("write");
    fs::set_permissions(spec.app_folder.join("main.py"), fs::Permissions::from_mode(0o666)).expect("open the file");
    let said = place.says(&code).await;
    // The inner stage is the parent and lives behind the same wall.
    assert_eq!(said, "False False False False True False True\nTrue True True True");
}

#[test]
fn all_of_this_holds_for_a_server_of_an_ordinary_user() {
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: this run is one of an ordinary user already");
        return;
    }
    if Command::new("setpriv").arg("--version").output().is_err() {
        println!("skipped: setpriv (of util-linux) is needed to become another user");
        return;
    }
    // The same layout as in the target folder, where the user may not enter.
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("open the folder");
    for (name, from) in
        [("deps/sandbox", std::env::current_exe().expect("this test")), ("examples/jail", support::stages())]
    {
        let to = folder.path().join(name);
        fs::create_dir(to.parent().expect("a parent")).expect("a folder");
        fs::copy(from, &to).expect("copy a program");
        fs::set_permissions(to, fs::Permissions::from_mode(0o755)).expect("open a program");
    }
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(folder.path().join("deps/sandbox"))
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .current_dir("/")
        .output()
        .expect("run this test as another user");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("a_worker_serves_on_the_socket_that_it_is_given ... ok"), "{said}");
}

#[tokio::test]
#[ignore = "a measurement: run it alone, with --nocapture"]
async fn slow_what_a_start_costs() {
    let place = Place::new();
    let mut spec = place.spec(1, "pass");
    spec.args = ["-S", "-E", "-c", "pass"].map(str::to_owned).into();
    let (mut plain, mut jailed) = (Duration::ZERO, Duration::ZERO);
    for round in 0..30 {
        let started = Instant::now();
        let status = tokio::process::Command::new(&spec.program).args(&spec.args).status().await;
        plain += started.elapsed();
        assert!(status.expect("run python").success());
        spec.instance = round + 1;
        let started = Instant::now();
        let ended = end(place.start(&spec)).await;
        jailed += started.elapsed();
        assert!(ended.status.success(), "{}", ended.stderr);
    }
    println!("mean of 30: plain {:?}, in the sandbox {:?}", plain / 30, jailed / 30);
}
