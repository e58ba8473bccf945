//! `create --spec`: applying the written documents has the same result as the command itself.

use crate::project::Project;

const CODE: &str = "--src hello/ --buildcmd ./build.sh --entrypoint hello.main";
const LIMITS: &str = "--maxmemory 256Mi --maxcpu 500 --fntimeout 20s --minscale 1 --maxscale 3 --idletimeout 90s";

fn started(project: &Project) {
    project.stage.world.ok("spec init --name hello --deployid 0a1b2c3d");
    project.code("hello", "hello", "one");
}

/// Sets what the function needs to load.
fn settings(project: &Project, app: &str) {
    let set = project.env().run_with_input(&["secret", "set", "key", "--app", app], "a value");
    assert!(set.succeeded(), "{}", set.snapshot());
    project.stage.world.ok(&format!("config set mail.from=me --app {app}"));
}

fn digest(project: &Project, line: &str) -> String {
    let unit = project.json(line);
    unit["digest"].as_str().unwrap_or_else(|| panic!("{line}: {unit}")).to_owned()
}

#[test]
fn written_specs_have_the_same_effect_as_the_command() {
    let project = Project::new(&[]);
    started(&project);
    let create = format!("fn create --name hello --env py {CODE} {LIMITS} --secret key --configmap mail");
    for line in [
        "env create --spec --name py --image fission/python-env --version 3 --builder fission/python-builder --var A=1",
        "env create --spec --name bin --image fission/binary-env",
        &format!("{create} --spec"),
        "httptrigger create --spec --name hello --url /hello --function hello",
        "httptrigger create --spec --name api --prefix /api --method get,post --function hello",
        "httptrigger create --spec --name of --prefix /of/{id} --function hello",
        "timer create --spec --name nightly --cron \"0 3 * * *\" --function hello",
    ] {
        let written = project.run(line);
        assert!(written.succeeded() && written.stderr.contains("Wrote specs/"), "{}", written.snapshot());
    }
    project.stage.world.ok("spec validate");
    settings(&project, "default");
    project.apply("from specs");
    let from_specs = [
        "environment get py",
        "environment get bin",
        "package get hello-pkg",
        "function get hello",
        "route get hello",
        "route get api",
        "route get of",
    ];
    let made: Vec<String> = from_specs.iter().map(|line| digest(&project, line)).collect();
    assert_eq!(project.json("timer get nightly")["spec"]["cron"], "0 3 * * *");

    for line in [
        "app create other",
        "env create py --image fission/python-env --builder fission/python-builder --var A=1 --app other",
        "env create bin --image fission/binary-env --app other",
        &format!("{create} --app other"),
        "httptrigger create --name hello --url /hello --function hello --app other",
        "httptrigger create --name api --prefix /api --method get,post --function hello --app other",
        "httptrigger create --name of --prefix /of/{id} --function hello --app other",
    ] {
        project.stage.world.ok(line);
        if line.starts_with("app create") {
            settings(&project, "other");
        }
    }
    let direct: Vec<String> = from_specs.iter().map(|line| digest(&project, &format!("{line} --app other"))).collect();
    assert_eq!(made, direct);
}

#[test]
fn specs_are_written_without_a_server_and_only_once() {
    let project = Project::new(&[]);
    let mut alone = project.env().clone();
    alone.set("MILEPOST_DATA", "nowhere");
    let run = |line: &str| alone.run(&line.split(' ').collect::<Vec<_>>());
    project.code("hello", "hello", "one");
    let line = "package create --name p --src hello --env python --spec";
    let no_folder = run(line);
    assert_eq!(no_folder.status, Some(2), "{}", no_folder.snapshot());
    assert!(no_folder.stderr.contains("milepost spec init"), "{}", no_folder.snapshot());

    started(&project);
    let shown = run("package create --name p --src hello --env python --dry");
    assert!(shown.succeeded() && shown.stdout.contains("archive://p-source"), "{}", shown.snapshot());
    assert!(!project.env().work_dir().join("specs/package-p.yaml").exists());
    assert!(run(line).succeeded());
    let again = run(line);
    assert_eq!(again.status, Some(2), "{}", again.snapshot());
    assert!(again.stderr.contains("specs/package-p.yaml"), "{}", again.snapshot());
}

