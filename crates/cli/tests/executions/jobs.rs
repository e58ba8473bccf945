use milepost_model::execution::{CauseKind, ExecutionStatus};
use milepost_testkit::eventually_blocking;
use serde_json::{Value, json};

use crate::stage::{PATIENCE, Stage};

#[test]
fn a_job_with_a_count_makes_that_many_executions_and_is_done() {
    let stage = Stage::new(&[]);
    let job =
        stage.world.json("job create --function echo --cron '@every 1s' --count 2 --name twice --input '{\"a\": 1}'");
    let id = job["id"].as_str().unwrap();
    assert_eq!(stage.world.json("job get twice")["id"], job["id"], "its name is enough");
    let state = || stage.world.json(&format!("job get {id}"))["state"].clone();
    eventually_blocking(PATIENCE, || state() == "done");
    let done = stage.world.json(&format!("job get {id}"));
    assert_eq!((&done["fired"], &done["count"], &done["nextAt"]), (&json!(2), &json!(0), &Value::Null));
    let made = stage.world.json(&format!("execution list --job {id}"));
    assert_eq!(made.as_array().unwrap().len(), 2);
    assert_eq!(stage.world.json("execution list --job twice"), made, "its name is enough here too");
    let table = stage.world.ok("execution list --cause job");
    assert!(table.contains("job twice") && !table.contains(id), "people read names: {table}");
    let shown = stage.world.ok(&format!("execution get {}", made[0]["id"].as_str().unwrap()));
    assert!(shown.contains(&format!("job twice ({id})")), "{shown}");
    for one in made.as_array().unwrap() {
        let ended = stage.ended(one["id"].as_str().unwrap());
        assert_eq!(ended.status, ExecutionStatus::Success);
        assert_eq!(ended.result.unwrap().to_value()["given"], json!({ "a": 1 }));
    }
    assert_ne!(made[0]["scheduledAt"], made[1]["scheduledAt"], "two ticks");
    let refused = stage.world.run(&format!("job resume {id}"));
    assert!(refused.stderr.contains("cannot be changed"), "{}", refused.snapshot());
    stage.world.ok(&format!("job delete {id}"));
    assert_eq!(stage.world.json("job list"), json!([]));
}

#[test]
fn a_job_follows_its_alias_rests_when_paused_and_goes_on_when_resumed() {
    let stage = Stage::new(&[]);
    stage.world.ok("function alias create echo --alias stable --version 1");
    let job = stage.world.json("job create --function echo --alias stable --cron '@every 1s'");
    let id = job["id"].as_str().unwrap();
    let made = || stage.caused_by(CauseKind::Job);
    eventually_blocking(PATIENCE, || !made().is_empty());
    stage.world.ok(&format!("job pause {id}"));
    let paused = made().len();
    // Another job is the clock: when it has fired twice, the paused one would have fired too.
    let clock = stage.world.json("job create --function echo --cron '@every 1s' --count 2");
    let clock = clock["id"].as_str().unwrap();
    eventually_blocking(PATIENCE, || stage.world.json(&format!("job get {clock}"))["state"] == "done");
    assert_eq!(made().len(), paused + 2);
    stage.world.env.write_file("echo/main.py", crate::stage::ECHO.replace("'answer': 1", "'answer': 2"));
    stage.deploy();
    stage.world.ok("function alias update echo --alias stable --version 2");
    stage.world.ok(&format!("job resume {id}"));
    eventually_blocking(PATIENCE, || made().len() > paused + 2);
    let newest = stage.ended(&made()[0].id);
    assert_eq!(newest.version.unwrap().number, 2);
    let cancelled = stage.world.json(&format!("job cancel {id}"));
    assert_eq!((&cancelled["state"], &cancelled["nextAt"]), (&json!("cancelled"), &Value::Null));
}
