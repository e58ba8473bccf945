//! Runs the worker programs' own tests, which talk to the workers over their protocol and need only
//! the interpreters.
#![expect(clippy::unwrap_used, reason = "test code: a step that fails ends the test")]

use std::path::Path;
use std::process::Command;

fn run(script: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("workers/tests").join(script);
    let output = Command::new("python3").arg(path).output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{script} failed:\n{said}");
}

#[test]
fn slow_the_python_worker_follows_the_protocol() {
    run("test_python.py");
}

#[test]
fn slow_the_node_worker_follows_the_protocol() {
    run("test_node.py");
}
