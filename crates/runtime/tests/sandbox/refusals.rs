//! What the kernel refuses a worker, and what of the machine is hidden from it.

use std::fs;
use std::process::Command;

use crate::place::{Place, end, first_line};

/// Python code that prints `allowed` or the name of the error for each call.
const CALL: &str = "\
import ctypes, errno, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(*args):
    ctypes.set_errno(0)
    return 'allowed' if libc.syscall(*args) != -1 else errno.errorcode[ctypes.get_errno()]
def opened(*args):
    try: socket.socket(*args).close(); return 'allowed'
    except OSError as error: return errno.errorcode[error.errno]
";

#[tokio::test]
async fn opens_sockets_of_four_families_only() {
    let place = Place::new();
    let code = format!(
        "{CALL}
print(*(opened(family, kind) for family, kind in [(1, 1), (2, 1), (2, 2), (10, 1), (16, 3)]))
print(*(opened(*which) for which in [(16, 3, 9), (16, 3, 16), (17, 3), (38, 5), (40, 1), (44, 3)]))
print(len(socket.socketpair()))"
    );
    let refused = ["EAFNOSUPPORT"; 6].join(" ");
    assert_eq!(place.says(&code).await, format!("{}\n{refused}\n2", ["allowed"; 5].join(" ")));
}

#[cfg(target_arch = "x86_64")]
#[tokio::test]
async fn refuses_calls_that_change_personality_or_list_mounts() {
    let place = Place::new();
    // quotactl_fd, statmount, listmount, open_tree_attr, listns, memfd_secret. Then personality:
    // query, change, set to the same.
    let code = format!(
        "{CALL}
print(*(call(*args) for args in [(443, 0, 0, 0, 0), (457, 0, 0, 0, 0), (458, 0, 0, 0, 0), (467, 0, 0, 0, 0, 0), (470, 0, 0, 0, 0), (447, 0)]))
print(*(call(135, ctypes.c_ulong(to)) for to in [0xffffffff, 0x0040000, 0]))"
    );
    assert_eq!(place.says(&code).await, "EPERM EPERM EPERM EPERM EPERM ENOSYS\nallowed EPERM allowed");
}

#[tokio::test]
async fn a_worker_cannot_access_the_memory_of_pid_1() {
    let place = Place::new();
    let code = "\
def can(path, mode):
    try: open(path, mode).close(); return True
    except OSError: return False
print(can('/proc/1/mem', 'rb'), can('/proc/1/mem', 'r+b'), can('/proc/1/environ', 'rb'), can('/proc/self/mem', 'rb'))";
    assert_eq!(place.says(code).await, "False False False True");
}

#[tokio::test]
async fn covers_the_kernels_configuration() {
    let place = Place::new();
    let code = "\
import os
print([name for name in ['config.gz', 'kallsyms', 'keys'] if os.path.exists('/proc/' + name) and open('/proc/' + name, 'rb').read()])";
    assert_eq!(place.says(code).await, "[]");
}

