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
fn validate_tells_what_the_app_does_not_have_and_says_when_it_could_not_ask() {
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

    project.file("specs/hello.yaml", HELLO);
    let mut alone = project.env().clone();
    alone.set("MILEPOST_DATA", "nowhere");
    let offline = alone.run(&["spec", "version", "validate"]);
    assert!(offline.succeeded(), "{}", offline.snapshot());
    assert!(offline.stderr.contains("No server was asked"), "{}", offline.snapshot());
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
