use std::collections::BTreeSet;
use std::time::Duration;

use milepost_model::execution::{AttemptEnd, Execution, ExecutionFilter, ExecutionStatus, MAX_ATTEMPTS};
use milepost_testkit::eventually_blocking;
use serde_json::json;

use crate::gate::Gate;
use crate::stage::{APP, PATIENCE, Stage, new};

const RUNNING: usize = 20;
const QUEUED: usize = 500;
/// One app may use seven of eight slots, so 20 of these 22 (rounded up).
const PLACES: &str = "22";

#[test]
fn slow_a_killed_server_loses_no_execution_and_records_attempts() {
    let mut stage = Stage::new(&["--executions", PLACES]);
    let gate = Gate::new();
    let running: Vec<Execution> = (0..RUNNING).map(|_| stage.queue("wait", Some(gate.input()))).collect();
    let held: Vec<_> = running.iter().map(|_| gate.next()).collect();
    let queued: Vec<Execution> = (0..QUEUED).map(|number| stage.queue("echo", Some(json!(number)))).collect();
    let (client, input) = (stage.client(), gate.input());
    let waiting = std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(client.execution_create(APP, &new("wait", Some(input), true)))
    });
    let _synchronous = gate.next();
    stage.world.server.kill9();
    assert!(waiting.join().unwrap().is_err(), "the waiting caller gets an error");
    drop(held);
    gate.open();
    stage.world.server.restart();

    let any =
        |status| !stage.listed(&ExecutionFilter { status: Some(status), ..ExecutionFilter::default() }).is_empty();
    // A running execution must be given back before it can be queued again. The restart has done
    // this.
    eventually_blocking(PATIENCE * 2, || !any(ExecutionStatus::Queued) && !any(ExecutionStatus::Running));
    let all = stage.listed(&ExecutionFilter::default());
    assert_eq!(all.len(), RUNNING + QUEUED + 1);
    for execution in &running {
        let ended = stage.get(&execution.id);
        assert_eq!((ended.status, &ended.version), (ExecutionStatus::Success, &execution.version));
        let ends: Vec<_> = ended.attempts.iter().map(|attempt| attempt.end.unwrap()).collect();
        assert_eq!(ends, [AttemptEnd::Lost, AttemptEnd::Success]);
        let nodes: BTreeSet<_> = ended.attempts.iter().map(|attempt| &attempt.node).collect();
        assert_eq!(nodes.len(), 2, "a server that starts again is another node");
    }
    for (number, execution) in queued.iter().enumerate() {
        let ended = stage.get(&execution.id);
        assert_eq!((ended.status, ended.attempts.len()), (ExecutionStatus::Success, 1));
        assert_eq!(ended.result.unwrap().to_value()["given"], number);
    }
    let synchronous = all.iter().find(|execution| execution.sync).unwrap();
    assert_eq!(synchronous.status, ExecutionStatus::Error);
    assert!(synchronous.result.as_ref().unwrap().as_str().contains("its caller is gone"), "{synchronous:?}");
}

#[test]
fn slow_one_that_runs_in_three_servers_that_die_is_not_tried_again() {
    let mut stage = Stage::new(&[]);
    let gate = Gate::new();
    let poison = stage.queue("wait", Some(gate.input()));
    for _ in 1..=MAX_ATTEMPTS {
        let _held = gate.next();
        // By now it is recorded that an instance has it: an execution accepted later has ended.
        stage.world.ok("execution create echo");
        stage.world.server.kill9();
        stage.world.server.restart();
    }
    let ended = stage.ended(&poison.id);
    let ends: Vec<_> = ended.attempts.iter().map(|attempt| attempt.end.unwrap()).collect();
    assert_eq!((ended.status, ends), (ExecutionStatus::Error, vec![AttemptEnd::Lost; 3]));
    assert!(ended.result.unwrap().as_str().contains("3 times"));
}

#[test]
fn a_stopping_server_waits_for_executions() {
    let mut stage = Stage::new(&["--executions", "1"]);
    let gate = Gate::new();
    let running = stage.queue("wait", Some(gate.input()));
    let waiting = gate.next();
    let next = stage.queue("echo", None);
    let server_file = stage.world.env.data_dir().join("server.json");
    let letting_go = std::thread::spawn(move || {
        // The file is removed when the server begins to stop.
        eventually_blocking(Duration::from_secs(20), || !server_file.exists());
        waiting.let_go();
    });
    assert!(stage.world.server.stop().success());
    letting_go.join().unwrap();
    stage.world.server.restart();
    let ended = stage.get(&running.id);
    assert_eq!((ended.status, ended.attempts.len()), (ExecutionStatus::Success, 1));
    let next = stage.ended(&next.id);
    assert_eq!((next.status, next.attempts.len()), (ExecutionStatus::Success, 1), "it was not begun any more");
}

#[test]
fn slow_executions_cut_off_by_the_stop_run_again() {
    let mut stage = Stage::new(&[]);
    let gate = Gate::new();
    let running = stage.queue("wait", Some(gate.input()));
    let _held = gate.next();
    assert!(stage.world.server.stop().success());
    gate.open();
    stage.world.server.restart();
    let ended = stage.ended(&running.id);
    let ends: Vec<_> = ended.attempts.iter().map(|attempt| attempt.end.unwrap()).collect();
    assert_eq!((ended.status, ends), (ExecutionStatus::Success, vec![AttemptEnd::Stopped, AttemptEnd::Success]));
}
