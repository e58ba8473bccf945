use crate::project::{Project, requests, says_word};
use crate::seed::{HELLO, HELLO_TRIGGER, own_package};

fn hello(args: &[&str]) -> Project {
    let project = Project::new(args);
    project.file("specs/hello.yaml", &format!("{HELLO}{HELLO_TRIGGER}"));
    project.code("hello", "hello", "one");
    project
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unchanged_folder_makes_nothing_sends_no_file_and_costs_one_request() {
    let project = hello(&[]);
    project.apply("hello");
    let history = project.json("app history");
    let before = requests(&project).await;
    let output = project.run("spec version apply");
    assert_eq!(output.status, Some(0), "{}", output.snapshot());
    assert_eq!(output.stdout, "Everything up to date.\n", "{}", output.snapshot());
    let after = requests(&project).await;
    assert_eq!((after.all - before.all, after.uploads - before.uploads), (1, 0));
    assert_eq!(project.json("app history"), history);
    let outcome = project.json("spec apply");
    assert_eq!((&outcome["changed"], &outcome["dryRun"]), (&false.into(), &false.into()), "{outcome}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_lists_new_versions_with_reasons_and_sends_no_file() {
    let project = hello(&[]);
    project.commit("hello");
    let plan = project.run("spec version apply --dry-run");
    assert!(plan.succeeded(), "{}", plan.snapshot());
    assert!(plan.stdout.contains("package hello-pkg"), "{}", plan.snapshot());
    assert!(plan.stdout.contains("would be built: ./build.sh"), "{}", plan.snapshot());
    assert_eq!(requests(&project).await.uploads, 0);
    assert_eq!(project.json("function list"), serde_json::json!([]));

    project.apply("hello");
    let before = requests(&project).await;
    project.file("hello/hello.py", &says_word("three"));
    project.file("hello/more.py", "x = 1\n");
    let plan = project.run("spec version apply --dry-run");
    assert!(plan.succeeded(), "{}", plan.snapshot());
    for line in ["~ hello.py (29 B -> 31 B)", "+ more.py (6 B)", "would be built: ./build.sh", "This was a dry run"] {
        assert!(plan.stdout.contains(line), "`{line}` is not in {}", plan.snapshot());
    }
    assert!(plan.stdout.contains("hello-pkg"), "{}", plan.snapshot());
    let json = project.json("spec version apply --dry-run");
    assert_eq!(json["builds"], serde_json::json!(["hello-pkg"]), "{json}");
    let package = json["versions"].as_array().unwrap().iter().find(|unit| unit["kind"] == "package").unwrap();
    assert!(package["reasons"].to_string().contains("more.py"), "{package}");
    assert_eq!(requests(&project).await.uploads, before.uploads);
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_are_asked_for_by_app_version_and_only_to_be_shown() {
    let project = hello(&[]);
    for number in 0..2 {
        project.file(&format!("specs/more{number}.yaml"), &own_package(&format!("more{number}")));
        project.code(&format!("more{number}"), &format!("more{number}"), "one");
        project.apply(&format!("more {number}"));
    }
    let before = requests(&project).await.all;
    let listed = project.json("spec version list");
    let as_json = requests(&project).await.all;
    let table = project.stage.world.ok("spec version list");
    let as_table = requests(&project).await.all;
    let objects = listed["objects"].as_array().unwrap();
    let mut versions: Vec<&str> = objects.iter().map(|object| object["version"].as_str().unwrap()).collect();
    versions.sort_unstable();
    versions.dedup();
    assert_eq!(versions.len(), 2, "{listed}");
    // The result of the last change is cached already.
    assert_eq!((as_table - as_json) - (as_json - before), 1, "{table}");
    let commits = project.json("app list-version");
    for object in objects {
        let made = commits.as_array().unwrap().iter().find(|version| version["id"] == object["version"]).unwrap();
        let (name, commit) = (object["name"].as_str().unwrap(), &made["git"]["commit"].as_str().unwrap()[..10]);
        let row = |line: &&str| line.split_whitespace().nth(1) == Some(name) && line.ends_with(commit);
        assert!(table.lines().any(|line| row(&line)), "{name} with {commit} is not in\n{table}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_changed_file_is_sent_alone() {
    let project = hello(&[]);
    for number in 0..50 {
        project.file(&format!("hello/module{number}.py"), &format!("x = {number}\n"));
    }
    project.apply("hello");
    project.file("hello/module7.py", "x = 'seven'\n");
    let output = project.run("spec version apply");
    assert!(output.succeeded(), "{}", output.snapshot());
    assert!(output.stderr.contains("Uploaded 1 file"), "{}", output.snapshot());
}

#[test]
fn ignored_files_are_reported_and_not_sent() {
    let project = hello(&[]);
    project.file(".gitignore", "secret_*.py\n");
    project.file("hello/secret_key.py", "KEY = 1\n");
    project.commit("hello");
    let output = project.run("spec version apply");
    assert!(output.succeeded(), "{}", output.snapshot());
    assert!(output.stderr.contains("Excluded by ignore files: hello/secret_key.py"), "{}", output.snapshot());
}
