//! Multiple servers on one PostgreSQL database.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;

use futures::future::join_all;
use milepost_server::Server;
use milepost_testkit::postgres;
use reqwest::Method;
use serde_json::json;
use tempfile::TempDir;

use crate::bodies::{config, function};
use crate::server::{TestServer, refused, settings};

/// A data directory with the key that all servers on one database share.
fn folder_with_key() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("secret.key");
    std::fs::write(&key, [7; 32]).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    folder
}

#[tokio::test(flavor = "multi_thread")]
async fn rejects_a_server_with_a_different_key() {
    let database = postgres::database();
    let one = TestServer::on_database(&database.url).await;
    let other = tempfile::tempdir().unwrap();
    let mut settings = settings(other.path());
    settings.database = Some(database.url.clone());
    let error = Server::start(settings).await.err().unwrap();
    assert!(error.to_string().contains("secret.key"), "{error}");
    one.change(&config("a", 1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_on_one_database_serve_the_same_app() {
    let database = postgres::database();
    let start = || TestServer::start_in(folder_with_key(), |settings| settings.database = Some(database.url.clone()));
    let (one, two) = tokio::join!(start(), start());
    let changes: Vec<_> = (0..16).map(|at| config(&format!("key{at}"), at)).collect();
    let outcomes =
        join_all(changes.iter().enumerate().map(|(at, change)| if at % 2 == 0 { &one } else { &two }.change(change)))
            .await;
    let numbers: BTreeSet<i64> =
        outcomes.iter().map(|outcome| outcome["versions"][0]["number"].as_i64().unwrap()).collect();
    assert_eq!(numbers, (1..=16).collect(), "no number is missing or given twice");
    let uids: BTreeSet<String> = outcomes.iter().map(|outcome| outcome["appVersion"].to_string()).collect();
    assert_eq!(uids.len(), 16);
    for path in ["/apps/default/versions", "/apps/default/events", "/apps/default/releases", "/apps/default"] {
        assert_eq!(one.get(path).await, two.get(path).await, "{path}");
    }
    let events = one.get("/apps/default/events?limit=1000").await;
    let ids: Vec<i64> = events["items"].as_array().unwrap().iter().map(|event| event["id"].as_i64().unwrap()).collect();
    assert_eq!(ids, (1..=ids.len() as i64).rev().collect::<Vec<_>>(), "the log has no gaps");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_server_has_its_own_admin_token_valid_on_both() {
    let database = postgres::database();
    let start = || TestServer::start_in(folder_with_key(), |settings| settings.database = Some(database.url.clone()));
    let (one, two) = (start().await, start().await);
    assert_ne!(one.token, two.token);
    for (server, token) in [(&one, &two.token), (&two, &one.token)] {
        assert_eq!(server.ask_as(token, Method::GET, "/whoami").send().await.unwrap().status(), 200);
    }
    two.client.token_delete("admin").await.unwrap();
    assert_eq!(one.ask_as(&one.token, Method::GET, "/whoami").send().await.unwrap().status(), 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_sharing_a_blob_store_read_each_others_files() {
    let database = postgres::database();
    let blobs = tempfile::tempdir().unwrap();
    let start = || {
        TestServer::start_in(folder_with_key(), |settings| {
            settings.database = Some(database.url.clone());
            settings.blobs = Some(blobs.path().display().to_string());
        })
    };
    let (one, two) = (start().await, start().await);
    let root = one.store(&[("main.py", "print('hi')")]).await;
    two.change(&function("hello", root)).await;
    let version = one.get("/apps/default/units/function/hello/versions/latest").await;
    assert_eq!(version["number"], 1);
    let zip = two.ask(Method::GET, "/apps/default/units/function/hello/versions/1/download").send().await.unwrap();
    assert_eq!(zip.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn both_databases_reject_nul_characters() {
    let database = postgres::database();
    for server in [TestServer::start().await, TestServer::on_database(&database.url).await] {
        let mut change = config("a", 1);
        change["message"] = "nul \u{0} inside".into();
        let request = server.ask(Method::POST, "/apps/default/changes").json(&change);
        refused(request, 400, "invalid_request").await;
        change["message"] = "a path like C:\\u0000 is fine, and so is ünïcödé 🦀".into();
        server.change(&change).await;
        for path in ["/apps/default/releases/a%00b", "/apps/default/versions/%00", "/apps/default/diff?from=%00&to=1"] {
            refused(server.ask(Method::GET, path), 400, "invalid_request").await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rollback_is_answered_as_done_if_a_read_after_it_fails() {
    let database = postgres::database();
    let server = TestServer::on_database(&database.url).await;
    let first = server.change(&config("a", 1)).await["release"]["id"].clone();
    server.change(&config("a", 2)).await;
    database.batch("UPDATE contents SET body = 'broken' WHERE kind = 'config'");
    let (status, plan) = server.send(Method::POST, "/apps/default/rollback", &json!({ "dryRun": true })).await;
    assert_eq!((status, &plan["code"]), (500, &json!("internal")), "{plan}");
    let (status, done) = server.send(Method::POST, "/apps/default/rollback", &json!({})).await;
    assert_eq!((status, &done["to"]["id"]), (200, &first), "{done}");
    assert_eq!(done["problems"], json!(["live was moved, but what changed with it could not be read"]));
    assert_eq!(server.get("/apps/default/live").await["release"]["id"], first);
}
