//! Tests the hermetic environment, with a shell script in place of `milepost`.
#![expect(clippy::unwrap_used, reason = "a helper of tests")]

use std::fs;
use std::process::Command;

use milepost_testkit::cli::CliEnv;
use tempfile::TempDir;

/// A stand-in for `milepost` that runs the script.
fn stand_in(script: &str) -> (TempDir, CliEnv) {
    let folder = tempfile::tempdir().unwrap();
    let (text, binary) = (folder.path().join("script"), folder.path().join("milepost"));
    fs::write(&text, format!("#!/bin/sh\n{script}\n")).unwrap();
    // Another process writes the executable: a file that this process has open for writing could be
    // inherited by a child started from another thread, and could not be executed while that child
    // lives.
    let installed = Command::new("install").args(["-m", "755"]).arg(&text).arg(&binary).status().unwrap();
    assert!(installed.success());
    let env = CliEnv::with_binary(&binary);
    (folder, env)
}

const SERVE: &str = r#"
mkdir -p "$MILEPOST_DATA"
n=$(($(cat "$MILEPOST_DATA/starts" 2>/dev/null || echo 0) + 1))
echo $n > "$MILEPOST_DATA/starts"
echo "{\"api\": \"http://127.0.0.1:4000$n\", \"pid\": $$}" > "$MILEPOST_DATA/server.json"
echo "Milepost is ready at http://127.0.0.1:4000$n, args $*" >&2
exec tail -f /dev/null
"#;

#[test]
fn a_snapshot_has_the_command_its_output_and_its_exit_code() {
    let (_folder, env) = stand_in(r#"echo "in $PWD"; echo "at http://127.0.0.1:45678" >&2; exit 3"#);
    let output = env.run(&["app", "create", "my shop"]);
    assert_eq!(
        output.snapshot(),
        "$ milepost app create 'my shop'\nin $HOME/work\n[stderr]\nat http://127.0.0.1:PORT\n[exit 3]\n"
    );
}

#[test]
fn shows_a_missing_newline() {
    let (_folder, env) = stand_in("printf shop");
    assert_eq!(env.run(&[]).snapshot(), "$ milepost\nshop[no newline]\n");
}

#[test]
fn inherits_nothing_of_the_outer_environment() {
    let (_folder, mut env) = stand_in("env | cut -d= -f1 | grep -v ^_ | sort");
    env.unset("TERM");
    env.set("MILEPOST_APP", "shop");
    let names = env.run(&[]).success();
    let expected =
        "COLUMNS HOME LANG MILEPOST_APP MILEPOST_DATA MILEPOST_TEST_CLOCK MILEPOST_TEST_SEED PATH PWD TMPDIR TZ";
    assert_eq!(names.split_whitespace().collect::<Vec<_>>().join(" "), expected);
}

#[test]
fn passes_files_and_input_to_the_command() {
    let (_folder, env) = stand_in("cat - \"$1\"");
    env.write_file("functions/hello.js", "file\n");
    assert_eq!(env.run_with_input(&["functions/hello.js"], "input\n").success(), "input\nfile\n");
    assert_eq!(env.run_in("functions", &["hello.js"]).success(), "file\n");
}

#[test]
fn waits_for_a_server_and_restarts_it() {
    let (_folder, env) = stand_in(SERVE);
    let mut server = env.server_with(&["--domain", "example.test"]);
    assert_eq!(server.api(), "http://127.0.0.1:40001");
    server.kill9();
    server.restart();
    assert_eq!(server.api(), "http://127.0.0.1:40002");
    let ready = "Milepost is ready at http://127.0.0.1:PORT, args serve --api 127.0.0.1:0 --gateway 127.0.0.1:0 \
                 --domain example.test\n";
    assert_eq!(server.stderr(), ready.repeat(2));
}

#[test]
#[should_panic(expected = "cannot open the database")]
fn a_server_that_exits_at_once_fails_the_test_with_its_output() {
    let (_folder, env) = stand_in("echo 'Error: cannot open the database' >&2; exit 1");
    env.server();
}
