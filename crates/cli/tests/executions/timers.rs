use milepost_model::execution::CauseKind;
use milepost_testkit::eventually_blocking;

use crate::stage::{MANIFEST, PATIENCE, Stage};

fn with_timer() -> String {
    format!("{MANIFEST}timers:\n  tick: {{ cron: \"@every 1s\", function: echo }}\n")
}

/// Waits until a job has fired twice: then everything that fires each second has fired too.
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

#[test]
fn timer_list_shows_the_next_firing_and_differences_to_live() {
    let stage = Stage::new(&[]);
    let manifest = |timers: &str| format!("{MANIFEST}timers:\n{timers}");
    let deploy = |timers: &str| {
        stage.world.env.write_file("milepost.yaml", manifest(timers));
        stage.deploy()
    };
    let first = deploy("  a: { cron: \"0 3 * * *\", function: echo }\n  b: { cron: \"@daily\", function: echo }\n");
    let listed = stage.world.json("timer list");
    let live: Vec<_> = listed.as_array().unwrap().iter().map(|timer| timer["live"]["number"].clone()).collect();
    assert_eq!(live, [1, 1]);
    let next = listed[0]["live"]["nextAt"].as_str().unwrap();
    assert!(next.ends_with("T03:00:00Z"), "{next}");
    assert!(stage.world.ok("timer get a").contains("Live:        yes\nNext:  "), "{}", stage.world.ok("timer get a"));

    stage.world.ok(&format!("release live {first}"));
    deploy("  a: { cron: \"0 4 * * *\", function: echo }\n  c: { cron: \"@hourly\", function: echo }\n");
    let table = stage.world.ok("timer list");
    let line = |name: &str| table.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert!(line("a").contains("0 4 * * *") && line("a").contains("version 1: 0 3 * * * UTC, echo"), "{table}");
    assert!(line("b").contains("only in live"), "{table}");
    assert!(line("c").trim_end().ends_with("no"), "{table}");
    let got = stage.world.json("timer get a");
    assert_eq!((&got["number"], &got["live"]["number"], &got["live"]["nextAt"]), (&2.into(), &1.into(), &next.into()));
}
