//! Servers with fewer privileges than root.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::ground::Ground;
use crate::support;

/// Signals to the test below that it was started with fewer privileges.
const LESSER: &str = "MILEPOST_TEST_LESSER";

fn can_be_lesser() -> bool {
    let can = nix::unistd::geteuid().is_root() && Command::new("setpriv").arg("--version").output().is_ok();
    if !can {
        println!("skipped: root and setpriv (of util-linux) are needed to take away a right");
    }
    can
}

#[track_caller]
fn run(setpriv: &mut Command, test: &std::path::Path, name: &str) {
    let output = setpriv
        .arg(test)
        .args(["--exact", name, "--nocapture"])
        .env_clear()
        .env(LESSER, "1")
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .current_dir("/")
        .output()
        .expect("run this test with fewer rights");
    let said = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}\n{complaint}");
}

#[test]
fn a_build_works_where_namespaces_are_refused() {
    if can_be_lesser() {
        let test = std::env::current_exe().expect("the path of this test");
        let mut setpriv = Command::new("setpriv");
        run(
            setpriv.args(["--bounding-set=-sys_admin", "--inh-caps=-sys_admin"]),
            &test,
            "servers::a_lesser_server_builds",
        );
    }
}

#[test]
fn a_build_works_on_a_server_of_an_ordinary_user() {
    if !can_be_lesser() {
        return;
    }
    // The same layout as the target directory, which the user may not enter.
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("open the folder");
    for (name, from) in
        [("deps/build", std::env::current_exe().expect("this test")), ("examples/jail", support::stages())]
    {
        let to = folder.path().join(name);
        fs::create_dir(to.parent().expect("a parent")).expect("a folder");
        fs::copy(from, &to).expect("copy a program");
        fs::set_permissions(to, fs::Permissions::from_mode(0o755)).expect("open a program");
    }
    let mut setpriv = Command::new("setpriv");
    let ordinary = setpriv.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    run(ordinary, &folder.path().join("deps/build"), "servers::a_lesser_server_builds");
}

/// Started by the tests above. Does nothing on its own.
#[tokio::test]
async fn a_lesser_server_builds() {
    if std::env::var_os(LESSER).is_none() {
        return;
    }
    let ground = Ground::new().await;
    let secret = ground.folder.path().join("catalog.db");
    fs::write(&secret, "secret").expect("write");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o666)).expect("open the file");
    let command = format!(
        "cat '{}' 2>/dev/null; mkdir closed && touch closed/x && chmod 500 closed && cp -r . $DEPLOY_PKG && echo done",
        secret.display()
    );
    let built = ground.build(&[("a.txt", "one")], &command).await;
    assert_eq!(built.lines(), ["done"]);
    assert_eq!(built.read("a.txt"), "one");
    drop(built);
    crate::ground::eventually("no folder is left", || ground.rooms() == 0).await;
}
