use serde_json::Value;

use crate::project::Project;
use crate::seed::own_package;

/// Two folders of specs for one app, each with its own function.
fn two_folders() -> Project {
    let project = Project::new(&[]);
    for name in ["foo", "bar"] {
        project.stage.world.ok(&format!("spec init {name} --name {name}"));
        let archive = own_package(name).replace(&format!("{name}/"), "code/");
        project.file(&format!("{name}/specs/functions.yaml"), &archive);
        project.code(&format!("{name}/code"), name, name);
    }
    project.commit("two folders");
    for name in ["foo", "bar"] {
        project.stage.world.ok(&format!("spec version apply --specdir {name}/specs"));
    }
    project
}

fn functions(project: &Project) -> Vec<String> {
    let listed = project.json("function list");
    listed.as_array().unwrap().iter().map(|unit| unit["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn two_folders_of_one_app_never_remove_each_others_units() {
    let project = two_folders();
    assert_eq!(functions(&project), ["bar", "foo"]);
    assert_eq!(project.stage.world.ok("spec version apply --specdir foo/specs"), "Everything up to date.\n");
    let listed = project.json("spec version list --specdir foo/specs");
    let names: Vec<&Value> = listed["objects"].as_array().unwrap().iter().map(|object| &object["name"]).collect();
    assert_eq!(names, ["foo", "foo-pkg"], "{listed}");

    // Everything made by foo is removed, and bar stays.
    let refused = project.run("spec version destroy --specdir foo/specs");
    assert_eq!(refused.status, Some(2), "{}", refused.snapshot());
    project.stage.world.ok("spec version destroy --specdir foo/specs --yes");
    assert_eq!(functions(&project), ["bar"]);
    assert_eq!(project.json("spec version list --specdir foo/specs")["objects"], serde_json::json!([]));
    assert!(project.run("spec version destroy --specdir foo/specs --yes").stderr.contains("has no units in app"));
}

#[test]
fn two_folders_of_one_name_without_a_config_are_two_deployments() {
    let project = Project::new(&[]);
    for name in ["foo", "bar"] {
        let archive = own_package(name).replace(&format!("{name}/"), "code/");
        project.file(&format!("{name}/specs/functions.yaml"), &archive);
        project.code(&format!("{name}/code"), name, name);
    }
    project.commit("two folders");
    for name in ["foo", "bar", "foo"] {
        let applied = project.run(&format!("spec version apply --specdir {name}/specs"));
        assert!(applied.succeeded(), "{}", applied.snapshot());
        let said = format!("belong to deployment spec:{name}/specs");
        assert!(applied.stderr.contains(&said), "{}", applied.snapshot());
    }
    assert_eq!(functions(&project), ["bar", "foo"]);
    // Writing down the printed id keeps the folder's ownership.
    project.stage.world.ok("spec init foo --name foo --deployid spec:foo/specs");
    let same = project.run("spec version apply --specdir foo/specs");
    assert_eq!(same.stdout, "Everything up to date.\n", "{}", same.snapshot());
    assert!(!same.stderr.contains("No DeploymentConfig"), "{}", same.snapshot());
}

#[test]
fn taking_over_a_unit_of_another_folder_needs_an_option() {
    let project = two_folders();
    let archive = own_package("foo").replace("foo/", "code/");
    project.file("bar/specs/foo.yaml", &archive);
    project.code("bar/code", "foo", "foo of bar");
    let history = project.json("app history");
    let refused = project.run("spec version apply --specdir bar/specs");
    assert_eq!(refused.status, Some(1), "{}", refused.snapshot());
    assert!(refused.stderr.contains("function foo belongs to deployment foo"), "{}", refused.snapshot());
    assert!(refused.stderr.contains("--allow-conflicts"), "{}", refused.snapshot());
    assert_eq!(project.json("app history"), history);

    let taken = project.run("spec version apply --specdir bar/specs --allowconflicts");
    assert!(taken.succeeded(), "{}", taken.snapshot());
    // Now the other folder is refused.
    assert_eq!(project.run("spec version apply --specdir foo/specs").status, Some(1));
}

#[test]
fn secrets_go_only_when_it_is_asked_for() {
    let project = Project::new(&[]);
    project.env().write_file("value", "s3cret");
    project.stage.world.ok("secret set TOKEN --from-file value");
    project.stage.world.ok("spec init");
    let function = own_package("foo");
    let named = function.replacen("spec:\n", "spec:\n  secrets:\n    - name: TOKEN\n      namespace: default\n", 1);
    project.file("specs/functions.yaml", &named);
    project.code("foo", "foo", "foo");
    project.apply("with a secret");
    project.file("specs/functions.yaml", &function);
    let kept = project.run("spec version apply");
    assert!(kept.stderr.contains("--prune-secrets"), "{}", kept.snapshot());
    assert_eq!(project.json("secret list")[0]["name"], "TOKEN");
    project.stage.world.ok("spec version apply --prune-secrets");
    assert_eq!(project.json("secret list"), serde_json::json!([]));
}

#[test]
fn a_secret_that_was_named_before_it_was_set_goes_when_it_is_asked_for() {
    let project = Project::new(&[]);
    project.env().write_file("value", "s3cret");
    project.file("main.py", "def main():\n    return 'hi'\n");
    let manifest = "app: default\nfunctions:\n  hi: { env: python, src: main.py }\n";
    project.file("milepost.yaml", manifest);
    project.stage.world.ok("deploy");
    // Only the claim of the secret is new.
    project.file("milepost.yaml", &format!("{manifest}secrets: [TOKEN]\n"));
    assert_eq!(project.stage.world.ok("deploy"), "Everything up to date.\n");
    for name in ["TOKEN", "OTHER"] {
        project.stage.world.ok(&format!("secret set {name} --from-file value"));
    }
    project.file("milepost.yaml", manifest);
    let kept = project.run("deploy");
    assert!(kept.stderr.contains("secret TOKEN is no longer in the folder and was kept"), "{}", kept.snapshot());
    project.stage.world.ok("deploy --prune-secrets");
    let left = project.json("secret list");
    assert_eq!((left.as_array().map(Vec::len), &left[0]["name"]), (Some(1), &"OTHER".into()), "{left}");
}

#[test]
fn equal_units_made_by_hand_belong_to_the_folder_that_declares_them() {
    let project = Project::new(&[]);
    project.file("main.py", "def main():\n    return 'hi'\n");
    let manifest = "app: default\nfunctions:\n  hi: { env: python, src: main.py }\n";
    project.file("milepost.yaml", manifest);
    project.stage.world.ok("deploy");
    project.stage.world.ok("route create --method GET --url /hi --function hi");
    project.file("milepost.yaml", &format!("{manifest}routes:\n  - GET /hi: hi\n"));
    project.stage.world.ok("deploy");
    let routes = project.json("route list");
    assert_eq!(routes[0]["deployment"]["id"], "milepost.yaml", "{routes}");
    project.file("milepost.yaml", manifest);
    project.stage.world.ok("deploy");
    assert_eq!(project.json("route list"), serde_json::json!([]));
}
