//! Servers with fewer privileges than root.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::place::{Place, end};
use crate::support;

/// Signals to the test below that it was started without a capability.
const WITHOUT_RIGHT: &str = "MILEPOST_TEST_WITHOUT_RIGHT";

#[test]
fn files_stay_closed_where_namespaces_are_refused() {
    if !nix::unistd::geteuid().is_root() || Command::new("setpriv").arg("--version").output().is_err() {
        println!("skipped: root and setpriv (of util-linux) are needed to take away a right");
        return;
    }
    // As in a container: root without the capability to create namespaces.
    let output = Command::new("setpriv")
        .args(["--bounding-set=-sys_admin", "--inh-caps=-sys_admin"])
        .arg(std::env::current_exe().expect("the path of this test"))
        .args(["--exact", "servers::a_server_that_may_not_make_namespaces", "--nocapture"])
        .env(WITHOUT_RIGHT, "1")
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

/// Started by the test above, without the capability. Does nothing on its own.
#[tokio::test]
async fn a_server_that_may_not_make_namespaces() {
    if std::env::var_os(WITHOUT_RIGHT).is_none() {
        return;
    }
    let place = Place::expecting(true, false);
    let abilities = place.jail.abilities();
    let in_force = |name: &str| abilities.iter().any(|ability| ability.name == name && ability.in_force);
    assert!(in_force("landlock") && in_force("user switch") && in_force("seccomp"), "{abilities:#?}");
    let refused = abilities.iter().find(|ability| ability.name == "namespaces").expect("it is listed");
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
    // The inner stage is the parent and has the same restrictions.
    assert_eq!(said, "False False False False True False True\nTrue True True True");
    hidden_files_stay_closed().await;
}

/// Landlock cannot take anything out of a directory that it allows.
async fn hidden_files_stay_closed() {
    for parent in [std::env::temp_dir(), "/usr/local/lib".into()] {
        let shown = tempfile::tempdir_in(parent).expect("a folder");
        let (data, key, beside) =
            (shown.path().join("data"), shown.path().join("key.pem"), shown.path().join("beside"));
        fs::create_dir(&data).expect("a folder");
        for file in [data.join("secret.key"), key.clone(), beside.clone()] {
            fs::write(&file, "content").expect("write");
            fs::set_permissions(file, fs::Permissions::from_mode(0o666)).expect("open the file");
        }
        for folder in [shown.path(), &data] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).expect("open the folder");
        }
        let place = Place::hiding(vec![data.clone(), key.clone()]);
        let code = format!(
            "\
def can(path):
    try: return bool(open(path).read())
    except PermissionError: return False
print(can({secret:?}), can({key:?}), can({beside:?}))",
            secret = data.join("secret.key"),
        );
        let mut spec = place.spec(1, &code);
        spec.readable.push(shown.path().to_owned());
        let ended = end(place.start(&spec)).await;
        assert_eq!(ended.stdout.trim(), "False False True", "{}", ended.stderr);
    }
}

#[test]
fn all_sandbox_tests_pass_as_an_ordinary_user() {
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: this run is one of an ordinary user already");
        return;
    }
    if Command::new("setpriv").arg("--version").output().is_err() {
        println!("skipped: setpriv (of util-linux) is needed to become another user");
        return;
    }
    let folder = program_for_others();
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

/// Copies this program to where every user may run it, in the same layout as the target directory.
pub fn program_for_others() -> tempfile::TempDir {
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
    folder
}
