use std::time::Duration;

use milepost_model::execution::{ExecutionFilter, ExecutionStatus};
use milepost_testkit::eventually_blocking;
use serde_json::json;

use crate::gate::Gate;
use crate::stage::{APP, PATIENCE, Stage, new};

const OTHER: &str = "other";

/// Another app with the same functions.
fn second_app(stage: &Stage) {
    stage.world.ok(&format!("app create {OTHER}"));
    let manifest = crate::stage::MANIFEST.replace("app: shop", &format!("app: {OTHER}"));
    stage.world.env.write_file("milepost.yaml", manifest);
    stage.world.ok(&format!("deploy --app {OTHER}"));
}

#[test]
fn an_app_that_keeps_its_places_leaves_one_for_others() {
    let stage = Stage::new(&["--executions", "8"]);
    second_app(&stage);
    let gate = Gate::new();
    let greedy: Vec<_> = (0..20).map(|_| stage.queue("wait", Some(gate.input()))).collect();
    let _held: Vec<_> = (0..7).map(|_| gate.next()).collect();
    let late = stage.block_on(stage.client().execution_create(OTHER, &new("echo", Some(json!(1)), false))).unwrap();
    let get = || stage.block_on(stage.client().execution_get(OTHER, &late.id)).unwrap();
    eventually_blocking(PATIENCE, || get().status.is_ended());
    assert_eq!(get().status, ExecutionStatus::Success);
    let running = ExecutionFilter { status: Some(ExecutionStatus::Running), ..ExecutionFilter::default() };
    assert_eq!(stage.listed(&running).len(), 7, "of eight places one app gets seven");
    for one in greedy {
        let _ = stage.block_on(stage.client().execution_cancel(APP, &one.id));
    }
}

#[test]
fn slow_one_that_finds_every_instance_busy_waits_in_the_queue_again_and_that_is_no_attempt() {
    let stage = Stage::new(&[]);
    let gate = Gate::new();
    let first = stage.queue("alone", Some(gate.input()));
    let held = gate.next();
    let second = stage.queue("alone", Some(gate.input()));
    let began = || stage.get(&second.id).attempts.first().map(|attempt| attempt.started_at);
    eventually_blocking(PATIENCE, || began().is_some());
    let early = began();
    // A call waits for an instance for up to 30 seconds.
    eventually_blocking(PATIENCE, || began().is_some_and(|began| Some(began) != early));
    held.let_go();
    gate.open();
    assert_eq!(stage.ended(&first.id).status, ExecutionStatus::Success);
    let ended = stage.ended(&second.id);
    assert_eq!((ended.status, ended.attempts.len()), (ExecutionStatus::Success, 1), "{ended:?}");
    assert_eq!(ended.started_at, Some(ended.attempts[0].started_at));
}

#[test]
fn a_full_queue_refuses_with_a_hint() {
    let stage = Stage::new(&["--executions", "0"]);
    stage.world.ok("plan set free");
    let (client, new) = (stage.client(), new("echo", None, false));
    stage.block_on(async {
        for _ in 0..1000 {
            client.execution_create(APP, &new).await.unwrap();
        }
    });
    let refused = stage.world.run("execution create echo --async");
    assert_eq!(refused.status, Some(1), "{}", refused.snapshot());
    assert!(refused.stderr.contains("is full") && refused.stderr.contains("larger plan"), "{}", refused.stderr);
    stage.world.ok("plan set standard");
    stage.world.ok("execution create echo --async");
}

#[test]
fn one_that_waits_for_its_end_is_refused_when_the_app_runs_as_many_as_it_may() {
    let stage = Stage::new(&[]);
    stage.world.ok("plan set free");
    let gate = Gate::new();
    for _ in 0..4 {
        stage.queue("wait", Some(gate.input()));
    }
    let held: Vec<_> = (0..4).map(|_| gate.next()).collect();
    let refused = stage.world.run("execution create echo");
    assert_eq!(refused.status, Some(1), "{}", refused.snapshot());
    assert!(refused.stderr.contains("runs 4 executions") && refused.stderr.contains("--async"), "{}", refused.stderr);
    held.into_iter().for_each(crate::gate::Waiting::let_go);
    eventually_blocking(Duration::from_secs(20), || stage.world.run("execution create echo").status == Some(0));
}
