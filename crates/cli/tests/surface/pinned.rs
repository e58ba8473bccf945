//! Under a pinned live, each command that changes units says that users do not get the change, and how they do.

use std::collections::BTreeSet;
use std::fs;

use crate::common::World;

const MANIFEST: &str = "app: default\nconfig: { greeting: hi }\n";
const SPEC: &str = "apiVersion: fission.io/v1\nkind: Environment\nmetadata: { name: of-specs }\nspec: { version: 2, runtime: { image: fission/python-env } }\n";

/// A line for each command with `--on`, in an order in which each finds what it needs. `{n}` differs for each run.
const LINES: &[(&str, &str)] = &[
    ("environment create", "environment create e{n} --runtime python"),
    ("environment update", "environment update e{n} --runtime node"),
    ("environment delete", "environment delete e{n} --yes"),
    ("package create", "package create p{n} --env python --deploy code"),
    ("package update", "package update p{n} --deploy more"),
    ("package version create", "package version create p{n} --env python --deploy code"),
    ("package version update", "package version update p{n} --deploy more"),
    ("package delete", "package delete p{n} --yes"),
    ("function create", "function create f{n} --env python --code code/main.py --no-check"),
    ("function update", "function update f{n} --memory 200Mi --no-check"),
    ("function version create", "function version create f{n} --env python --code more/main.py --no-check"),
    ("function version update", "function version update f{n} --memory 300Mi --no-check"),
    ("route create", "route create r{n} --url /r{n} --function f{n} --no-check"),
    ("route update", "route update r{n} --url /s{n} --function f{n} --no-check"),
    ("route delete", "route delete r{n} --yes --no-check"),
    ("httptrigger create", "httptrigger create h{n} --url /h{n} --function f{n} --no-check"),
    ("httptrigger update", "httptrigger update h{n} --url /i{n} --function f{n} --no-check"),
    ("httptrigger delete", "httptrigger delete h{n} --yes --no-check"),
    ("timer create", "timer create t{n} --cron '0 0 1 1 *' --function f{n} --no-check"),
    ("timer update", "timer update t{n} --cron '0 0 2 1 *' --function f{n} --no-check"),
    ("timer delete", "timer delete t{n} --yes --no-check"),
    ("function delete", "function delete f{n} --yes"),
    ("static add", "static add code --path /s{n}"),
    ("static delete", "static delete /s{n} --yes"),
    ("secret set", "secret set S{n}"),
    ("secret delete", "secret delete S{n} --yes"),
    ("config set", "config set key{n}=1"),
    ("config unset", "config unset key{n}"),
    ("config apply", "config apply config{n}.yaml"),
    ("config edit", "config edit"),
    ("config delete", "config delete --yes"),
    ("spec version apply", "spec version apply --specdir specs"),
    ("spec version destroy", "spec version destroy --specdir specs --yes"),
    ("spec apply", "spec apply --specdir specs"),
    ("spec destroy", "spec destroy --specdir specs --yes"),
    ("deploy", "deploy"),
    ("up", "up --no-logs --overwrite"),
];

fn world() -> World {
    let mut env = milepost_testkit::cli::CliEnv::new();
    env.set("EDITOR", "cp edited.yaml");
    let world = World::in_env(env, &[]);
    world.env.write_file("code/main.py", "def main():\n    return 'one'\n");
    world.env.write_file("more/main.py", "def main():\n    return 'two'\n");
    world.env.write_file("edited.yaml", "edited: 1\nfault: no\n");
    world.env.write_file("specs/environment.yaml", SPEC);
    world.ok("config set fault=no");
    world.ok("config set fault=yes");
    world.ok("rollback --yes");
    world
}

/// Runs each line, with files that make it change something.
fn each(world: &World, on: &str, mut check: impl FnMut(&str, &milepost_testkit::cli::Output)) {
    let number = on.len();
    world.env.write_file("milepost.yaml", MANIFEST.replace("hi", &format!("deploy{number}")));
    world.env.write_file(&format!("config{number}.yaml"), format!("applied: {number}\nfault: no\n"));
    for (command, line) in LINES {
        if *command == "up" {
            world.env.write_file("milepost.yaml", MANIFEST.replace("hi", &format!("up{number}")));
        }
        let line = format!("{}{on}", line.replace("{n}", &number.to_string()));
        let words = crate::common::words(&line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        check(&line, &world.env.run_with_input(&words, "value"));
    }
}

#[test]
fn each_command_with_a_base_is_tried_here() {
    let world = milepost_testkit::cli::CliEnv::new();
    let output = world.run(&["reference", "."]);
    assert!(output.succeeded(), "{}", output.snapshot());
    let reference = fs::read_to_string(world.work_dir().join("cli.md")).unwrap();
    let with_base = reference.split("\n## `milepost ").filter(|section| section.contains("--on <BASE>"));
    let commands: BTreeSet<_> = with_base.map(|section| section.split('`').next().unwrap()).collect();
    assert_eq!(commands, LINES.iter().map(|(command, _)| *command).collect());
}

#[test]
fn a_change_that_users_do_not_get_names_on_live() {
    let world = world();
    let live = world.json("release show live")["id"].clone();
    each(&world, "", |line, output| {
        assert!(output.succeeded(), "{line}: {}", output.snapshot());
        assert!(output.stderr.contains("users do not get this change"), "{line}: {}", output.snapshot());
        assert!(output.stderr.contains("`--on live`"), "{line}: {}", output.snapshot());
    });
    assert_eq!(world.json("release show live")["id"], live);
}

#[test]
fn a_change_on_live_reaches_users_and_lists_what_is_left_out() {
    let world = world();
    let mut left_out = 0;
    let mut live = world.json("release show live")["id"].clone();
    each(&world, " --on live", |line, output| {
        assert!(output.succeeded(), "{line}: {}", output.snapshot());
        assert!(!output.stderr.contains("users do not get"), "{line}: {}", output.snapshot());
        left_out += usize::from(output.stdout.contains("config version 2 (live has version 1)"));
        let now = world.json("release show live");
        assert!(now["id"] != live && now["latest"] == true, "{line}: {now}");
        live = now["id"].clone();
    });
    // The first one takes the fault out of head, so the others find nothing left to leave out.
    assert_eq!(left_out, 1);
    let config = world.json("config get");
    assert!(config.to_string().contains("up10") && !config.to_string().contains("yes"), "{config}");
}
