//! Secret values cannot be guessed through another app, and fingerprints stored by older versions
//! do not help either.

use std::fs;
use std::io::{Cursor, Read};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use milepost_client::Client;
use milepost_model::change::{Change, UnitKey};
use milepost_model::unit_put::{Put, SecretPut};
use milepost_model::{ChangeOutcome, UnitKind, UnitPut};
use milepost_testkit::cli::CliEnv;
use milepost_testkit::eventually;
use serde_json::json;

use crate::common::World;

/// A data folder made by an earlier version. App `shop`: TOKEN was alpha, beta and alpha again,
/// OTHER is alpha, REMOVED was removed. Apps `victim` and `evil` both have PIN 0137. App `many` has
/// S0 to S99.
const OLD: &[u8] = include_bytes!("old_secrets.zip");
const OLD_ALPHA: &str = "sha256:a6b866da1a76f4c9edbc67613135a20fb62a47a30c504a08ddc9a42fd13a14df";
const OLD_BETA: &str = "sha256:51c7d128856164eaaae6b23ae0a9a6e715349735a93baecf343af1621e70e40d";

fn secrets(values: impl IntoIterator<Item = (String, String)>, dry_run: bool) -> Change {
    let put = |(name, value): (String, String)| Put {
        name: name.parse().unwrap(),
        label: None,
        description: None,
        group: None,
        force: false,
        only: None,
        unit: UnitPut::Secret(SecretPut { value }),
    };
    Change { puts: values.into_iter().map(put).collect(), dry_run, ..serde_json::from_value(json!({})).unwrap() }
}

fn secret(name: &str) -> UnitKey {
    UnitKey { kind: UnitKind::Secret, name: name.parse().unwrap() }
}

async fn set(client: &Client, app: &str, name: &str, value: &str) -> ChangeOutcome {
    client.change(app, &secrets([(name.to_owned(), value.to_owned())], false), None).await.unwrap()
}

fn client_of(world: &World, role: &str, app: &str) -> Client {
    let token = world.json(&format!("token create {role}-{app} --role {role} --only {app}"));
    Client::new(world.server.api(), token["token"].as_str().unwrap()).unwrap()
}

/// The 64 hexadecimal digits of every digest in a text.
fn digests(text: &str) -> Vec<String> {
    text.split("sha256:").skip(1).map(|rest| rest.chars().take(64).collect()).collect()
}

/// Everything that a client can read about the secrets of an app.
async fn all_about(client: &Client, app: &str, name: &str) -> String {
    let mut told = String::new();
    let mut tell = |part: serde_json::Value| told.push_str(&part.to_string());
    tell(json!(client.event_list(app, 1000, None).await.unwrap().items));
    tell(json!(client.version_list(app, &secret(name), 100, None).await.unwrap().items));
    tell(json!(client.version_get(app, &secret(name), "latest").await.unwrap()));
    let versions = client.app_version_list(app, 100, None).await.unwrap().items;
    for version in versions {
        tell(json!(client.app_version_get(app, &version.id).await.unwrap()));
    }
    told
}

#[tokio::test]
async fn values_of_secrets_cannot_be_guessed_across_apps() {
    let world = World::on_machine_time();
    let admin = world.client();
    world.ok("app create victim");
    world.ok("app create evil");
    set(&admin, "victim", "PIN", "0137").await;
    let (reader, evil) = (client_of(&world, "reader", "victim"), client_of(&world, "deployer", "evil"));
    let known = all_about(&reader, "victim", "PIN").await;
    assert!(!known.contains("fingerprint"), "{known}");
    let known = digests(&known);
    assert!(!known.is_empty(), "stored versions have a digest");

    // Dry runs can try any number of candidates, under the same name and under others.
    let candidates = |names: &[&str]| -> Vec<(String, String)> {
        let values = (100..200).map(|value| format!("{value:04}"));
        match names {
            [name] => vec![((*name).to_owned(), "0137".to_owned())],
            _ => values.map(|value| (format!("C{value}"), value)).collect(),
        }
    };
    for names in [&["PIN"][..], &[]] {
        let planned = evil.change("evil", &secrets(candidates(names), true), None).await.unwrap();
        assert_eq!(digests(&json!(planned).to_string()), Vec::<String>::new(), "a dry run answers no digest");
    }
    // A value that is really set has a digest, unrelated to that of the other app.
    let outcome = evil.change("evil", &secrets(candidates(&["PIN"]), false), None).await.unwrap();
    evil.change("evil", &secrets(candidates(&[]), false), None).await.unwrap();
    let mut made = digests(&json!(outcome).to_string());
    made.extend(digests(&all_about(&evil, "evil", "PIN").await));
    made.extend(digests(&all_about(&evil, "evil", "C0137").await));
    assert!(made.iter().all(|digest| !known.contains(digest)), "equal values of two apps compare");
}

