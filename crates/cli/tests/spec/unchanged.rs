use crate::project::{Project, requests, says_word};
use crate::seed::{HELLO, HELLO_TRIGGER};

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
async fn a_dry_run_tells_what_would_be_made_and_why_and_sends_no_file() {
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
async fn one_changed_file_is_sent_alone() {
    let project = hello(&[]);
    for number in 0..50 {
        project.file(&format!("hello/module{number}.py"), &format!("x = {number}\n"));
    }
    project.apply("hello");
    project.file("hello/module7.py", "x = 'seven'\n");
    let output = project.run("spec version apply");
    assert!(output.succeeded(), "{}", output.snapshot());
    assert!(output.stderr.contains("1 file sent"), "{}", output.snapshot());
}

#[test]
fn what_ignore_files_leave_out_is_told_and_not_sent() {
    let project = hello(&[]);
    project.file(".gitignore", "secret_*.py\n");
    project.file("hello/secret_key.py", "KEY = 1\n");
    project.commit("hello");
    let output = project.run("spec version apply");
    assert!(output.succeeded(), "{}", output.snapshot());
    assert!(output.stderr.contains("Left out by ignore files: hello/secret_key.py"), "{}", output.snapshot());
}
