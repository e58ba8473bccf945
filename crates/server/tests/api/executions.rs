//! Rejected requests for executions and jobs.

use reqwest::Method;
use serde_json::{Value, json};

use crate::bodies::function;
use crate::server::{TestServer, refused};

const EXECUTIONS: &str = "/apps/default/executions";

#[tokio::test]
async fn rejects_invalid_requests_without_writing() {
    let server = TestServer::start().await;
    let root = server.store(&[("main.py", "pass")]).await;
    server.change(&function("hello", root)).await;
    let post = || server.ask(Method::POST, EXECUTIONS);
    refused(post().body("{\"function\": \"hello\", \"input\": nonsense}"), 400, "invalid_request").await;
    refused(post().json(&json!({ "input": 1 })), 400, "invalid_request").await;
    refused(post().json(&json!({ "function": null })), 400, "invalid_request").await;
    refused(post().json(&json!({ "function": "hello", "vers": 1 })), 400, "invalid_request").await;
    refused(post().json(&json!({ "function": "nosuch" })), 404, "unit_not_found").await;
    refused(post().json(&json!({ "function": "hello", "version": "9" })), 404, "version_not_found").await;
    let large = json!({ "function": "hello", "input": "x".repeat((1 << 20) + 1) });
    let problem = refused(post().json(&large), 413, "request_too_large").await;
    assert!(problem.detail.contains("1 MiB"), "{problem:?}");
    refused(post().body(vec![b' '; 100 << 20]), 413, "request_too_large").await;
    let deep = format!("{{\"function\": \"hello\", \"input\": {}{}}}", "[".repeat(101), "]".repeat(101));
    assert!(refused(post().body(deep), 400, "invalid_request").await.detail.contains("levels deep"));
    let jobs = || server.ask(Method::POST, "/apps/default/jobs");
    let job = json!({ "function": "hello", "cron": "@hourly", "input": "x".repeat((1 << 20) + 1) });
    refused(jobs().json(&job), 413, "request_too_large").await;
    refused(jobs().json(&json!({ "function": "hello", "cron": "61 * * * *" })), 400, "invalid_spec").await;
    refused(jobs().json(&json!({ "function": "hello", "cron": "@hourly", "count": 0 })), 400, "invalid_request").await;
    refused(server.ask(Method::GET, &format!("{EXECUTIONS}?status=done")), 400, "invalid_request").await;
    refused(server.ask(Method::GET, &format!("{EXECUTIONS}/nosuch/log")), 404, "execution_not_found").await;
    assert_eq!(server.get(EXECUTIONS).await["items"], json!([]));
    assert_eq!(server.get("/apps/default/jobs").await["items"], json!([]));
}

#[tokio::test]
async fn lists_paginate_and_zero_capacity_runs_nothing() {
    let server = TestServer::start_with(|settings| settings.executions = 0).await;
    let root = server.store(&[("main.py", "pass")]).await;
    server.change(&function("hello", root)).await;
    let mut made = Vec::new();
    for number in 0..5 {
        let (status, execution) =
            server.send(Method::POST, EXECUTIONS, &json!({ "function": "hello", "input": number })).await;
        assert_eq!((status, &execution["status"]), (202, &json!("queued")));
        made.push(execution["id"].clone());
        server.clock.advance_ms(1);
    }
    let mut found: Vec<Value> = Vec::new();
    let mut path = format!("{EXECUTIONS}?limit=2&status=queued");
    loop {
        let page = server.get(&path).await;
        found.extend(page["items"].as_array().unwrap().iter().map(|item| item["id"].clone()));
        let Some(next) = page["next"].as_str() else { break };
        path = format!("{EXECUTIONS}?limit=2&status=queued&cursor={next}");
    }
    made.reverse();
    assert_eq!(found, made);
}
