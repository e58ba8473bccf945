use std::time::Duration;

use milepost_model::execution::{ExecutionFilter, ExecutionStatus};
use milepost_testkit::eventually_blocking;
use serde_json::{Value, json};

use crate::gate::Gate;
use crate::stage::{APP, PATIENCE, Stage, new};

#[test]
fn a_synchronous_execution_answers_its_result_and_keeps_its_log() {
    let stage = Stage::new(&[]);
    let ended = stage.world.json("execution create echo --input '{\"a\": [1, null]}'");
    let id = ended["id"].as_str().unwrap();
    assert_eq!(
        (&ended["status"], &ended["sync"], &ended["version"]["number"]),
        (&json!("success"), &json!(true), &json!(1))
    );
    assert_eq!(ended["result"], json!({ "answer": 1, "given": { "a": [1, null] }, "execution": id }));
    assert_eq!((&ended["startedBy"], &ended["cause"]["kind"]), (&json!("admin"), &json!("api")));
    assert_eq!(ended["attempts"].as_array().unwrap().len(), 1);
    assert_eq!(stage.world.ok(&format!("execution logs {id}")), "got {'a': [1, None]}\n");
    let log = stage.world.json(&format!("execution logs {id}"));
    assert_eq!(log, json!({ "execution": id, "log": "got {'a': [1, None]}\n" }));
    assert!(stage.world.ok(&format!("logs --request {id}")).contains("got {'a': [1, None]}"));
    assert!(stage.world.ok(&format!("execution get {id}")).contains("success"));
    stage.world.ok(&format!("execution delete {id}"));
    let gone = stage.world.run(&format!("execution get {id}"));
    assert_eq!(gone.status, Some(1), "{}", gone.snapshot());
    assert!(gone.stderr.contains("has no execution"), "{}", gone.stderr);
}

#[test]
fn inputs_and_results_are_passed_on_unchanged() {
    let stage = Stage::new(&[]);
    // Larger than any 64-bit number, with digits that a float would lose, and with unsorted keys.
    let sent = r#"{"z": 123456789012345678901234567890, "a": [0.1000], "b": -0.0}"#;
    stage.world.env.write_file("input.json", sent);
    let id = stage.world.json("execution create echo --input @input.json")["id"].as_str().unwrap().to_owned();
    let ended = stage.get(&id);
    assert_eq!(ended.input.unwrap().as_str(), sent);
    let given = r#""given":{"z":123456789012345678901234567890,"a":[0.1],"b":-0.0}"#;
    assert!(ended.result.as_ref().unwrap().as_str().contains(given), "as Python prints it: {:?}", ended.result);
    assert!(stage.world.ok(&format!("execution get {id}")).contains("0.1000"));
    stage.world.ok("execution create echo --async --input '{\"a\": 1e999}'");
    assert!(stage.world.ok("execution list -o yaml").contains("1e999"), "also what no number of ours can hold");
}

#[test]
fn a_synchronous_execution_ends_when_its_caller_hangs_up_at_any_moment() {
    const CALLERS: u64 = 60;
    let stage = Stage::new(&[]);
    stage.world.ok("execution create echo");
    let (client, new) = (stage.client(), new("echo", None, true));
    let mut answered = 0;
    for caller in 0..CALLERS {
        // Each caller waits slightly longer than the last, so that some disconnect during the
        // commit.
        let patience = Duration::from_micros(250 * caller);
        let call = async { tokio::time::timeout(patience, client.execution_create(APP, &new)).await };
        answered += usize::from(stage.block_on(call).is_ok());
    }
    assert!(answered < CALLERS as usize, "no caller disconnected");
    let all = || stage.listed(&ExecutionFilter::default());
    eventually_blocking(PATIENCE, || all().iter().all(|one| one.status.is_ended()));
    let odd: Vec<_> = all().into_iter().filter(|one| one.status != ExecutionStatus::Success).collect();
    assert!(odd.is_empty(), "{odd:?}");
    assert!(all().len() > answered + 1, "no caller disconnected after its execution was accepted");
}

