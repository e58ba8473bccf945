//! Secret values are accepted and never exposed again.

use reqwest::Method;
use serde_json::{Value, json};

use crate::bodies::config;
use crate::server::TestServer;

const VALUE: &str = "hunter2-correct-horse";

fn secret(value: &str) -> Value {
    json!({ "message": "rotate", "puts": [{ "kind": "secret", "name": "DATABASE_URL", "spec": { "value": value } }] })
}

fn assert_hidden(what: &str, text: &[u8]) {
    for hidden in [VALUE, "another-value"] {
        let plain_digest = milepost_model::Digest::of(hidden.as_bytes());
        for form in [hidden.to_owned(), plain_digest.to_string().replace("sha256:", "")] {
            let seen = text.windows(form.len()).any(|part| part == form.as_bytes());
            assert!(!seen, "{what} shows {form}: {}", String::from_utf8_lossy(text));
        }
    }
}

async fn answer(server: &TestServer, method: Method, path: &str, body: &Value) -> Vec<u8> {
    let response = server.ask(method, path).header("idempotency-key", "k").json(body).send().await.unwrap();
    response.bytes().await.unwrap().to_vec()
}

#[tokio::test]
async fn responses_never_contain_secret_values() {
    let server = TestServer::start().await;
    let changes = "/apps/default/changes";
    let mut plan = secret(VALUE);
    plan["dryRun"] = json!(true);
    for body in [&plan, &secret(VALUE), &secret(VALUE), &secret("another-value")] {
        assert_hidden("an outcome", &answer(&server, Method::POST, changes, body).await);
    }
    server.change(&secret("another-value")).await;
    // Refusals of all kinds, with the value in the request.
    let mut twice = secret(VALUE);
    twice["puts"] = json!([twice["puts"][0], twice["puts"][0]]);
    let mut stale = secret(VALUE);
    stale["expect"] = json!("nosuch");
    let mut typed = secret(VALUE);
    typed["puts"][0]["spec"] = json!({ "value": VALUE, "valeu": VALUE });
    let mut object = secret(VALUE);
    object["puts"][0]["spec"]["value"] = json!([VALUE]);
    let mut bare = secret(VALUE);
    bare["puts"][0]["spec"] = json!(VALUE);
    for body in [&twice, &stale, &typed, &object, &bare, &json!(VALUE), &json!({ "puts": VALUE })] {
        let response = server.ask(Method::POST, changes).json(body).send().await.unwrap();
        assert!(response.status().is_client_error(), "{}", response.status());
        assert_hidden("a problem", &response.bytes().await.unwrap());
    }
    for path in [
        "/apps/default/units",
        "/apps/default/units/secret/DATABASE_URL",
        "/apps/default/units/secret/DATABASE_URL/versions",
        "/apps/default/units/secret/DATABASE_URL/versions/1",
        "/apps/default/events",
        "/apps/default/versions/1",
        "/apps/default/diff?from=1&to=2",
    ] {
        assert_hidden(path, server.get(path).await.to_string().as_bytes());
    }
    let diff = server.get("/apps/default/diff?from=1&to=2").await;
    assert_eq!(diff["changes"][0]["reasons"][0]["type"], "secret", "that it changed is seen: {diff}");
    let metrics = server.bare(Method::GET, "/metrics").bearer_auth(&server.token).send().await.unwrap();
    assert_hidden("/metrics", &metrics.bytes().await.unwrap());
}

#[tokio::test]
async fn files_never_contain_secret_values() {
    let server = TestServer::start().await;
    server.change(&secret(VALUE)).await;
    server.change(&config("a", 1)).await;
    let mut open = vec![server.data().to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                assert_hidden(&path.display().to_string(), &std::fs::read(&path).unwrap());
            }
        }
    }
}

#[tokio::test]
async fn equal_secret_value_makes_no_new_version() {
    let server = TestServer::start().await;
    server.change(&secret(VALUE)).await;
    assert_eq!(server.change(&secret(VALUE)).await["changed"], false);
    assert_eq!(server.change(&secret("another-value")).await["changed"], true);
}
