use crate::project::Project;
use crate::seed::{HELLO, HELLO_TRIGGER};

#[test]
fn init_writes_a_folder_that_can_be_applied_and_never_writes_over_it() {
    let project = Project::new(&[]);
    project.stage.world.ok("spec init --name hello --deployid 0a1b2c3d");
    let config =
        std::fs::read_to_string(project.env().work_dir().join("specs/fission-deployment-config.yaml")).unwrap();
    assert!(config.contains("kind: DeploymentConfig\nname: hello\nuid: 0a1b2c3d\n"), "{config}");
    assert!(project.env().work_dir().join("specs/README.md").is_file());
    let again = project.run("spec init");
    assert_eq!(again.status, Some(1), "{}", again.snapshot());
    let same = std::fs::read_to_string(project.env().work_dir().join("specs/fission-deployment-config.yaml")).unwrap();
    assert_eq!(same, config);

    project.file("specs/hello.yaml", HELLO);
    project.code("hello", "hello", "one");
    project.apply("hello");
    let unit = project.json("function list");
    assert_eq!(unit[0]["deployment"], serde_json::json!({ "id": "0a1b2c3d", "name": "hello" }), "{unit}");
}

#[test]
fn validate_reports_missing_units_or_that_it_could_not_check() {
    let project = Project::new(&[]);
    project.file("specs/hello.yaml", &format!("{HELLO}{HELLO_TRIGGER}"));
    project.code("hello", "hello", "one");
    let sound = project.run("spec version validate");
    assert!(sound.succeeded() && sound.stdout.contains("no mistakes"), "{}", sound.snapshot());

    let wrong =
        HELLO.replace("name: python-27", "name: python-72") + &HELLO_TRIGGER.replace("name: hello", "name: helo");
    project.file("specs/hello.yaml", &wrong);
    let found = project.run("spec validate");
    assert_eq!(found.status, Some(2), "{}", found.snapshot());
    for text in ["python-72", "python-27", "`helo`", "`hello`"] {
        assert!(found.stderr.contains(text), "`{text}` is not in {}", found.snapshot());
    }
    assert_eq!(project.json("function list"), serde_json::json!([]));

    project.file("specs/hello.yaml", &format!("{HELLO}{}", HELLO_TRIGGER.replace("latest", "latst")));
    let found = project.run("spec validate");
    assert!(found.stderr.contains("did you mean `latest`?"), "{}", found.snapshot());

    project.file("specs/hello.yaml", HELLO);
    let mut alone = project.env().clone();
    alone.set("MILEPOST_DATA", "nowhere");
    let offline = alone.run(&["spec", "version", "validate"]);
    assert!(offline.succeeded(), "{}", offline.snapshot());
    assert!(offline.stderr.contains("No server available"), "{}", offline.snapshot());
    assert!(offline.stderr.contains("environment python-27"), "{}", offline.snapshot());
}

#[test]
fn destroy_takes_triggers_functions_and_packages_out_in_one_change() {
    let project = Project::new(&[]);
    project.file("specs/hello.yaml", &format!("{HELLO}{HELLO_TRIGGER}"));
    project.code("hello", "hello", "one");
    project.apply("hello");
    let before = project.json("app list-version").as_array().unwrap().len();
    let plan = project.run("spec version destroy --dry-run");
    assert!(plan.succeeded() && plan.stdout.contains("would be removed"), "{}", plan.snapshot());
    project.stage.world.ok("spec destroy --yes");
    assert_eq!(project.json("app list-version").as_array().unwrap().len(), before + 1);
    for list in ["function list", "package list", "route list"] {
        assert_eq!(project.json(list), serde_json::json!([]), "{list}");
    }
    assert_eq!(project.json("environment list")[0]["name"], "python-27", "it was there before");
}

#[test]
fn the_variable_does_not_overrule_the_app_that_a_folder_names() {
    let project = Project::new(&[]);
    project.file("milepost.yaml", "app: other\nfunctions:\n  hi: { env: python, src: hi.py, entrypoint: hi.main }\n");
    project.file("hi.py", "def main():\n    return 'hi'\n");
    project.file("specs/hello.yaml", &HELLO.replace("namespace: default", "namespace: other"));
    project.code("hello", "hello", "one");
    let mut env = project.env().clone();
    env.set("MILEPOST_APP", "shop");
    let apply = ["spec", "version", "apply"];
    let validate = ["spec", "version", "validate"];
    let destroy = ["spec", "version", "destroy", "--yes"];
    for line in [&["deploy"][..], &["deploy", "--dry-run"], &apply, &validate, &destroy] {
        let refused = env.run(line);
        assert_eq!(refused.status, Some(2), "{}", refused.snapshot());
        for text in ["app `other`", "MILEPOST_APP names `shop`", "unset MILEPOST_APP", "`--app shop`"] {
            assert!(refused.stderr.contains(text), "`{text}` is not in {}", refused.snapshot());
        }
    }
    let meant = env.run(&["deploy", "--app", "shop"]);
    assert!(meant.succeeded() && meant.stderr.contains("App shop created"), "{}", meant.snapshot());
    env.set("MILEPOST_APP", "other");
    let same = env.run(&["deploy"]);
    assert!(same.succeeded() && same.stderr.contains("App other created"), "{}", same.snapshot());
}

