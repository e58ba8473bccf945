use milepost_model::execution::CauseKind;
use milepost_testkit::eventually_blocking;

use crate::stage::{MANIFEST, PATIENCE, Stage};

fn with_timer() -> String {
    format!("{MANIFEST}timers:\n  tick: {{ cron: \"@every 1s\", function: echo }}\n")
}

/// A job as the clock of the test: when it has fired twice, everything of a second's rhythm has had its turn.
fn two_seconds(stage: &Stage) {
    let job = stage.world.json("job create --function echo --cron '@every 1s' --count 2");
    let id = job["id"].as_str().unwrap();
    eventually_blocking(PATIENCE, || stage.world.json(&format!("job get {id}"))["state"] == "done");
}

#[test]
fn a_timer_fires_for_the_live_release_only_and_stops_when_live_goes_back() {
    let stage = Stage::new(&[]);
    stage.world.ok("release live latest");
    stage.world.env.write_file("milepost.yaml", with_timer());
    let with = stage.deploy();
    let fired = || stage.caused_by(CauseKind::Timer);
    two_seconds(&stage);
    assert_eq!(fired().len(), 0, "its release is not live");

    stage.world.ok(&format!("release live {with}"));
    eventually_blocking(PATIENCE, || fired().len() >= 2);
    let tick = stage.ended(&fired()[0].id);
    assert_eq!((tick.cause.id.as_deref(), tick.started_by.as_str()), (Some("tick"), "milepost"));
    assert!(tick.scheduled_at.is_some());

    stage.world.ok("rollback");
    let until = fired().len();
    two_seconds(&stage);
    assert_eq!(fired().len(), until, "live went back to a release without it");
    let mut ticks: Vec<_> = fired().iter().map(|execution| execution.scheduled_at.unwrap()).collect();
    let all = ticks.len();
    ticks.dedup();
    assert_eq!(ticks.len(), all, "each tick fired once");
}
