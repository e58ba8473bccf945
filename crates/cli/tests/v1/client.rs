//! The interface's original client library and command line, in `client.py`, against a real server.

use std::path::Path;
use std::process::Command;

use crate::stage::{Stage, python_with_client};

/// Runs a class of cases in `client.py` against its own server.
fn run(cases: &str) {
    run_on(&[], &[cases]);
}

fn run_on(server: &[&str], cases: &[&str]) {
    let stage = Stage::new(server);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/v1/client.py");
    let output = Command::new(python_with_client())
        .arg(script)
        .args(cases)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", stage.env.home())
        .env("MILEPOST_V1_URL", stage.server.api())
        .env("MILEPOST_V1_TOKEN", &stage.token)
        .env("MILEPOST_V1_SHOP", stage.token_of("shop", "deployer"))
        .env("MILEPOST_V1_READER", stage.token_of("shop", "reader"))
        .current_dir(stage.env.work_dir())
        .output()
        .unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{cases:?} failed:\n{said}");
}

#[test]
fn the_client_makes_updates_publishes_runs_downloads_and_deletes() {
    run("Life");
}

#[test]
fn the_client_sees_how_executions_end() {
    run("Ends");
}

#[test]
fn the_client_uses_jobs_webhooks_and_aliases() {
    run("Starters");
}

#[test]
fn the_client_of_another_project_sees_its_own_only() {
    run("Projects");
}

#[test]
fn the_client_scales_and_detaches() {
    run("Workers");
}

#[test]
fn slow_the_command_line_of_the_client_works_unchanged() {
    run("CommandLine");
}

#[test]
fn slow_the_client_works_on_postgresql() {
    let database = milepost_testkit::postgres::database();
    run_on(&["--database", &database.url], &["Life", "Starters", "Projects"]);
}

/// The interface only supports whole minutes.
#[test]
fn slow_a_job_of_the_client_fires_and_follows_its_alias() {
    run("Firing");
}
