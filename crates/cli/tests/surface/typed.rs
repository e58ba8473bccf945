use milepost_testkit::cli::CliEnv;

use crate::common::World;

const CODE: &str = "module.exports = () => 'hello'\n";

#[test]
fn plain_milepost_prints_its_help_whatever_the_environment() {
    let mut env = CliEnv::new();
    env.set("MILEPOST_APP", "shop");
    let output = env.run(&[]);
    assert_eq!(output.status, Some(0), "{}", output.snapshot());
    assert!(output.stdout.contains("Start here:") && output.stdout.contains("Examples:"), "{}", output.stdout);
    assert!(output.stderr.is_empty(), "{}", output.stderr);
    let noun = env.run(&["function"]);
    assert_eq!(noun.status, Some(2), "{}", noun.snapshot());
    assert!(noun.stderr.contains("List the functions of the app"), "{}", noun.stderr);
}

#[test]
fn short_help_leaves_the_global_options_out() {
    let env = CliEnv::new();
    for command in [&["-h"][..], &["function", "get", "-h"], &["deploy", "-h"]] {
        let output = env.run(command);
        assert_eq!(output.status, Some(0), "{command:?}");
        assert!(!output.stdout.contains("--server"), "{}", output.stdout);
    }
    assert!(env.run(&["function", "get", "--help"]).stdout.contains("--server"));
}

#[test]
fn names_and_versions_are_plain_arguments_or_options() {
    let world = World::new();
    world.env.write_file("hello.js", CODE);
    world.ok("function create hello --env nodejs --code hello.js --label v1.0.0");
    world.env.write_file("hello.js", "module.exports = () => 'two'\n");
    world.ok("function update --name hello --code hello.js");
    for (plain, option) in [
        ("function get hello", "function get --name hello"),
        ("function show hello", "function get hello --name hello"),
        ("function version get hello v1.0.0", "function version get --name hello --version v1.0.0"),
        ("function version get --name hello v1.0.0", "function version get hello --version v1.0.0"),
        ("function version ls hello", "function version list --name hello"),
        ("functions ls", "function list"),
        ("release get live", "release show live"),
        ("app get default", "app get --name default"),
    ] {
        assert_eq!(world.json(plain), world.json(option), "{plain}");
    }
    world.ok("function alias create hello stable v1.0.0");
    assert_eq!(world.json("function alias show hello stable")["number"], 1);
    world.ok("function alias update hello stable 2");
    assert_eq!(world.json("function alias get --name hello --alias stable")["number"], 2);
    world.ok("function alias rm hello stable");
    world.ok("function version rm hello v1.0.0");
    assert_eq!(world.json("function version list hello").as_array().map(Vec::len), Some(1));
    world.ok("route create greet --url /greet --function hello");
    world.ok("route rm greet");
    world.ok("token create --name ci --role reader");
    world.ok("token rm ci");
    let release = world.json("release show live")["id"].as_str().unwrap().to_owned();
    world.ok("config set a=1");
    world.ok(&format!("release delete {release}"));
    assert_eq!(world.json(&format!("release get {release}"))["state"], "expired");
}

#[test]
fn an_argument_and_an_option_that_differ_are_a_usage_error() {
    let env = CliEnv::new();
    for line in ["function get hello --name other", "function version delete hello 1 --version 2", "rollback a --to b"]
    {
        let output = env.run(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(output.status, Some(2), "{}", output.snapshot());
        assert!(output.stderr.contains("differ; give one of them"), "{}", output.stderr);
        assert!(output.stderr.contains("Usage: milepost "), "{}", output.stderr);
    }
}

#[test]
fn errors_are_json_when_the_output_is() {
    let world = World::new();
    let said = |line: &str, status: i32| {
        let output = world.run(line);
        assert_eq!(output.status, Some(status), "{}", output.snapshot());
        assert!(output.stdout.is_empty(), "{}", output.stdout);
        serde_json::from_str::<serde_json::Value>(&output.stderr).unwrap()
    };
    assert_eq!(said("app get nosuch -o json", 1)["code"], "app_not_found");
    assert_eq!(said("function get 'he llo' -o json", 2)["code"], "usage");
    assert_eq!(said("-o json function get", 2)["code"], "usage");
    assert_eq!(said("functoin list --output=json", 2)["code"], "usage");
}
