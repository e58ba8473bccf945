//! Builds and packages with `milepost.yaml`, and with commands that make one package.

use crate::project::{BUILD, Project, requests, says_word};
use crate::seed::HELLO;

const SHOP: &str =
    "app: shop\nfunctions:\n  hello: { env: python, src: hello, entrypoint: hello.main }\nroutes:\n  - GET /: hello\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_function_with_a_build_command_is_built_and_an_unchanged_manifest_costs_one_request() {
    let project = Project::new(&[]);
    project.file("milepost.yaml", &SHOP.replace("src: hello,", "src: hello, build: ./build.sh,"));
    project.code("hello", "hello", "one");
    project.commit("shop");
    let first = project.run("deploy --app shop");
    assert!(first.succeeded() && first.stderr.contains("[hello-pkg] building in"), "{}", first.snapshot());
    let before = requests(&project).await;
    assert_eq!(project.run("deploy --app shop").stdout, "Everything up to date.\n");
    let after = requests(&project).await;
    assert_eq!((after.all - before.all, after.uploads - before.uploads), (1, 0));
}

#[test]
fn code_with_nothing_to_build_runs_as_it_is() {
    let project = Project::new(&[]);
    project.file("milepost.yaml", SHOP);
    project.file("hello/hello.py", &says_word("one"));
    let first = project.run("deploy --app shop");
    assert!(first.succeeded() && !first.stderr.contains("built"), "{}", first.snapshot());
    let package = project.json("package get hello-pkg --app shop");
    assert!(package["spec"]["source"].is_null() && package["spec"]["deployment"].is_string(), "{package}");
}

#[test]
fn an_environment_of_the_app_under_a_built_in_name_builds_with_its_own_command() {
    let project = Project::new(&[]);
    project.stage.world.ok("app create shop");
    project.stage.world.ok("environment create --app shop --name python --image python --builder ./make.sh");
    project.file("milepost.yaml", SHOP);
    project.file("hello/hello.py", &says_word("one"));
    project.file("hello/make.sh", BUILD);
    let plan = project.run("deploy --app shop --dry-run");
    assert!(plan.stdout.contains("would be built: ./make.sh"), "{}", plan.snapshot());
    let first = project.run("deploy --app shop");
    assert!(first.succeeded() && first.stderr.contains("[hello-pkg] building in"), "{}", first.snapshot());
    assert_eq!(project.run("deploy --app shop").stdout, "Everything up to date.\n");
}

#[test]
fn a_manifest_for_an_app_that_is_not_there_is_checked_before_the_app_is_made() {
    let project = Project::new(&[]);
    project.file("milepost.yaml", &SHOP.replace("GET /: hello", "GET /: helo"));
    project.file("hello/hello.py", &says_word("one"));
    let refused = project.run("deploy --app shop");
    assert_eq!(refused.status, Some(2), "{}", refused.snapshot());
    assert!(refused.stderr.contains("did you mean `hello`"), "{}", refused.snapshot());
    assert_eq!(project.run("app get shop").status, Some(1));
}

#[test]
fn a_package_from_the_command_line_is_built_before_its_version_is_made() {
    let project = Project::new(&[]);
    project.code("src", "main", "one");
    let line = "package version create --name src-pkg --src src --env python-27 --buildcmd ./build.sh";
    let plan = project.run(&format!("{line} --dry-run"));
    assert!(plan.succeeded() && plan.stdout.contains("would be built"), "{}", plan.snapshot());
    let made = project.run(line);
    assert!(made.succeeded() && made.stderr.contains("[src-pkg] building in"), "{}", made.snapshot());

    project.file("src/build.sh", "#!/bin/sh\necho broken\nexit 1\n");
    let failed = project.run(line);
    assert_eq!(failed.status, Some(1), "{}", failed.snapshot());
    assert!(failed.stderr.contains("milepost build log"), "{}", failed.snapshot());
    assert_eq!(project.uids("package", "src-pkg").len(), 1);

    // Another command is another build of the existing source.
    let update = "package version update --name src-pkg --buildcmd 'echo other && cp -r $SRC_PKG $DEPLOY_PKG'";
    let updated = project.run(update);
    assert!(updated.succeeded() && updated.stderr.contains("[src-pkg] other"), "{}", updated.snapshot());
    assert_eq!(project.uids("package", "src-pkg").len(), 2);
    let function = "function version create --name f --src src --env python-27 --buildcmd 'cp -r $SRC_PKG $DEPLOY_PKG'";
    project.stage.world.ok(function);
    let unchanged = project.run("function version update --name f --src src");
    assert!(unchanged.succeeded() && unchanged.stdout.contains("Nothing changed."), "{}", unchanged.snapshot());
}

#[test]
fn existing_builds_are_not_announced_even_for_a_new_app() {
    let project = Project::new(&[]);
    let manifest = "packages:\n  both: { env: python, src: hello, deploy: hello }\n  none: { env: python, src: hello, build: \"\" }\n  \
                    made: { env: python, src: hello, build: ./build.sh }\n";
    project.file("milepost.yaml", manifest);
    project.file("hello/hello.py", &says_word("one"));
    project.file("hello/build.sh", BUILD);
    for app in ["fresh", "default"] {
        let plan = project.run(&format!("deploy --app {app} --dry-run"));
        assert!(plan.succeeded(), "{}", plan.snapshot());
        assert_eq!(plan.stdout.matches("would be built").count(), 1, "{}", plan.snapshot());
        assert!(plan.stdout.contains("would be built: ./build.sh"), "{}", plan.snapshot());
        let json = project.json(&format!("deploy --app {app} --dry-run"));
        assert_eq!(json["builds"], serde_json::json!(["made"]), "{json}");
    }
}

#[test]
fn ignored_files_are_shown_relative_to_the_project() {
    let project = Project::new(&[]);
    project.file(
        "specs/hello.yaml",
        &HELLO.replace("hello/*.py", "*.py").replace("hello/*.sh", "*.sh").replace("hello/req", "req"),
    );
    project.code(".", "hello", "one");
    project.file("dist.py", "x = 1\n");
    project.file(".gitignore", "dist.py\n");
    let plan = project.run("spec version apply --dry-run");
    assert!(plan.stderr.contains("Excluded by ignore files: dist.py\n"), "{}", plan.snapshot());
}
