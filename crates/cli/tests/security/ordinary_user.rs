//! Servers without root: workers run as the server's user, so only the view of the file system
//! hides the server's files from them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use milepost_testkit::cli::CliEnv;
use serde_json::{Value, json};

use crate::common::World;
use crate::stage::Stage;

const MANIFEST: &str = "
app: shop
functions:
  python: { env: python, src: python/ }
  node: { env: node, src: node/ }
routes:
  - GET /python: python
  - GET /node: node
";

/// Prints which of the requested paths the function can read, and its interpreter.
const PYTHON: &str = "\
import os, sys
def look(path):
    try: return os.listdir(path) if os.path.isdir(path) else open(path, 'rb').read().hex()
    except OSError as error: return type(error).__name__
def main(request):
    return {'runs': sys.executable, 'seen': {path: look(path) for path in request.args['paths'].split(':')}}
";
const NODE: &str = "\
const fs = require('node:fs')
const look = path => { try { return fs.statSync(path).isDirectory() ? fs.readdirSync(path) : fs.readFileSync(path, 'hex') } catch (error) { return error.code } }
module.exports = async context => ({ status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify({
  runs: process.execPath, seen: Object.fromEntries(context.request.query.paths.split(':').map(path => [path, look(path)])) }) })
";

/// The server of an ordinary user with the default data folder, beside interpreters installed with
/// `--prefix=$HOME/.local`.
fn with_own_interpreters(data: &str) -> Option<CliEnv> {
    let (python, node) =
        (Path::new("/usr/bin/python3").canonicalize().ok()?, Path::new("/usr/bin/node").canonicalize().ok()?);
    let library = PathBuf::from("/usr/lib").join(python.file_name()?);
    if !library.join("os.py").exists() {
        return None;
    }
    let mut env = CliEnv::new();
    env.unset("MILEPOST_TEST_SEED");
    env.unset("MILEPOST_TEST_CLOCK");
    let local = env.home().join(".local");
    fs::create_dir_all(local.join("bin")).unwrap();
    fs::create_dir_all(local.join("lib")).unwrap();
    fs::copy(python, local.join("bin/python3")).unwrap();
    fs::copy(node, local.join("bin/node")).unwrap();
    // Python derives its prefix from this folder.
    symlink(&library, local.join("lib").join(library.file_name()?)).unwrap();
    env.set("PATH", &format!("{}:/usr/bin:/bin", local.join("bin").display()));
    env.set("MILEPOST_DATA", local.join(data).to_str()?);
    env.set("MILEPOST_APP", "shop");
    fs::set_permissions(env.home(), fs::Permissions::from_mode(0o755)).unwrap();
    Some(env)
}

fn write_functions(env: &CliEnv) {
    for (path, text) in [("milepost.yaml", MANIFEST), ("python/main.py", PYTHON), ("node/index.js", NODE)] {
        env.write_file(path, text);
    }
}

/// Calls both functions. They must run on the user's own interpreters and see nothing of the
/// server.
async fn assert_nothing_is_read(stage: &Stage, data: &Path, home: &Path) {
    for file in ["secret.key", "admin.token", "catalog.db"] {
        assert!(data.join(file).is_file(), "no {file}: the test looks at nothing");
    }
    let private = home.join(".local/share/keyring");
    fs::create_dir_all(private.parent().unwrap()).unwrap();
    fs::write(&private, "private").unwrap();
    fs::set_permissions(&private, fs::Permissions::from_mode(0o644)).unwrap();
    let paths = ["secret.key", "admin.token", "catalog.db", "cache"].map(|name| data.join(name)).into_iter();
    let paths: Vec<_> =
        paths.chain([private, home.join("work/milepost.yaml")]).map(|path| path.display().to_string()).collect();
    for path in ["/python", "/node"] {
        let answer = stage.get(&format!("{path}?paths={}", paths.join(":"))).await;
        assert_eq!(answer.status, 200, "{}\n{}", answer.body, stage.log_of(&answer.request));
        let told: Value = serde_json::from_str(&answer.body).unwrap();
        let runs = told["runs"].as_str().unwrap();
        assert!(Path::new(runs).starts_with(home.join(".local/bin")), "{path} runs on another interpreter: {runs}");
        for (path, seen) in told["seen"].as_object().unwrap() {
            let refused =
                ["FileNotFoundError", "PermissionError", "ENOENT", "EACCES"].iter().any(|error| seen == error);
            assert!(refused, "a function on {runs} reads {path}: {seen}");
        }
    }
}

