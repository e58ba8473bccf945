use std::collections::BTreeSet;

use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::bodies::config;
use crate::server::{TestServer, refused};

async fn with_key(server: &TestServer, key: &str, change: &Value) -> Value {
    let request = server.ask(Method::POST, "/apps/default/changes").header("idempotency-key", key).json(change);
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    response.json().await.unwrap()
}

async fn app_versions(server: &TestServer) -> usize {
    server.get("/apps/default/versions").await["items"].as_array().unwrap().len()
}

#[tokio::test]
async fn repeated_idempotency_key_returns_the_first_outcome() {
    let server = TestServer::start().await;
    let first = with_key(&server, "k1", &config("a", 1)).await;
    let second = with_key(&server, "k1", &config("a", 1)).await;
    assert_eq!(first, second);
    assert_eq!(first["changed"], true);
    assert_eq!(app_versions(&server).await, 1);
}

#[tokio::test]
async fn concurrent_changes_with_one_key_apply_once() {
    let server = TestServer::start().await;
    let change = config("a", 1);
    let outcomes = join_all((0..8).map(|_| with_key(&server, "once", &change))).await;
    assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]));
    assert_eq!(app_versions(&server).await, 1);
}

#[tokio::test]
async fn rejects_a_reused_key_with_a_different_change() {
    let server = TestServer::start().await;
    with_key(&server, "k1", &config("a", 1)).await;
    let other = server.ask(Method::POST, "/apps/default/changes").header("idempotency-key", "k1");
    let problem = refused(other.json(&config("a", 2)), 409, "idempotency_mismatch").await;
    assert!(problem.detail.contains("`k1`"), "{problem:?}");
    assert_eq!(app_versions(&server).await, 1);
}

#[tokio::test]
async fn dry_run_does_not_consume_its_key() {
    let server = TestServer::start().await;
    let mut plan = config("a", 1);
    plan["dryRun"] = json!(true);
    let planned = with_key(&server, "k1", &plan).await;
    assert_eq!((&planned["changed"], &planned["dryRun"]), (&json!(true), &json!(true)));
    assert_eq!(app_versions(&server).await, 0);
    with_key(&server, "k1", &config("a", 2)).await;
    assert_eq!(app_versions(&server).await, 1);
}

#[tokio::test]
async fn rejects_invalid_idempotency_keys() {
    let server = TestServer::start().await;
    for key in ["", &"x".repeat(201)] {
        let request = server.ask(Method::POST, "/apps/default/changes").header("idempotency-key", key);
        refused(request.json(&config("a", 1)), 400, "invalid_request").await;
    }
    assert_eq!(app_versions(&server).await, 0);
}

#[tokio::test]
async fn concurrent_changes_get_consecutive_numbers() {
    let server = TestServer::start().await;
    let changes: Vec<Value> = (0..16).map(|at| config(&format!("key{at}"), at)).collect();
    let outcomes = join_all(changes.iter().map(|change| server.change(change))).await;
    let numbers: BTreeSet<i64> =
        outcomes.iter().map(|outcome| outcome["versions"][0]["number"].as_i64().unwrap()).collect();
    assert_eq!(numbers, (1..=16).collect());
    let unit = server.get("/apps/default/units/config/config").await;
    assert_eq!(unit["current"]["spec"]["document"].as_object().unwrap().len(), 16, "no key was lost");
}

#[tokio::test]
async fn rejects_a_stale_expected_head_and_names_its_mover() {
    let server = TestServer::start().await;
    let first = server.change(&config("a", 1)).await;
    server.change(&config("a", 2)).await;
    let mut late = config("a", 3);
    late["expect"] = first["appVersion"].clone();
    let problem = refused(server.ask(Method::POST, "/apps/default/changes").json(&late), 409, "head_moved").await;
    assert!(problem.detail.contains("admin"), "{problem:?}");
}
