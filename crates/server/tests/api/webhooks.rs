//! Webhooks: permissions, signatures, and the executions that calls create.

use hmac::{Hmac, Mac};
use milepost_model::Role;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::bodies::function;
use crate::server::{TestServer, refused};

const WEBHOOKS: &str = "/apps/default/webhooks";
const SECRET: &str = "it is a secret";

/// A server with a function, which runs no executions.
async fn server() -> TestServer {
    let server = TestServer::start_with(|settings| settings.executions = 0).await;
    let root = server.store(&[("main.py", "pass")]).await;
    server.change(&function("hello", root)).await;
    server
}

async fn made(server: &TestServer, new: Value) -> Value {
    let (status, webhook) = server.send(Method::POST, WEBHOOKS, &new).await;
    assert_eq!(status, 200, "{webhook:#}");
    webhook
}

/// A call without a token.
fn call(server: &TestServer, webhook: &Value) -> RequestBuilder {
    let id = webhook["id"].as_str().unwrap();
    server.bare(Method::POST, &format!("/api/v1/webhooks/{id}/invoke"))
}

fn signed(secret: &str, body: &str) -> String {
    let mut mac = <Hmac<Sha256> as hmac::KeyInit>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body.as_bytes());
    format!("sha256={}", data_encoding::HEXLOWER.encode(&mac.finalize().into_bytes()))
}

/// Sends the call and returns the execution that it created.
async fn started(server: &TestServer, call: RequestBuilder) -> Value {
    let response = call.send().await.unwrap();
    let status = response.status().as_u16();
    let answer: Value = response.json().await.unwrap();
    assert_eq!(status, 202, "{answer:#}");
    let id = answer["execution"].as_str().unwrap();
    server.get(&format!("/apps/default/executions/{id}")).await
}

#[tokio::test]
async fn call_creates_an_execution_with_its_cause() {
    let server = server().await;
    let webhook = made(&server, json!({ "function": "hello", "description": "from git" })).await;
    let id = webhook["id"].as_str().unwrap();
    assert_eq!(webhook["url"], server.url(&format!("/api/v1/webhooks/{id}/invoke")));
    assert_eq!(
        (&webhook["signed"], &webhook["selector"], webhook.get("secret")),
        (&json!(false), &json!("latest"), None)
    );
    let execution = started(&server, call(&server, &webhook).json(&json!({ "a": 1 }))).await;
    assert_eq!((&execution["status"], &execution["input"]), (&json!("queued"), &json!({ "a": 1 })));
    assert_eq!(execution["cause"], json!({ "kind": "webhook", "id": id, "name": "from git" }));
    assert_eq!((&execution["startedBy"], &execution["version"]["number"]), (&json!("admin"), &json!(1)));
    let listed = server.get(&format!("/apps/default/executions?cause=webhook&causeId={id}")).await;
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);

    // Callers that may not call functions do not see the URL.
    let reader = server.token_for("ron", Role::Reader, None).await;
    let path = format!("/apps/default/executions/{}", execution["id"].as_str().unwrap());
    let seen: Value = server.ask_as(&reader, Method::GET, &path).send().await.unwrap().json().await.unwrap();
    assert_eq!(seen["cause"], json!({ "kind": "webhook", "id": format!("{}…", &id[..8]) }));
    refused(server.ask_as(&reader, Method::GET, WEBHOOKS), 403, "forbidden").await;
}

