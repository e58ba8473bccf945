use milepost_model::execution::ExecutionStatus;
use serde_json::json;

use crate::gate::Gate;
use crate::stage::{CONF, ECHO, MANIFEST, Stage};

#[test]
fn a_queued_execution_runs_the_version_that_was_decided_on_through_ten_updates() {
    let stage = Stage::new(&["--executions", "1"]);
    let gate = Gate::new();
    let first = stage.queue("wait", Some(gate.input()));
    let waiting = gate.next();
    // The only slot is taken, so this one stays queued.
    let queued = stage.queue("echo", None);
    assert_eq!(queued.status, ExecutionStatus::Queued);
    for answer in 2..=11 {
        stage.world.env.write_file("echo/main.py", ECHO.replace("'answer': 1", &format!("'answer': {answer}")));
        stage.deploy();
    }
    let refused = stage.world.run("function version delete echo --version 1");
    assert_eq!(refused.status, Some(1), "an execution needs it: {}", refused.snapshot());
    assert!(refused.stderr.contains("execution"), "{}", refused.stderr);
    waiting.let_go();
    assert_eq!(stage.ended(&first.id).status, ExecutionStatus::Success);
    let ended = stage.ended(&queued.id);
    assert_eq!((ended.status, ended.version.unwrap().number), (ExecutionStatus::Success, 1));
    assert_eq!(ended.result.unwrap().to_value()["answer"], 1);
    for (selector, answer) in [("1", 1), ("5", 5), ("latest", 11)] {
        let ended = stage.world.json(&format!("execution create echo --version {selector}"));
        assert_eq!((&ended["version"]["number"], &ended["result"]["answer"]), (&json!(answer), &json!(answer)));
    }
}

#[test]
fn a_version_that_is_live_runs_with_the_configuration_of_live_and_any_other_with_the_newest() {
    let with = |word: &str| format!("{MANIFEST}config: {{ word: {word} }}\n");
    let stage = Stage::with_manifest(&with("one"), &[]);
    let ran = |line: &str| {
        let ended = stage.world.json(line);
        (ended["version"]["number"].as_i64().unwrap(), ended["result"]["word"].as_str().unwrap().to_owned())
    };
    stage.world.ok("release live latest");
    stage.world.env.write_file("milepost.yaml", with("two"));
    stage.deploy();
    assert_eq!(ran("execution create conf"), (1, "one".to_owned()), "live is pinned to the first release");
    stage.world.env.write_file("conf/main.py", format!("{CONF}# changed\n"));
    stage.deploy();
    assert_eq!(ran("execution create conf"), (2, "two".to_owned()), "live does not hold it");
    stage.world.ok("release live --follow");
    assert_eq!(ran("execution create conf --version 1"), (1, "two".to_owned()));
}