/// A server on the old data folder, before re-keying.
fn old_world() -> World {
    let mut env = CliEnv::new();
    env.unset("MILEPOST_TEST_SEED");
    env.unset("MILEPOST_TEST_CLOCK");
    let data = env.data_dir();
    fs::create_dir_all(&data).unwrap();
    fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).unwrap();
    let mut archive = zip::ZipArchive::new(Cursor::new(OLD)).unwrap();
    for at in 0..archive.len() {
        let mut file = archive.by_index(at).unwrap();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        let path = data.join(&*file.name().unwrap());
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    }
    World::in_env(env, &[])
}

async fn is_rekeyed(client: &Client) -> bool {
    let token = client.version_get("shop", &secret("TOKEN"), "latest").await.unwrap();
    // The last one to be re-keyed.
    let last = client.version_get("many", &secret("S99"), "latest").await.unwrap();
    let first = client.version_get("many", &secret("S0"), "latest").await.unwrap();
    token.digest.to_string() != OLD_ALPHA && last.digest != first.digest && {
        let pins = [client.version_get("victim", &secret("PIN"), "1").await.unwrap().digest];
        pins[0] != client.version_get("evil", &secret("PIN"), "1").await.unwrap().digest
    }
}

/// Holds at any point of the re-keying.
async fn check_old(client: &Client, uids: &[String]) {
    let versions = client.version_list("shop", &secret("TOKEN"), 10, None).await.unwrap().items;
    let now: Vec<String> = versions.iter().map(|version| version.uid.clone()).collect();
    assert_eq!(now, uids, "uids and numbers stay");
    assert_eq!(versions.iter().map(|version| version.number).collect::<Vec<_>>(), [3, 2, 1]);
    for (old, number) in [(OLD_ALPHA, 3), (OLD_BETA, 2), (&OLD_BETA[..20], 2)] {
        assert_eq!(client.version_get("shop", &secret("TOKEN"), old).await.unwrap().number, number, "{old}");
    }
    assert_eq!(client.version_get("shop", &secret("OTHER"), OLD_ALPHA).await.unwrap().number, 1);
    for (app, name, value) in [("shop", "TOKEN", "alpha"), ("shop", "OTHER", "alpha"), ("victim", "PIN", "0137")] {
        assert!(!set(client, app, name, value).await.changed, "{app} {name} is what it was");
    }
    let all = (0..100).map(|number| (format!("S{number}"), format!("value {number}")));
    assert!(!client.change("many", &secrets(all, false), None).await.unwrap().changed);
}

async fn uids(client: &Client) -> Vec<String> {
    let versions = client.version_list("shop", &secret("TOKEN"), 10, None).await.unwrap().items;
    versions.into_iter().map(|version| version.uid).collect()
}

#[tokio::test]
async fn secrets_of_an_old_data_folder_are_rekeyed_and_keep_their_names() {
    let world = old_world();
    let client = world.client();
    let uids = uids(&client).await;
    check_old(&client, &uids).await;
    eventually(Duration::from_secs(20), || is_rekeyed(&client)).await;
    check_old(&client, &uids).await;
    let (victim, evil) = (all_about(&client, "victim", "PIN").await, all_about(&client, "evil", "PIN").await);
    let victim = digests(&victim);
    assert!(digests(&evil).iter().all(|digest| !victim.contains(digest)), "old events compare no values either");
    // An old value and a new one.
    assert_eq!(set(&client, "shop", "TOKEN", "beta").await.versions[0].number, Some(4));
    let by_old = client.version_get("shop", &secret("TOKEN"), OLD_BETA).await.unwrap();
    let (second, fourth) = (
        client.version_get("shop", &secret("TOKEN"), "2").await.unwrap(),
        client.version_get("shop", &secret("TOKEN"), "4").await.unwrap(),
    );
    assert_eq!((by_old.number, second.digest), (2, fourth.digest), "equal values have equal digests");
    assert!(world.ok("secret list --app many").contains("S99"));
}

#[tokio::test]
async fn rekeying_goes_on_after_a_kill() {
    let mut world = old_world();
    let before = uids(&world.client()).await;
    for _ in 0..3 {
        world.server.kill9();
        world.server.restart();
        check_old(&world.client(), &before).await;
    }
    let client = world.client();
    eventually(Duration::from_secs(20), || is_rekeyed(&client)).await;
    check_old(&client, &before).await;
    world.server.restart();
    check_old(&world.client(), &before).await;
}