#[test]
fn hints_name_the_app_when_a_bare_command_would_be_about_another() {
    let mut project = Project::new(&[]);
    project.stage.world.env.unset("MILEPOST_APP");
    project.stage.world.ok("app create shop");
    let spec = "spec:\n  secrets:\n    - name: TOK\n      namespace: shop\n";
    let hello = HELLO.replace("namespace: default", "namespace: shop").replacen("spec:\n", spec, 1);
    project.file("specs/hello.yaml", &hello);
    project.code("hello", "hello", "one");
    let found = project.run("spec version validate");
    assert_eq!(found.status, Some(2), "{}", found.snapshot());
    for text in
        ["`milepost environment create python-27 --runtime python --app shop`", "`milepost secret set TOK --app shop`"]
    {
        assert!(found.stderr.contains(text), "`{text}` is not in {}", found.snapshot());
    }
    project.stage.world.ok("environment create --app shop --name python-27 --image python");
    let applied = project.run("spec version apply --no-check");
    assert!(applied.succeeded(), "{}", applied.snapshot());
    assert!(applied.stderr.contains("`milepost secret set TOK --app shop`"), "{}", applied.snapshot());
}

#[test]
fn an_app_that_is_not_there_gets_its_environments_from_the_folder() {
    let mut project = Project::new(&[]);
    project.stage.world.env.unset("MILEPOST_APP");
    project.file("specs/hello.yaml", &HELLO.replace("namespace: default", "namespace: fresh"));
    project.code("hello", "hello", "one");
    for line in ["spec version apply", "spec version validate"] {
        let refused = project.run(line);
        assert_eq!(refused.status, Some(2), "{}", refused.snapshot());
        assert!(refused.stderr.contains("`kind: Environment` and `name: python-27`"), "{}", refused.snapshot());
        assert!(!refused.stderr.contains("environment create"), "{}", refused.snapshot());
    }
    // A plan for a new app has the built-in environments that an apply makes.
    project.file(
        "specs/hello.yaml",
        &HELLO.replace("namespace: default", "namespace: fresh").replace("python-27", "python"),
    );
    let plan = project.json("spec version apply --dry-run");
    let names = |outcome: &serde_json::Value| {
        let units = outcome["versions"].as_array().unwrap().iter();
        let mut names: Vec<String> = units.map(|unit| format!("{} {}", unit["kind"], unit["name"])).collect();
        names.sort();
        names
    };
    let planned = names(&plan);
    assert!(planned.iter().any(|name| name.contains("environment")), "{planned:?}");
    assert_eq!(names(&project.json("spec version apply")), planned);
}

#[test]
fn links_that_lead_outside_are_reported_with_the_line_of_the_archive() {
    let project = Project::new(&[]);
    project.file("specs/hello.yaml", &HELLO.replace("hello/*.py", "hello/**"));
    project.code("hello", "hello", "one");
    for (link, target) in [("l1", "/etc/passwd"), ("l2", "../../up"), ("fine", "hello.py"), ("dangling", "nothing")] {
        std::os::unix::fs::symlink(target, project.env().work_dir().join("hello").join(link)).unwrap();
    }
    let found = project.run("spec version validate");
    assert_eq!(found.status, Some(2), "{}", found.snapshot());
    let line = HELLO.split("kind: ArchiveUploadSpec").next().unwrap().matches('\n').count();
    for link in ["hello/l1", "hello/l2"] {
        let lines = [line, line + 1].map(|line| format!("specs/hello.yaml:{line}: the link `{link}` points to"));
        assert!(lines.iter().any(|text| found.stderr.contains(text)), "{lines:?} is not in {}", found.snapshot());
    }
    assert!(!found.stderr.contains("dangling") && !found.stderr.contains("fine"), "{}", found.snapshot());
}
