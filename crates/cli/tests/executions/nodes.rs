use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use milepost_client::Client;
use milepost_model::execution::{AttemptEnd, CauseKind, ExecutionStatus};
use milepost_testkit::cli::Server;
use milepost_testkit::eventually_blocking;
use milepost_testkit::postgres::Cluster;

use crate::gate::Gate;
use crate::stage::{APP, PATIENCE, Stage};

/// A node is dead after 20 seconds without a heartbeat, and others check every five seconds.
const TAKEN_OVER: Duration = Duration::from_secs(60);

/// A second server on the same database, key and blobs, with its own data folder.
struct Second {
    server: Server,
    client: Client,
}

impl Second {
    fn beside(stage: &Stage, database: &str) -> Self {
        let mut env = stage.world.env.clone();
        let data = env.home().join("other");
        fs::create_dir(&data).unwrap();
        fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).unwrap();
        for file in ["secret.key", "admin.token"] {
            fs::copy(env.data_dir().join(file), data.join(file)).unwrap();
        }
        let blobs = env.data_dir().join("blobs").display().to_string();
        env.set("MILEPOST_DATA", data.to_str().unwrap());
        let server = env.server_with(&["--database", database, "--blobs", &blobs, "--executions", "4"]);
        let token = fs::read_to_string(data.join("admin.token")).unwrap();
        let client = Client::new(server.api(), token.trim()).unwrap();
        Self { server, client }
    }
}

#[test]
fn slow_invariant_11_a_node_takes_over_from_a_dead_one_and_receives_cancellations() {
    let cluster = Cluster::start_private(true);
    let database = cluster.database();
    let mut stage = Stage::new(&["--database", &database.url, "--executions", "1"]);
    let gate = Gate::new();
    let taken_over = stage.queue("wait", Some(gate.input()));
    let first = gate.next();
    let second = Second::beside(&stage, &database.url);
    // The first node has no free slot, so the second one runs it. The cancellation is sent to the
    // first one.
    let elsewhere = stage.queue("wait", Some(gate.input()));
    let _held = gate.next();
    stage.world.ok(&format!("execution cancel {}", elsewhere.id));
    assert_eq!(stage.ended(&elsewhere.id).status, ExecutionStatus::Cancelled);

    stage.world.server.kill9();
    drop(first);
    gate.open();
    let get = || stage.block_on(second.client.execution_get(APP, &taken_over.id)).unwrap();
    eventually_blocking(TAKEN_OVER, || get().status.is_ended());
    let ended = get();
    let ends: Vec<_> = ended.attempts.iter().map(|attempt| attempt.end.unwrap()).collect();
    assert_eq!((ended.status, ends), (ExecutionStatus::Success, vec![AttemptEnd::Lost, AttemptEnd::Success]));
}

#[test]
fn slow_two_nodes_fire_each_tick_once_and_one_that_stops_leaves_nothing_behind() {
    const TICKS: usize = 5;
    let cluster = Cluster::start_private(true);
    let database = cluster.database();
    let stage = Stage::new(&["--database", &database.url, "--executions", "4"]);
    let mut second = Second::beside(&stage, &database.url);
    let jobs: Vec<String> = (0..10)
        .map(|_| {
            let job = stage.world.json(&format!("job create --function echo --cron '@every 1s' --count {TICKS}"));
            job["id"].as_str().unwrap().to_owned()
        })
        .collect();
    eventually_blocking(PATIENCE, || stage.caused_by(CauseKind::Job).len() >= jobs.len());
    assert!(second.server.stop().success());
    let done = |id: &String| stage.world.json(&format!("job get {id}"))["state"] == "done";
    eventually_blocking(PATIENCE, || jobs.iter().all(done));
    eventually_blocking(PATIENCE, || stage.caused_by(CauseKind::Job).iter().all(|one| one.status.is_ended()));
    let made = stage.caused_by(CauseKind::Job);
    assert_eq!(made.len(), jobs.len() * TICKS);
    let ticks: BTreeSet<_> = made.iter().map(|one| (&one.cause.id, one.scheduled_at)).collect();
    assert_eq!(ticks.len(), made.len(), "a tick fired twice");
    assert!(made.iter().all(|one| one.status == ExecutionStatus::Success && one.attempts.len() == 1), "{made:#?}");
}
