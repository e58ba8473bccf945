use std::time::{Duration, Instant};

use crate::project::{Project, says_word};
use crate::seed::{HELLO, own_package};
use crate::terminal::Terminal;

fn with_build(args: &[&str], script: &str) -> Project {
    let project = Project::new(args);
    project.file("specs/hello.yaml", HELLO);
    project.code("hello", "hello", "one");
    project.file("hello/build.sh", script);
    project.commit("hello");
    project
}

/// The id in "run `milepost build log ID` to see its full output".
fn build_id(stderr: &str) -> String {
    let (_, rest) = stderr.split_once("milepost build log ").unwrap_or_else(|| panic!("no build is named in {stderr}"));
    rest.chars().take_while(|letter| letter.is_ascii_alphanumeric()).collect()
}

#[test]
fn a_build_that_fails_changes_nothing_and_keeps_its_log() {
    let project =
        with_build(&[], "#!/bin/sh\nfor n in $(seq 1 40); do echo line $n; done\necho no such thing >&2\nexit 3\n");
    let history = project.json("app history");
    let output = project.run("spec version apply");
    assert_eq!(output.status, Some(1), "{}", output.snapshot());
    for text in ["[hello-pkg] line 40", "no such thing", "package `hello-pkg` failed", "nothing was changed"] {
        assert!(output.stderr.contains(text), "`{text}` is not in {}", output.snapshot());
    }
    assert_eq!(project.json("app history"), history);
    let id = build_id(&output.stderr);
    let log = project.stage.world.ok(&format!("build log {id}"));
    assert!(log.starts_with("line 1\n") && log.contains("no such thing"), "{log}");
    let build = project.json(&format!("build get {id}"));
    assert_eq!((&build["state"], &build["package"]), (&"failed".into(), &"hello-pkg".into()), "{build}");
    assert_eq!(project.json("build list")[0]["id"], id.as_str());

    // With `--quiet`, only the error and the last lines of the log.
    let output = project.run("spec version apply --quiet");
    assert!(output.stderr.contains("line 40") && !output.stderr.contains("line 20\n"), "{}", output.snapshot());
    assert!(!output.stderr.contains("line 1\n"), "{}", output.snapshot());

    // A failed build can be retried.
    project.file("hello/build.sh", crate::project::BUILD);
    project.apply("fixed");
}

#[test]
fn a_build_that_hangs_is_stopped_at_its_limit() {
    let project = with_build(&["--build-timeout", "2"], "#!/bin/sh\necho going to sleep\nsleep 600\n");
    let started = Instant::now();
    let output = project.run("spec version apply");
    assert_eq!(output.status, Some(1), "{}", output.snapshot());
    assert!(output.stderr.contains("going to sleep"), "{}", output.snapshot());
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    assert_eq!(project.json("function list"), serde_json::json!([]));
}

#[test]
fn ctrl_c_during_a_build_ends_at_once_and_leaves_nothing_behind() {
    let project = with_build(&[], "#!/bin/sh\necho going to sleep\nexec sleep 4242\n");
    let history = project.json("app history");
    let mut apply = Terminal::start(project.env().command(&["spec", "version", "apply"]));
    apply.wait_for("[hello-pkg] going to sleep");
    let started = Instant::now();
    assert_eq!(apply.interrupt().code(), Some(130));
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    assert_eq!(project.json("app history"), history);
    // The server cancels the build.
    let sleeps = || {
        let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let line = |entry: std::fs::DirEntry| std::fs::read(entry.path().join("cmdline")).ok();
        processes.filter_map(line).any(|line| line == b"sleep\x004242\x00")
    };
    let deadline = Instant::now() + Duration::from_secs(30);
    while sleeps() {
        assert!(Instant::now() < deadline, "the build outlived the command that asked for it");
        std::thread::sleep(Duration::from_millis(50));
    }
    project.file("hello/build.sh", crate::project::BUILD);
    project.apply("without sleep");
}

