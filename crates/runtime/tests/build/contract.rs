//! The contract of build commands: what they get, and what they have to produce.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use milepost_model::spec::Runtime as Kind;
use milepost_runtime::sandbox::interpreters;

use crate::ground::{Ground, order};

const SEEDS_COMMAND: &str = "#!/bin/sh\npip3 --version >/dev/null && cp -r ${SRC_PKG} ${DEPLOY_PKG}\n";

#[tokio::test]
async fn a_typical_build_script_copies_the_source_to_the_result() {
    let ground = Ground::new().await;
    let room = ground.room(&[("build.sh", SEEDS_COMMAND), ("hello.py", "hi"), ("lib/x.py", "x")]).await;
    fs::set_permissions(room.source().join("build.sh"), fs::Permissions::from_mode(0o755)).expect("make it a program");
    let (lines, _kept) = tokio::sync::mpsc::channel(16);
    ground.runtime.build(&room, order(Kind::Python, "./build.sh"), lines).await.expect("a result");
    let read = |path: &str| fs::read_to_string(room.result().join(path)).expect("a file");
    assert_eq!((read("hello.py").as_str(), read("lib/x.py").as_str()), ("hi", "x"));
    let mode = fs::metadata(room.result().join("build.sh")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o111, 0o111, "{mode:o}");
}

#[tokio::test]
async fn runs_in_the_writable_source_before_the_result_exists() {
    let ground = Ground::new().await;
    let command = "test \"$PWD\" = \"$SRC_PKG\" && test ! -e \"$DEPLOY_PKG\" && echo more >> a.txt && mkdir new && \
                   echo $HOME > \"$HOME/x\" && echo x > \"$TMPDIR/x\" && echo x > /tmp/x && cp -r . \"$DEPLOY_PKG\"";
    let built = ground.build(&[("a.txt", "one\n")], command).await;
    assert!(built.lines().is_empty());
    assert_eq!(built.read("a.txt"), "one\nmore\n");
}

#[tokio::test]
async fn the_contract_holds_without_namespaces() {
    let ground = Ground::with(|settings| settings.sandbox = false).await;
    let built = ground.build(&[("a.txt", "one")], "echo $SRC_PKG; pwd; cp -r ${SRC_PKG} ${DEPLOY_PKG}").await;
    let lines = built.lines();
    assert_eq!(lines[0], lines[1]);
    assert_eq!(built.read("a.txt"), "one");
}

#[tokio::test]
async fn accepts_a_file_as_result_and_rejects_a_missing_one() {
    let ground = Ground::new().await;
    let built = ground.build(&[], "echo main > $DEPLOY_PKG").await;
    assert!(built.lines().is_empty());
    assert_eq!(fs::read_to_string(built.room.result()).expect("a file"), "main\n");
    let nothing = ground.build(&[], "true").await;
    assert!(nothing.reason().contains("left nothing at $DEPLOY_PKG"), "{}", nothing.reason());
    assert!(nothing.reason().contains("cp -r $SRC_PKG $DEPLOY_PKG"), "{}", nothing.reason());
}

#[tokio::test]
async fn finds_the_same_interpreters_as_functions() {
    let ground = Ground::new().await;
    let python = interpreters::find(Kind::Python, "").expect("python3");
    let node = interpreters::find(Kind::Node, "").expect("node");
    let command = "for name in python3 python; do $name -c 'import platform; print(platform.python_version())'; done; \
                   env python3 -c 'import sys; print(sys.executable)' && touch $DEPLOY_PKG";
    let built = ground.build_order(&[], order(Kind::Python, command)).await;
    let program = python.program.to_string_lossy();
    assert_eq!(built.lines(), [python.version.as_str(), &python.version, &program]);
    let built = ground.build_order(&[], order(Kind::Node, "node --version > $DEPLOY_PKG")).await;
    assert!(built.lines().is_empty());
    assert_eq!(fs::read_to_string(built.room.result()).expect("a file").trim(), format!("v{}", node.version));
}

#[tokio::test]
async fn reports_a_missing_interpreter() {
    let ground = Ground::new().await;
    let mut order = order(Kind::Python, "true");
    order.interpreter = "3.99".to_owned();
    let built = ground.build_order(&[], order).await;
    assert!(built.reason().starts_with("python 3.99 is not on the server's PATH"), "{}", built.reason());
}

#[tokio::test]
async fn npm_installs_a_dependency_from_a_folder() {
    if Command::new("npm").arg("--version").output().is_err() {
        println!("skipped: npm is not here; `cargo xtask setup` installs it");
        return;
    }
    let ground = Ground::new().await;
    let files = [
        ("package.json", "{\"name\": \"x\", \"dependencies\": {\"greet\": \"file:./greet\"}}"),
        ("index.js", "console.log(require('greet').hello)"),
        ("greet/package.json", "{\"name\": \"greet\", \"version\": \"1.0.0\", \"main\": \"main.js\"}"),
        ("greet/main.js", "exports.hello = 'hello'"),
    ];
    let command = "npm install --omit=dev --no-audit --no-fund --offline && cp -R \"$SRC_PKG\" \"$DEPLOY_PKG\" && \
                   cd \"$DEPLOY_PKG\" && node index.js";
    let built = ground.build_order(&files, order(Kind::Node, command)).await;
    assert_eq!(built.lines().last(), Some(&"hello"));
}
