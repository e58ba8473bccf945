use std::io::Write;
use std::net::TcpListener;
use std::process::Stdio;

use crate::project::{BUILD, Project, commit, git, says_word};
use crate::seed::{HELLO, own_package};

/// Two work trees of one project, each on its own branch with a change to the same file.
fn two_branches() -> (Project, [String; 2]) {
    let project = Project::new(&[]);
    project.file("origin/specs/hello.yaml", HELLO);
    project.code("origin/hello", "hello", "one");
    // A separate repository, not the one that surrounds the tests.
    git(project.env(), "origin", &["init", "--quiet", "--initial-branch=main"]);
    commit(project.env(), "origin", "the start");
    let commits = ["left", "right"].map(|branch| {
        git(project.env(), "", &["clone", "--quiet", "origin", branch]);
        git(project.env(), branch, &["switch", "--quiet", "-c", branch]);
        project.file(&format!("{branch}/hello/hello.py"), &says_word(branch));
        commit(project.env(), branch, &format!("what {branch} says"))
    });
    (project, commits)
}

#[test]
fn applies_from_two_branches_at_once_both_land_with_their_commits() {
    let (project, commits) = two_branches();
    let started = ["left", "right"].map(|branch| {
        let mut command = project.env().command(&["spec", "version", "apply"]);
        command.current_dir(project.env().work_dir().join(branch));
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
    });
    for child in started {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let versions = project.json("app list-version");
    let versions = versions.as_array().unwrap();
    for (branch, commit) in ["left", "right"].iter().zip(&commits) {
        let of_branch = |version: &&serde_json::Value| version["git"]["branch"] == *branch;
        let found = versions.iter().find(of_branch).unwrap_or_else(|| panic!("{branch} is not in {versions:?}"));
        assert_eq!(found["git"]["commit"], commit.as_str());
        assert_eq!(found["git"]["subject"], format!("what {branch} says"));
    }
    assert_eq!(project.uids("function", "hello").len(), 2);
}

/// A build script that waits for a byte from this listener, since builds cannot see files of the
/// test.
fn waits_at(gate: &TcpListener) -> String {
    let port = gate.local_addr().unwrap().port();
    let wait = format!("import socket; s = socket.create_connection((\"127.0.0.1\", {port})); s.recv(1) or exit(9)");
    BUILD.replacen('\n', &format!("\npython3 -c '{wait}' || exit 9\n"), 1)
}

#[test]
fn work_landed_during_a_build_is_reported_before_overwriting_and_both_land() {
    let (project, commits) = two_branches();
    let gate = TcpListener::bind("127.0.0.1:0").unwrap();
    project.file("right/hello/build.sh", &waits_at(&gate));
    let right_commit = commit(project.env(), "right", "what right says");
    let mut command = project.env().command(&["spec", "version", "apply"]);
    command.current_dir(project.env().work_dir().join("right")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let right = command.spawn().unwrap();
    // By now right has planned, and would overwrite nothing.
    let (mut held, _) = gate.accept().unwrap();
    let left = project.env().run_in("left", &["spec", "version", "apply"]);
    assert!(left.succeeded() && !left.stderr.contains("does not contain"), "{}", left.snapshot());
    held.write_all(b"g").unwrap();

    let output = right.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let built = told.find("Package hello-pkg built in").unwrap_or_else(|| panic!("no build in {told}"));
    let warned = told.find("does not contain").unwrap_or_else(|| panic!("no warning in {told}"));
    assert!(built < warned, "{told}");
    for text in ["branch left", &commits[0][..10], "what left says", "this would overwrite", "function hello"] {
        assert!(told[warned..].contains(text), "`{text}` is not in {told}");
    }
    for once in ["does not contain", "Uploaded ", "building in"] {
        assert_eq!(told.matches(once).count(), 1, "`{once}` in {told}");
    }
    let versions = project.json("app list-version");
    let landed: Vec<&str> =
        versions.as_array().unwrap().iter().filter_map(|one| one["git"]["commit"].as_str()).collect();
    assert_eq!(landed, [right_commit.as_str(), commits[0].as_str()], "{versions}");
}

#[test]
fn a_change_that_lands_during_a_build_fails_an_expectation() {
    let (project, _) = two_branches();
    let gate = TcpListener::bind("127.0.0.1:0").unwrap();
    project.file("right/hello/build.sh", &waits_at(&gate));
    let head = project.json("app show")["id"].as_str().unwrap().to_owned();
    let mut command = project.env().command(&["spec", "version", "apply", "--expect", &head]);
    command.current_dir(project.env().work_dir().join("right")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let right = command.spawn().unwrap();
    let (mut held, _) = gate.accept().unwrap();
    let left = project.env().run_in("left", &["spec", "version", "apply"]);
    assert!(left.succeeded(), "{}", left.snapshot());
    held.write_all(b"g").unwrap();
    let output = right.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && told.contains("has moved"), "{told}");
    assert_eq!(project.uids("function", "hello").len(), 1);
}

#[test]
fn work_landed_during_the_first_deploy_is_reported_too() {
    let (project, commits) = two_branches();
    let gate = TcpListener::bind("127.0.0.1:0").unwrap();
    for branch in ["left", "right"] {
        project.file(&format!("{branch}/specs/hello.yaml"), &HELLO.replace("python-27", "python"));
    }
    project.file("right/hello/build.sh", &waits_at(&gate));
    let mut command = project.env().command(&["spec", "version", "apply", "--app", "fresh"]);
    command.current_dir(project.env().work_dir().join("right")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let right = command.spawn().unwrap();
    let (mut held, _) = gate.accept().unwrap();
    let left = project.env().run_in("left", &["spec", "version", "apply", "--app", "fresh"]);
    assert!(left.succeeded(), "{}", left.snapshot());
    held.write_all(b"g").unwrap();
    let output = right.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.contains(&commits[0][..10]), "{told}");
    assert_eq!(told.matches("does not contain").count(), 1, "{told}");
    assert_eq!(project.json("function version list --name hello --app fresh").as_array().unwrap().len(), 2);
}

#[test]
fn an_app_that_others_landed_in_during_its_first_deploy_is_not_said_to_be_taken_away() {
    let (project, _) = two_branches();
    let gate = TcpListener::bind("127.0.0.1:0").unwrap();
    project.file("right/specs/hello.yaml", &HELLO.replace("python-27", "python"));
    project.file("right/hello/build.sh", &waits_at(&gate));
    let mut command = project.env().command(&["spec", "version", "apply", "--app", "fresh"]);
    command.current_dir(project.env().work_dir().join("right")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let right = command.spawn().unwrap();
    let (mut held, _) = gate.accept().unwrap();
    // Meanwhile another folder takes the unit that right is about to deploy.
    project.file("left/other.yaml", "deployment: other\nfunctions:\n  hello: { env: python, src: code }\n");
    project.file("left/code/main.py", &says_word("other"));
    let left = project.env().run_in("left", &["deploy", "other.yaml", "--app", "fresh"]);
    assert!(left.succeeded(), "{}", left.snapshot());
    held.write_all(b"g").unwrap();
    let output = right.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && told.contains("App fresh created"), "{told}");
    assert!(!told.contains("deleted again"), "{told}");
    assert_eq!(project.json("function version list --name hello --app fresh").as_array().unwrap().len(), 1);
}

#[test]
fn work_that_would_be_overwritten_is_reported_before_anything_is_sent() {
    let (project, commits) = two_branches();
    let left = project.env().run_in("left", &["spec", "version", "apply"]);
    assert!(left.succeeded() && !left.stderr.contains("does not contain"), "{}", left.snapshot());
    let plan = project.env().run_in("right", &["spec", "version", "apply", "--dry-run"]);
    for text in ["does not contain", "admin", "branch left", &commits[0][..10], "what left says", "function hello"] {
        assert!(plan.stderr.contains(text), "`{text}` is not in {}", plan.snapshot());
    }
    // Without a terminal to ask on, it warns and continues.
    let right = project.env().run_in("right", &["spec", "version", "apply"]);
    assert!(right.succeeded(), "{}", right.snapshot());
    let told = right.stderr.find("does not contain").unwrap_or_else(|| panic!("{}", right.snapshot()));
    assert!(told < right.stderr.find("Uploaded ").unwrap(), "{}", right.snapshot());

    // A merged commit is contained, so there is no warning.
    git(project.env(), "left", &["pull", "--quiet", "--no-rebase", "-s", "ours", "--no-edit", "../right", "right"]);
    project.file("left/hello/hello.py", &says_word("both"));
    commit(project.env(), "left", "both");
    let merged = project.env().run_in("left", &["spec", "version", "apply"]);
    assert!(merged.succeeded() && !merged.stderr.contains("does not contain"), "{}", merged.snapshot());
}

#[test]
fn outside_git_it_works_with_a_note() {
    let project = Project::new(&[]);
    std::fs::remove_dir_all(project.env().work_dir().join(".git")).unwrap();
    project.file("specs/hello.yaml", HELLO);
    project.code("hello", "hello", "one");
    let said = "No git commit found; this deploy will not be linked to one.\n";
    let output = project.run("spec version apply");
    assert!(output.succeeded() && output.stderr.contains(said), "{}", output.snapshot());
    assert_eq!(project.json("app show")["git"], serde_json::Value::Null);
    project.file("hello/hello.py", &says_word("two"));
    let quiet = project.run("spec version apply --quiet");
    assert!(quiet.succeeded() && quiet.stderr.is_empty(), "{}", quiet.snapshot());
}

#[test]
fn a_tree_with_changes_that_are_not_committed_is_dirty() {
    let project = Project::new(&[]);
    project.file("specs/hello.yaml", HELLO);
    project.code("hello", "hello", "one");
    project.commit("hello");
    project.file("hello/hello.py", &says_word("two"));
    project.stage.world.ok("spec version apply");
    assert_eq!(project.json("app show")["git"]["clean"], false);
}

#[test]
fn whose_work_it_is_says_the_commit_where_git_knows_it() {
    let project = Project::new(&[]);
    project.file("specs/hello.yaml", HELLO);
    project.code("hello", "hello", "one");
    project.apply("one");
    project.file("hello/hello.py", &says_word("two"));
    project.apply("two");
    git(project.env(), "", &["switch", "--quiet", "--detach", "HEAD~1"]);
    project.file("hello/hello.py", &says_word("three"));
    project.commit("three");
    let plan = project.run("spec version apply --dry-run");
    assert!(plan.stderr.contains("the work of Ada, applied by admin"), "{}", plan.snapshot());
}

#[test]
fn the_facts_of_a_folder_are_those_of_its_own_last_change() {
    let project = Project::new(&[]);
    project.file("specs/hello.yaml", HELLO);
    project.code("hello", "hello", "one");
    git(project.env(), "", &["remote", "add", "origin", "https://me:word@example.org/team/hello.git"]);
    let uid = project.apply("hello");
    project.stage.world.ok("environment create --name other --image python");
    let listed = project.json("spec version list");
    assert_eq!(listed["id"], uid.as_str(), "{listed}");
    assert_eq!(listed["git"]["branch"], "main", "{listed}");
    let commit = &listed["git"]["commit"].as_str().unwrap()[..10];
    let table = project.stage.world.ok("spec version list");
    let row = table.lines().find(|line| line.starts_with("function")).unwrap_or_else(|| panic!("{table}"));
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells, ["function", "hello", uid.as_str(), "1", commit], "{table}");
    assert_eq!(table.lines().last(), Some(format!("Last change: app version {uid}, commit {commit} on main").as_str()));
    let functions = project.json("function list");
    assert_eq!(functions[0]["deployment"]["id"], "spec:example.org/team/hello/specs", "{functions}");

    let gone = project.commit("about to go");
    project.stage.world.ok("spec version destroy --yes -m gone");
    assert_eq!(project.json("app show")["git"]["commit"], gone.as_str());
    let table = project.stage.world.ok("app list-version");
    for text in ["Git remote: https://example.org/team/hello.git\n", "on main: about to go"] {
        assert!(table.contains(text), "`{text}` is not in {table}");
    }
    for line in ["release show latest", "app at now"] {
        let shown = project.stage.world.ok(line);
        for text in [gone.as_str(), "on main (clean)", "about to go", "https://example.org/team/hello.git"] {
            assert!(shown.contains(text), "`{text}` is not in {shown}");
        }
    }
}

#[test]
fn a_change_that_only_took_units_out_is_the_last_one_of_its_folder() {
    let project = Project::new(&[]);
    project.file("specs/foo.yaml", &own_package("foo"));
    project.file("specs/bar.yaml", &own_package("bar"));
    for name in ["foo", "bar"] {
        project.code(name, name, name);
    }
    let both = project.apply("both");
    assert_eq!(project.json("spec version list")["id"], both.as_str());
    std::fs::remove_file(project.env().work_dir().join("specs/bar.yaml")).unwrap();
    let commit = project.commit("without bar");
    let outcome = project.json("spec version apply");
    // Changes by other folders do not count.
    project.stage.world.ok("environment create --name other --image python");
    let listed = project.json("spec version list");
    assert_eq!((&listed["id"], &listed["git"]["commit"]), (&outcome["appVersion"], &commit.into()), "{listed}");
    assert_eq!(listed["objects"].as_array().map(Vec::len), Some(2), "{listed}");
    let destroyed = project.json("spec version destroy --yes");
    let listed = project.json("spec version list");
    assert_eq!((&listed["id"], &listed["objects"]), (&destroyed["appVersion"], &serde_json::json!([])), "{listed}");
}
