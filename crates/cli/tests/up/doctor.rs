use std::net::TcpListener;

use milepost_testkit::cli::{CliEnv, Output};
use serde_json::Value;

use crate::common::World;

#[track_caller]
fn check<'a>(checks: &'a Value, name: &str) -> &'a Value {
    let found = checks.as_array().and_then(|checks| checks.iter().find(|check| check["name"] == name));
    found.unwrap_or_else(|| panic!("`{name}` was not looked at: {checks}"))
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", output.snapshot()))
}

#[test]
fn without_a_server_a_taken_port_is_bad_and_its_owner_named() {
    let env = CliEnv::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = env.run(&["doctor", "--api", &address, "--gateway", "127.0.0.1:0", "-o", "json"]);
    assert_eq!(output.status, Some(1), "{}", output.snapshot());
    assert!(output.stderr.contains("1 check failed"), "{}", output.snapshot());
    let checks = json(&output);
    let port = check(&checks, "api port");
    assert_eq!(port["state"], "bad");
    let detail = port["detail"].as_str().unwrap_or_default();
    assert!(detail.contains(&format!("(process {})", std::process::id())), "{detail}");
    assert!(port["fix"].as_str().is_some_and(|fix| fix.contains("--api")), "{port}");
    for good in ["data folder", "clock", "server", "gateway port"] {
        assert_eq!(check(&checks, good)["state"], "ok", "{checks}");
    }
    // The free disk space depends on this machine.
    check(&checks, "disk");
    let table = env.run(&["doctor", "--api", &address, "--gateway", "127.0.0.1:0"]);
    assert!(
        table.stdout.contains("ok    data folder") && table.stdout.contains("fix: stop it, or pass `--api"),
        "{}",
        table.snapshot()
    );
}

#[test]
fn a_missing_interpreter_is_found_with_its_fix() {
    let mut env = CliEnv::new();
    env.set("PATH", "/nowhere");
    let output = env.run(&["doctor", "--api", "127.0.0.1:0", "--gateway", "127.0.0.1:0", "-o", "json"]);
    let checks = json(&output);
    for name in ["python", "node"] {
        assert_eq!(check(&checks, name)["state"], "warn", "{checks}");
        assert!(check(&checks, name)["fix"].as_str().is_some_and(|fix| fix.contains("install")), "{checks}");
    }
}

#[test]
fn a_data_folder_that_cannot_be_written_is_bad() {
    let mut env = CliEnv::new();
    env.set("MILEPOST_DATA", "/proc/milepost");
    let output = env.run(&["doctor", "--api", "127.0.0.1:0", "--gateway", "127.0.0.1:0", "-o", "json"]);
    assert_eq!(output.status, Some(1), "{}", output.snapshot());
    assert_eq!(check(&json(&output), "data folder")["state"], "bad");
}

#[test]
fn doctor_reports_a_running_server_and_asks_its_gateway() {
    let mut world = World::on_machine_time();
    let output = world.run("doctor -o json");
    let checks = json(&output);
    for good in ["server", "database", "files", "server clock", "gateway"] {
        assert_eq!(check(&checks, good)["state"], "ok", "{checks}");
    }
    check(&checks, "python");
    world.server.kill9();
    let checks = json(&world.run("doctor --api 127.0.0.1:0 --gateway 127.0.0.1:0 -o json"));
    assert_eq!(check(&checks, "server")["state"], "warn", "{checks}");
}