#[tokio::test]
async fn a_hidden_file_is_empty_in_a_visible_folder() {
    let shown = tempfile::tempdir().expect("a folder");
    let (key, other) = (shown.path().join("tls/key.pem"), shown.path().join("tls/chain.pem"));
    fs::create_dir(shown.path().join("tls")).expect("a folder");
    for file in [&key, &other] {
        fs::write(file, "content").expect("write");
    }
    // The server is configured with a symlink.
    let link = shown.path().join("link.pem");
    std::os::unix::fs::symlink(&key, &link).expect("a link");
    let place = Place::hiding(vec![link.clone()]);
    let code = format!(
        "\
def read(path):
    try: return open(path).read()
    except PermissionError: return ''
print([read(path) for path in [{key:?}, {link:?}, {other:?}]])"
    );
    let mut spec = place.spec(1, &code);
    spec.readable.push(shown.path().to_owned());
    std::fs::set_permissions(shown.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("open it");
    let ended = end(place.start(&spec)).await;
    assert_eq!(ended.stdout.trim(), "['', '', 'content']", "{}", ended.stderr);
}

/// Also in a directory of the system, which every worker sees.
#[tokio::test]
async fn a_hidden_directory_is_empty_in_a_visible_folder() {
    for parent in [std::env::temp_dir(), "/usr/local/lib".into()] {
        let Ok(shown) = tempfile::tempdir_in(&parent) else {
            println!("skipped: this user may not write to {}", parent.display());
            continue;
        };
        let (data, own, beside) =
            (shown.path().join("data"), shown.path().join("data/run"), shown.path().join("beside"));
        fs::create_dir_all(&own).expect("a folder");
        for file in [data.join("secret.key"), own.join("worker.py"), own.join("other"), beside.clone()] {
            fs::write(file, "content").expect("write");
        }
        std::fs::set_permissions(shown.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("open it");
        let place = Place::hiding(vec![data.clone()]);
        let code = format!(
            "\
import os
def read(path):
    try: return os.listdir(path) if os.path.isdir(path) else open(path).read()
    except OSError: return ''
def write(path):
    try: open(path, 'w'); return True
    except OSError: return False
print([read(path) for path in [{data:?}, {key:?}, {worker:?}, {other:?}, {beside:?}]], write({new:?}))",
            key = data.join("secret.key"),
            worker = own.join("worker.py"),
            other = own.join("other"),
            new = data.join("new"),
        );
        let mut spec = place.spec(1, &code);
        // What the server itself shows of the directory stays visible.
        spec.readable.extend([shown.path().to_owned(), own.join("worker.py")]);
        let ended = end(place.start(&spec)).await;
        assert_eq!(ended.stdout.trim(), "[['run'], '', 'content', '', 'content'] False", "{}", ended.stderr);
    }
}

#[tokio::test]
async fn counts_shared_memory_and_files_in_memory() {
    let place = Place::new();
    let code = "\
import mmap, socket
shared = mmap.mmap(-1, 32 << 20)
for page in range(0, len(shared), 4096): shared[page] = 1
for n in range(3): open(f'/tmp/{n}', 'wb').write(b'x' * (1 << 20))
print('ready', flush=True); socket.socket(fileno=3).accept()";
    let mut jailed = place.start(&place.spec(1, code));
    assert_eq!(first_line(&mut jailed).await, "ready");
    let used = jailed.memory_used().expect("memory is counted");
    assert!((35 << 20..70 << 20).contains(&used), "{used}");
}

#[tokio::test]
async fn counts_shared_memory_that_was_released() {
    let place = Place::new();
    let code = "\
import mmap, os, socket
held = [mmap.mmap(-1, 10 << 20) for _ in range(8)]
for shared in held:
    for page in range(0, len(shared), 4096): shared[page] = 1
    shared.madvise(mmap.MADV_DONTNEED)
for _ in range(2):
    if os.fork() == 0: break
else: print('ready', flush=True)
socket.socket(fileno=3).accept()";
    let mut jailed = place.start(&place.spec(1, code));
    assert_eq!(first_line(&mut jailed).await, "ready");
    let used = jailed.memory_used().expect("memory is counted");
    assert!((80 << 20..140 << 20).contains(&used), "{used}: once for all processes that have it");
}

#[tokio::test]
async fn refuses_unseen_memory_without_a_cgroup() {
    let place = Place::new();
    let counted = place.jail.abilities().iter().any(|ability| ability.name == "cgroup memory" && ability.in_force);
    let code = format!("{CALL}print(call({}, b'x', 0))", if cfg!(target_arch = "x86_64") { 319 } else { 279 });
    assert_eq!(place.says(&code).await, if counted { "allowed" } else { "ENOSYS" });
}

/// Started by the test below with another `/etc/ssl`. On its own, it tests this machine's.
#[tokio::test]
async fn hides_keys_beside_certificates() {
    let place = Place::new();
    let code = "import os; print(os.path.exists('/etc/ssl/private'), os.path.exists('/etc/pki/tls/private'))";
    assert_eq!(place.says(code).await, "False False");
    let said = place.says("print([os.listdir('/etc/ssl/certs')])".replace("print", "import os; print").as_str()).await;
    assert!(said.len() > 4 || !std::path::Path::new("/etc/ssl/certs").exists(), "{said}");
}

#[test]
fn hides_keys_on_a_server_of_an_ordinary_user() {
    let can = Command::new("unshare").args(["--mount", "setpriv", "--version"]).output();
    if !nix::unistd::geteuid().is_root() || !can.is_ok_and(|output| output.status.success()) {
        println!(
            "skipped: root, unshare and setpriv (of util-linux) are needed to replace /etc/ssl for a server of another user"
        );
        return;
    }
    let folder = crate::servers::program_for_others();
    // Debian's layout: the key belongs to a group that the server is in.
    let script = "mount -t tmpfs none /etc/ssl && mkdir /etc/ssl/private /etc/ssl/certs && echo C > /etc/ssl/certs/c.pem && \
                  echo KEY > /etc/ssl/private/key.pem && chown -R root:65534 /etc/ssl && chmod -R g+rX /etc/ssl && \
                  exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$0\" --exact \
                  refusals::hides_keys_beside_certificates --nocapture";
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", script])
        .arg(folder.path().join("deps/sandbox"))
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
        .current_dir("/")
        .output()
        .expect("run this test as another user");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