#[tokio::test]
async fn functions_read_nothing_of_the_server_beside_their_interpreters() {
    // The default data folder, and one inside a folder that interpreters need.
    for data in ["share/milepost", "lib/milepost"] {
        let Some(mut env) = with_own_interpreters(data) else {
            println!("skipped: Python and Node are needed in /usr/bin");
            return;
        };
        env.become_ordinary_user();
        write_functions(&env);
        let stage = Stage::in_env("shop", env, &[]);
        stage.deploy();
        assert_nothing_is_read(&stage, &stage.world.env.data_dir(), stage.world.env.home()).await;
    }
}

/// The same without namespaces, where only Landlock hides files from workers.
#[tokio::test]
async fn functions_read_nothing_of_the_server_where_only_landlock_holds() {
    for data in ["share/milepost", "lib/milepost"] {
        let Some(mut env) = with_own_interpreters(data) else {
            println!("skipped: Python and Node are needed in /usr/bin");
            return;
        };
        env.become_ordinary_user();
        if !refuse_namespaces(&mut env) {
            println!("skipped: unshare and setpriv (of util-linux) are needed to take away a right");
            return;
        }
        write_functions(&env);
        let stage = Stage::in_env("shop", env, &[]);
        let checks = stage.world.env.run(&["doctor", "-o", "json"]);
        let checks: Vec<Value> = serde_json::from_str(&checks.stdout).unwrap();
        let state = |name: &str| checks.iter().find(|check| check["name"] == name).unwrap()["state"].clone();
        assert_ne!(state("sandbox: namespaces"), "ok");
        if state("sandbox: landlock") != json!("ok") {
            println!("skipped: this machine has no Landlock");
            return;
        }
        stage.deploy();
        assert_nothing_is_read(&stage, &stage.world.env.data_dir(), stage.world.env.home()).await;
    }
}

/// Runs commands and servers in a user namespace that refuses nested ones.
fn refuse_namespaces(env: &mut CliEnv) -> bool {
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --ambient-caps -all --inh-caps -all";
    env.wrap(&[
        "unshare",
        "--user",
        "--map-user=1000",
        "--map-group=1000",
        "--keep-caps",
        "sh",
        "-c",
        &format!("{script} \"$@\""),
        "sh",
    ]);
    let unshare = Command::new("unshare").arg("--version").output().is_ok();
    unshare && Command::new("setpriv").arg("--version").output().is_ok() && env.run(&["--version"]).succeeded()
}

/// An interpreter inside the data folder cannot be shown without the data folder.
#[tokio::test]
async fn an_interpreter_inside_the_data_folder_is_refused_with_the_reason() {
    let Some(mut env) = with_own_interpreters("share/milepost") else {
        println!("skipped: Python and Node are needed in /usr/bin");
        return;
    };
    let local = env.home().join(".local");
    env.set("MILEPOST_DATA", local.to_str().unwrap());
    env.become_ordinary_user();
    // The system's `node` must not be found, but `sh` must.
    let system = env.home().join("system");
    fs::create_dir(&system).unwrap();
    symlink("/bin/sh", system.join("sh")).unwrap();
    env.set("PATH", &format!("{}:{}", local.join("bin").display(), system.display()));
    write_functions(&env);
    let world = World::in_env(env, &[]);
    let deploy = world.run("deploy");
    assert!(!deploy.succeeded(), "{}", deploy.snapshot());
    for said in [deploy.stderr, world.run("doctor").stdout] {
        assert!(said.contains("workers would have to see") && said.contains("belongs to the server"), "{said}");
    }
}
