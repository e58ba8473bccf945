//! Builds run code from packages, so they have limits like functions.

use milepost_testkit::cli::CliEnv;

use crate::common::World;

fn world(args: &[&str], command: &str) -> World {
    let mut env = CliEnv::new();
    env.unset("MILEPOST_TEST_CLOCK");
    env.set("NETRC", "/srv/ci/.netrc");
    env.set("DEPLOY_KEY", "hunter2");
    let world = World::in_env(env, args);
    world.env.write_file("src/main.py", "def main():\n    return 'built'\n");
    let manifest = format!("app: shop\nfunctions:\n  f: {{ env: python, src: src, build: {command:?} }}\n");
    world.env.write_file("milepost.yaml", manifest);
    world
}

#[test]
fn a_build_cannot_fill_the_disk() {
    let world = world(&["--build-disk", "32Mi"], "head -c 200000000 /dev/zero > big; sleep 60");
    let output = world.run("deploy");
    assert_eq!(output.status, Some(1), "{}", output.snapshot());
    assert!(output.stderr.contains("wrote more than 32 MiB"), "{}", output.stderr);
    assert!(output.stderr.contains("--build-disk"), "{}", output.stderr);
}

#[test]
fn a_build_sees_neither_the_environment_nor_the_data_of_the_server() {
    let command = "env; cat $MILEPOST_DATA/admin.token; exit 1";
    let world = world(&[], command);
    let token = std::fs::read_to_string(world.env.data_dir().join("admin.token")).unwrap();
    let output = world.run("deploy");
    assert_eq!(output.status, Some(1), "{}", output.snapshot());
    assert!(output.stderr.contains("PATH="), "the build printed its environment: {}", output.stderr);
    for secret in ["hunter2", "NETRC", token.trim()] {
        assert!(!output.stderr.contains(secret), "{secret} in {}", output.stderr);
    }
}

#[test]
fn the_server_warns_of_passwords_that_builds_can_read() {
    let mut env = CliEnv::new();
    env.set("PIP_INDEX_URL", "https://user:hunter2@pypi.example/simple");
    env.set("NPM_CONFIG_FUND", "false");
    let world = World::in_env(env, &[]);
    let said = world.server.stderr();
    let warning =
        said.lines().find(|line| line.contains("builds of all apps can read")).unwrap_or_else(|| panic!("{said}"));
    assert!(warning.contains("PIP_INDEX_URL") && !warning.contains("NPM_CONFIG_FUND"), "{warning}");
    assert!(!said.contains("hunter2"), "{said}");
}