#[test]
fn a_queued_execution_is_accepted_at_once_and_ends_by_itself() {
    let stage = Stage::new(&[]);
    let accepted = stage.world.json("execution create echo --async --input 7");
    assert_eq!(accepted["status"], "queued");
    let id = accepted["id"].as_str().unwrap();
    let ended = stage.ended(id);
    assert_eq!(ended.status, ExecutionStatus::Success);
    assert_eq!(ended.result.unwrap().to_value()["given"], 7);
    assert_eq!(stage.world.ok(&format!("execution logs {id}")), "got 7\n");
    let waited = stage.world.json("execution create echo --async --wait");
    assert_eq!((&waited["status"], &waited["result"]["given"]), (&json!("success"), &Value::Null));
    let listed = stage.world.json("execution list --function echo --status success");
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert_eq!(listed[0]["id"], waited["id"], "newest first");
    assert_eq!(stage.world.json("execution list --status failed"), json!([]));
}

#[test]
fn a_failed_function_is_reported_and_not_retried() {
    let stage = Stage::new(&[]);
    for (how, told) in [
        ("throw", "The function threw: ValueError: as asked."),
        ("sleep", "The function did not answer within 1 s."),
        // Neither the headers nor the rest take a second, but both together do.
        ("drip", "The function did not answer within 1 s."),
        ("refuse", "The function answered 404: no such order"),
    ] {
        let ended = stage.queue("fail", Some(json!({ "how": how })));
        let ended = stage.ended(&ended.id);
        assert_eq!((ended.status, ended.attempts.len()), (ExecutionStatus::Failed, 1), "{how}");
        assert_eq!(ended.result, Some(told.into()));
        let log = stage.world.ok(&format!("execution logs {}", ended.id));
        assert!(log.contains(&format!("about to {how}")), "{log}");
    }
    let failed = stage.world.run("execution create fail --input '{\"how\": \"throw\"}'");
    assert_eq!(failed.status, Some(1), "{}", failed.snapshot());
    assert!(failed.stdout.contains("ValueError: as asked") && failed.stderr.contains("execution logs"), "{failed:?}");
}

#[test]
fn an_invalid_request_starts_nothing_and_gets_a_reason() {
    let stage = Stage::new(&[]);
    for (line, code, told) in [
        ("execution create echo --input hello", 2, "the input is not JSON"),
        ("execution create echo --version 9", 1, "version"),
        ("execution create nosuch", 1, "no function"),
        ("job create --function echo", 2, "needs a cron pattern or a first execution time"),
        ("job create --function echo --cron 'x y'", 2, "is not a schedule"),
        ("job create --function echo --cron @daily --zone Mars/Base", 2, "zone"),
        ("job create --function echo --first-at 2020-01-01T00:00:00Z", 1, "has passed"),
        ("job get nosuch", 1, "has no job"),
        ("execution list --function nosuch", 1, "nosuch"),
        ("execution list --job nosuch", 1, "has no job"),
        ("execution list --timer nosuch", 1, "has no timer"),
        ("execution list --webhook nosuch", 1, "webhook"),
    ] {
        let refused = stage.world.run(line);
        assert_eq!(refused.status, Some(code), "{}", refused.snapshot());
        assert!(refused.stderr.contains(told), "{line}: {}", refused.stderr);
    }
    stage.world.env.write_file("large.json", format!("\"{}\"", "x".repeat((1 << 20) + 1)));
    let refused = stage.world.run("execution create echo --input @large.json");
    assert!(refused.stderr.contains("the limit is 1048576 (1 MiB)"), "{}", refused.stderr);
    assert_eq!(stage.world.json("execution list"), json!([]));
}

#[test]
fn a_cancelled_execution_ends_whether_it_waits_or_runs() {
    let stage = Stage::new(&["--executions", "1"]);
    let gate = Gate::new();
    let running = stage.queue("wait", Some(gate.input()));
    let _waiting = gate.next();
    let queued = stage.queue("echo", None);
    let cancelled = stage.world.json(&format!("execution cancel {}", queued.id));
    assert_eq!((&cancelled["status"], &cancelled["attempts"]), (&json!("cancelled"), &json!([])));
    stage.world.ok(&format!("execution cancel {}", running.id));
    let ended = stage.ended(&running.id);
    assert_eq!((ended.status, ended.result), (ExecutionStatus::Cancelled, None));
    // Its slot is free again.
    let next = stage.queue("echo", None);
    assert_eq!(stage.ended(&next.id).status, ExecutionStatus::Success);
    let refused = stage.world.run(&format!("execution cancel {}", running.id));
    assert_eq!(refused.status, Some(1), "{}", refused.snapshot());
    assert!(refused.stderr.contains("has already ended"), "{}", refused.stderr);
}
