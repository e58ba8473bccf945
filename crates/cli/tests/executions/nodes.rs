use std::time::Duration;

use milepost_model::execution::{AttemptEnd, ExecutionStatus};
use milepost_testkit::cli::CliEnv;
use milepost_testkit::eventually_blocking;
use milepost_testkit::postgres::Cluster;

use crate::gate::Gate;
use crate::stage::{APP, Stage};

/// A node is dead after 20 seconds without a beat, and others look every five.
const TAKEN_OVER: Duration = Duration::from_secs(60);

#[test]
fn slow_a_node_takes_over_from_one_that_died_and_hears_what_is_to_be_cancelled() {
    let cluster = Cluster::start_private(true);
    let database = cluster.database();
    let mut stage = Stage::new(&["--database", &database.url, "--executions", "1"]);
    let gate = Gate::new();
    let taken_over = stage.queue("wait", Some(gate.input()));
    let first = gate.next();
    // The second node has the key and the files of the first one, and a folder of its own.
    let mut env: CliEnv = stage.world.env.clone();
    let data = env.home().join("other");
    std::fs::create_dir(&data).unwrap();
    let owner = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(&data, owner).unwrap();
    for file in ["secret.key", "admin.token"] {
        std::fs::copy(env.data_dir().join(file), data.join(file)).unwrap();
    }
    let blobs = env.data_dir().join("blobs").display().to_string();
    env.set("MILEPOST_DATA", data.to_str().unwrap());
    let second = env.server_with(&["--database", &database.url, "--blobs", &blobs, "--executions", "4"]);

    // The first node has no place left, so the second one runs it; the first one is asked to cancel it.
    let elsewhere = stage.queue("wait", Some(gate.input()));
    let _held = gate.next();
    stage.world.ok(&format!("execution cancel {}", elsewhere.id));
    assert_eq!(stage.ended(&elsewhere.id).status, ExecutionStatus::Cancelled);

    stage.world.server.kill9();
    drop(first);
    gate.open();
    let token = std::fs::read_to_string(data.join("admin.token")).unwrap();
    let client = milepost_client::Client::new(second.api(), token.trim()).unwrap();
    let get = || stage.block_on(client.execution_get(APP, &taken_over.id)).unwrap();
    eventually_blocking(TAKEN_OVER, || get().status.is_ended());
    let ended = get();
    let ends: Vec<_> = ended.attempts.iter().map(|attempt| attempt.end.unwrap()).collect();
    assert_eq!((ended.status, ends), (ExecutionStatus::Success, vec![AttemptEnd::Lost, AttemptEnd::Success]));
}