#[test]
fn a_function_of_a_declared_package_is_in_its_environment() {
    let project = Project::new(&[]);
    started(&project);
    for line in [
        "env create --spec --name py --image fission/python-env",
        "package create --spec --name shared --sourcearchive hello --buildcmd ./build.sh --env py",
        "fn create --spec --name hello --pkg shared --entrypoint hello.main",
    ] {
        project.stage.world.ok(line);
    }
    project.apply("from specs");
    assert_eq!(project.json("function get hello")["spec"]["environment"]["name"], "py");
    let unknown = project.run("fn create --spec --name other --pkg nosuch --entrypoint hello.main");
    assert_eq!(unknown.status, Some(2), "{}", unknown.snapshot());
    assert!(unknown.stderr.contains("package `nosuch` is not declared in `specs`"), "{}", unknown.snapshot());
}

#[test]
fn options_that_a_spec_cannot_express_are_refused() {
    let project = Project::new(&[]);
    started(&project);
    for (line, text) in [
        ("fn create --name f --env python --code hello/hello.py --var A=1 --spec", "environment variables"),
        ("fn create --name f --env python --code hello/hello.py --permission token --spec", "a permission"),
        ("fn create --name f --code hello/hello.py --spec", "--env"),
        ("fn create --name f --env python --code hello/hello.py --fntimeout 1500ms --spec", "whole seconds"),
        ("timer create --name t --cron \"0 3 * * *\" --zone Europe/Berlin --function f --spec", "a time zone"),
        ("env create --name e --image python --interpreter 3.11 --spec", "an interpreter version"),
        ("env create --name e --image binary --spec", "serves HTTP itself"),
        ("package create --src /etc/hostname --env python --spec", "is outside the project folder"),
    ] {
        let refused = project.run(line);
        assert_eq!(refused.status, Some(2), "{}", refused.snapshot());
        assert!(refused.stderr.contains(text), "{}", refused.snapshot());
    }
    let left: Vec<_> = std::fs::read_dir(project.env().work_dir().join("specs")).unwrap().collect();
    assert_eq!(left.len(), 2, "only what `spec init` wrote: {left:?}");
}

#[test]
fn packages_and_routes_are_created_as_fission_does() {
    let project = Project::new(&[]);
    project.code("hello", "hello", "one");
    project.stage.world.ok("package create --sourcearchive hello --env python --buildcmd ./build.sh");
    assert_eq!(project.json("package info hello")["name"], "hello");
    let again = project.run("package create --name hello --src hello --env python");
    assert_eq!(again.status, Some(1), "{}", again.snapshot());
    project
        .stage
        .world
        .ok("fn create --name hi --pkg hello --env python --entrypoint hello.main --url /hi --method get,post");
    assert_eq!(project.json("route list")[0]["name"], "GET,POST /hi");
    project.code("hello", "hello", "two");
    project.stage.world.ok("package update --name hello --src hello");
    assert_eq!(project.json("package info hello")["number"], 2);
    let limits =
        "--executortype newdeploy --mincpu 40 --maxcpu 80 --minmemory 64 --maxmemory 256 --targetcpu 50 --rpp 2";
    let created = project.run(&format!("fn create --name limited --env python --code hello/hello.py {limits}"));
    assert!(created.succeeded() && created.stderr.contains("`--targetcpu` has no effect"), "{}", created.snapshot());
    let spec = &project.json("function get limited")["spec"];
    let found = (&spec["cpu"], &spec["memory"], &spec["scale"]["concurrency"]);
    assert_eq!(found, (&80.into(), &(256 << 20).into(), &2.into()), "{spec}");
    project.stage.world.ok("tt create --name often --cron \"@every 1h\" --function limited");
}
