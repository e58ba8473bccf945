//! Many clients change one app at once, through the API of a real server.
#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a step that fails ends the test")]

#[expect(dead_code, reason = "other tests use the rest")]
mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use common::World;
use milepost_client::Client;
use milepost_model::change::{Change, UnitKey};
use milepost_model::spec::{EnvironmentSpec, Runtime};
use milepost_model::unit_put::{ConfigPut, Put, UnitPut};
use milepost_model::{ChangeOutcome, UnitKind, UnitName};
use serde_json::{Value, json};

const APP: &str = "default";
const CLIENTS: usize = 16;
const CHANGES: usize = 12;
/// Makes a deadlock fail instead of hanging the test.
const DEADLINE: Duration = Duration::from_secs(60);

/// Each client sets its own keys of the shared config and makes versions of its own environment. It
/// sends each change twice at once under one key, like an impatient client.
#[test]
fn changes_of_sixteen_clients_land_once_each_without_gaps() {
    let world = World::on_machine_time();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let outcomes = runtime.block_on(async {
        let clients = (0..CLIENTS).map(|number| tokio::spawn(work(world.client(), number)));
        let all = futures::future::join_all(clients);
        let ended = tokio::time::timeout(DEADLINE, all).await.expect("a deadlock");
        ended.into_iter().flat_map(Result::unwrap).collect::<Vec<_>>()
    });
    let client = world.client();
    runtime.block_on(check(&client, &outcomes));
}

async fn work(client: Client, number: usize) -> Vec<ChangeOutcome> {
    let mut outcomes = Vec::new();
    for step in 0..CHANGES {
        let change = change(number, step);
        let key = change.message.clone();
        let (first, second) =
            tokio::join!(client.change(APP, &change, Some(&key)), client.change(APP, &change, Some(&key)));
        let (first, second) = (first.unwrap(), second.unwrap());
        assert_eq!(first.app_version, second.app_version, "a change that is sent twice lands once");
        assert!(first.changed);
        outcomes.push(first);
    }
    outcomes
}

fn change(number: usize, step: usize) -> Change {
    let set = BTreeMap::from([(format!("client-{number}.step-{step}"), json!(step))]);
    let config = ConfigPut { set, ..ConfigPut::default() };
    let environment = EnvironmentSpec {
        runtime: Runtime::Binary,
        interpreter: String::new(),
        builder: format!("./build-{step}"),
        variables: BTreeMap::new(),
    };
    let puts = vec![
        put(UnitKind::Config, "config", UnitPut::Config(config)),
        put(UnitKind::Environment, &format!("env-{number}"), UnitPut::Environment(environment)),
    ];
    Change { message: format!("client {number} step {step}"), puts, ..Change::default() }
}

async fn check(client: &Client, outcomes: &[ChangeOutcome]) {
    let total = CLIENTS * CHANGES;
    let versions = client.app_version_list(APP, 1000, None).await.unwrap().items;
    let numbers: Vec<i64> = versions.iter().rev().map(|version| version.number).collect();
    assert_eq!(numbers, (1..=total as i64).collect::<Vec<_>>());
    let messages: BTreeSet<&str> = versions.iter().map(|version| version.message.as_str()).collect();
    assert_eq!(messages.len(), total, "each landed once");
    let answered: BTreeSet<&str> = outcomes.iter().filter_map(|outcome| outcome.app_version.as_deref()).collect();
    assert_eq!(answered, versions.iter().map(|version| version.id.as_str()).collect());

    let config = numbers_of(client, UnitKind::Config, "config").await;
    assert_eq!(config, (1..=total as i64).rev().collect::<Vec<_>>());
    for number in 0..CLIENTS {
        let own = numbers_of(client, UnitKind::Environment, &format!("env-{number}")).await;
        assert_eq!(own, (1..=CHANGES as i64).rev().collect::<Vec<_>>());
    }
    let newest = client.version_get(APP, &key(UnitKind::Config, "config"), "latest").await.unwrap();
    assert_eq!(newest.spec["document"], everything(), "a key was overwritten");

    let mut ids = Vec::new();
    let mut cursor = None;
    loop {
        let page = client.event_list(APP, 1000, cursor.as_deref()).await.unwrap();
        ids.extend(page.items.iter().map(|event| event.id));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(ids, (1..=ids.len() as i64).rev().collect::<Vec<_>>(), "event ids have no gaps");
}

/// The config with the keys of all clients.
fn everything() -> Value {
    let steps: BTreeMap<String, usize> = (0..CHANGES).map(|step| (format!("step-{step}"), step)).collect();
    (0..CLIENTS).map(|number| (format!("client-{number}"), json!(steps))).collect()
}

async fn numbers_of(client: &Client, kind: UnitKind, name: &str) -> Vec<i64> {
    let page = client.version_list(APP, &key(kind, name), 1000, None).await.unwrap();
    page.items.iter().map(|version| version.number).collect()
}

fn key(kind: UnitKind, name: &str) -> UnitKey {
    UnitKey { kind, name: UnitName::for_kind(kind, name).unwrap() }
}

fn put(kind: UnitKind, name: &str, unit: UnitPut) -> Put {
    let name = key(kind, name).name;
    Put { name, label: None, description: None, group: None, force: false, only: None, unit }
}