#[test]
fn only_what_was_not_built_is_built() {
    let project = Project::new(&[]);
    project.file("specs/functions.yaml", &format!("{}---\n{}", own_package("foo"), own_package("bar")));
    project.code("foo", "foo", "foo");
    project.code("bar", "bar", "bar");
    project.commit("both");
    let output = project.run("spec version apply");
    assert!(output.succeeded(), "{}", output.snapshot());
    assert!(output.stderr.contains("[foo-pkg] building in"), "{}", output.snapshot());
    assert!(output.stderr.contains("[bar-pkg] building in"), "{}", output.snapshot());
    project.file("foo/foo.py", &says_word("foo two"));
    let output = project.run("spec version apply");
    assert!(output.stderr.contains("[foo-pkg] building in"), "{}", output.snapshot());
    assert!(!output.stderr.contains("bar-pkg"), "{}", output.snapshot());
    // A build is not repeated, even if other source was built in between.
    project.file("foo/foo.py", &says_word("foo"));
    let output = project.run("spec version apply");
    assert!(output.succeeded() && !output.stderr.contains("building in"), "{}", output.snapshot());
    assert_eq!(project.json("build list").as_array().unwrap().len(), 3);
}

#[test]
fn one_failing_build_lets_the_others_go() {
    let project = Project::new(&[]);
    project.file("specs/functions.yaml", &format!("{}---\n{}", own_package("foo"), own_package("bar")));
    project.code("foo", "foo", "foo");
    project.code("bar", "bar", "bar");
    project.file("foo/build.sh", "#!/bin/sh\necho broken\nexit 1\n");
    project.file("bar/build.sh", "#!/bin/sh\nexec sleep 600\n");
    project.commit("both");
    let started = Instant::now();
    let output = project.run("spec version apply");
    assert_eq!(output.status, Some(1), "{}", output.snapshot());
    assert!(output.stderr.contains("package `foo-pkg` failed"), "{}", output.snapshot());
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    assert_eq!(project.json("function list"), serde_json::json!([]));
}

#[test]
fn a_first_apply_whose_build_fails_keeps_the_log_and_one_that_cannot_be_made_leaves_no_app() {
    let project = with_build(&[], "#!/bin/sh\necho it was me\nexit 3\n");
    // Another app does not have the environment that this app was given.
    let own = HELLO.replace("python-27", "python");
    project.file("specs/hello.yaml", &own);
    let apps = || project.stage.world.ok("app list -o name").lines().map(str::to_owned).collect::<Vec<_>>();
    let output = project.run("spec version apply --app fresh");
    assert_eq!(output.status, Some(1), "{}", output.snapshot());
    let log = project.stage.world.ok(&format!("build log {} --app fresh", build_id(&output.stderr)));
    assert_eq!(log, "it was me\n");
    assert!(apps().contains(&"fresh".to_owned()));

    project.file("hello/build.sh", crate::project::BUILD);
    let trigger = "---\napiVersion: fission.io/v1\nkind: HTTPTrigger\nmetadata:\n  name: none\nspec:\n  functionref:\n    \
                   name: hello\n    type: name\n    alias: none\n  method: GET\n  relativeurl: /none\n";
    project.file("specs/none.yaml", trigger);
    let output = project.run("spec version apply --app other");
    assert_eq!(output.status, Some(2), "missing units are reported before the app is created: {}", output.snapshot());
    assert!(!output.stderr.contains("App other created"), "{}", output.snapshot());

    project.file("specs/none.yaml", &trigger.replace("alias: none", "version: latest"));
    let output = project.run("spec version apply --app other --expect abcdef");
    assert_eq!(output.status, Some(1), "{}", output.snapshot());
    assert!(output.stderr.contains("App other was deleted again."), "{}", output.snapshot());
    assert!(!apps().contains(&"other".to_owned()));
}