#[tokio::test]
async fn accepts_json_forms_text_and_queries_as_input() {
    let server = server().await;
    let webhook = made(&server, json!({ "function": "hello" })).await;
    let form = "application/x-www-form-urlencoded";
    for (kind, body, input) in [
        ("application/json", "[1, null]", json!([1, null])),
        (form, "a=1&b=x+y", json!({ "a": "1", "b": "x y" })),
        (form, r#"{"from": "curl -d"}"#, json!({ "from": "curl -d" })),
        ("text/plain", "hello", json!("hello")),
    ] {
        let call = call(&server, &webhook).header("content-type", kind).body(body);
        assert_eq!(started(&server, call).await["input"], input, "{kind}");
    }
    assert_eq!(started(&server, call(&server, &webhook).query(&[("q", "1")])).await["input"], json!({ "q": "1" }));
    assert_eq!(started(&server, call(&server, &webhook)).await.get("input"), None);
}

#[tokio::test]
async fn webhook_with_a_secret_requires_signatures() {
    let server = server().await;
    let webhook = made(&server, json!({ "function": "hello", "secret": SECRET })).await;
    assert_eq!(webhook["signed"], true);
    assert!(!webhook.to_string().contains(SECRET));
    let body = r#"{"a":1}"#;
    let with = |name: &'static str, value: String| call(&server, &webhook).header(name, value).body(body);
    refused(call(&server, &webhook).body(body), 401, "unauthenticated").await;
    refused(with("x-milepost-signature-256", signed("another one", body)), 401, "unauthenticated").await;
    refused(with("x-milepost-signature-256", signed(SECRET, "another body")), 401, "unauthenticated").await;
    refused(with("x-hub-signature-256", "sha256=zz".to_owned()), 401, "unauthenticated").await;
    for name in ["x-milepost-signature-256", "x-hub-signature-256"] {
        assert_eq!(started(&server, with(name, signed(SECRET, body))).await["input"], json!({ "a": 1 }));
    }
    // The secret is sealed at rest, and a token does not replace a signature.
    let bytes = std::fs::read(server.data().join("catalog.db")).unwrap();
    let log = std::fs::read(server.data().join("catalog.db-wal")).unwrap_or_default();
    assert!(![bytes, log].concat().windows(SECRET.len()).any(|part| part == SECRET.as_bytes()));
    refused(call(&server, &webhook).bearer_auth(&server.token).body(body), 401, "unauthenticated").await;

    let path = format!("{WEBHOOKS}/{}", webhook["id"].as_str().unwrap());
    let (_, rotated) = server.send(Method::PATCH, &path, &json!({ "secret": "the second one" })).await;
    assert_eq!(rotated["signed"], true);
    refused(with("x-milepost-signature-256", signed(SECRET, body)), 401, "unauthenticated").await;
    started(&server, with("x-milepost-signature-256", signed("the second one", body))).await;
    let (_, open) = server.send(Method::PATCH, &path, &json!({ "secret": "" })).await;
    assert_eq!(open["signed"], false);
    started(&server, call(&server, &webhook)).await;
}

#[tokio::test]
async fn limits_the_rate_of_calls() {
    let server = server().await;
    let webhook = made(&server, json!({ "function": "hello" })).await;
    let mut answers = Vec::new();
    // Enough concurrent calls that a slow machine still reaches the limit.
    let calls = (0..200).map(|_| call(&server, &webhook).send());
    for response in futures::future::join_all(calls).await {
        let response = response.unwrap();
        if response.status() == 429 {
            assert_eq!(response.headers()["retry-after"], "1");
        }
        answers.push(response.status().as_u16());
    }
    let taken = answers.iter().filter(|status| **status == 202).count();
    assert!((40..=140).contains(&taken), "{taken} of 200 were taken");
    assert!(answers.iter().all(|status| matches!(status, 202 | 429)), "{answers:?}");
    let other = made(&server, json!({ "function": "hello" })).await;
    started(&server, call(&server, &other)).await;
}

#[tokio::test]
async fn rejects_invalid_webhook_requests() {
    let server = server().await;
    let webhook = made(&server, json!({ "function": "hello", "version": "1" })).await;
    refused(server.ask(Method::POST, WEBHOOKS).json(&json!({ "function": "nosuch" })), 404, "unit_not_found").await;
    let short = json!({ "function": "hello", "secret": "short" });
    let problem = refused(server.ask(Method::POST, WEBHOOKS).json(&short), 400, "invalid_request").await;
    assert!(!problem.detail.contains("short"), "{problem:?}");
    let json = || call(&server, &webhook).header("content-type", "application/json");
    refused(json().body("{broken"), 400, "invalid_request").await;
    refused(call(&server, &webhook).body(vec![0xff; 10]), 400, "invalid_request").await;
    refused(call(&server, &webhook).body(vec![b' '; (1 << 20) + 1]), 413, "request_too_large").await;
    for id in ["nosuch", "00000000-0000-4000-8000-000000000000"] {
        refused(call(&server, &json!({ "id": id })), 404, "webhook_not_found").await;
        refused(server.ask(Method::GET, &format!("{WEBHOOKS}/{id}")), 404, "webhook_not_found").await;
    }
    assert_eq!(server.get("/apps/default/executions").await["items"], json!([]));
    let get = server.bare(Method::GET, &format!("/api/v1/webhooks/{}/invoke", webhook["id"].as_str().unwrap()));
    refused(get, 405, "method_not_allowed").await;
    let path = format!("{WEBHOOKS}/{}", webhook["id"].as_str().unwrap());
    assert_eq!(server.ask(Method::DELETE, &path).send().await.unwrap().status(), 204);
    refused(call(&server, &webhook), 404, "webhook_not_found").await;
    assert_eq!(server.get(WEBHOOKS).await["items"], json!([]));
}

#[tokio::test]
async fn a_repeated_delivery_and_a_repeated_request_run_once() {
    let server = server().await;
    let webhook = made(&server, json!({ "function": "hello" })).await;
    let deliver = async |id: &str, body: &'static str| {
        let call = call(&server, &webhook).header("x-github-delivery", id).header("content-type", "application/json");
        started(&server, call.body(body)).await["id"].clone()
    };
    let first = deliver("one", "{}").await;
    assert_eq!(deliver("one", "{}").await, first);
    assert_ne!(deliver("two", "{}").await, first);
    assert_ne!(deliver("one", "[1]").await, first, "another body is another delivery");

    let ask = async |input: i64| {
        let request = server.ask(Method::POST, "/apps/default/executions").header("idempotency-key", "k");
        let response = request.json(&json!({ "function": "hello", "input": input })).send().await.unwrap();
        let status = response.status().as_u16();
        (status, response.json::<Value>().await.unwrap())
    };
    let (status, first) = ask(1).await;
    assert_eq!(status, 202, "{first:#}");
    assert_eq!(ask(1).await.1["id"], first["id"]);
    let (status, problem) = ask(2).await;
    assert_eq!((status, &problem["code"]), (409, &json!("idempotency_mismatch")), "{problem:#}");
}
