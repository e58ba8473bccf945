//! Invalid requests: the message, the hint and the status.

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::bodies::config;
use crate::server::{TestServer, refused};

async fn check_body(server: &TestServer, body: impl Into<reqwest::Body>, says: &[&str]) {
    let request = server.ask(Method::POST, "/apps/default/changes").body(body);
    let problem = refused(request, 400, "invalid_request").await;
    for words in says {
        assert!(problem.detail.contains(words), "`{words}` is not in {problem:?}");
    }
}

#[tokio::test]
async fn rejects_invalid_bodies_with_the_position() {
    let server = TestServer::start().await;
    check_body(&server, "{\n  \"message\": nope }", &["line 2 column 1"]).await;
    check_body(&server, "{\"message\": \"cut", &["line 1"]).await;
    check_body(&server, &b"{\"message\": \"\xff\xfe\"}"[..], &["line 1", "unicode"]).await;
    check_body(&server, r#"{"mesage": "x"}"#, &["unknown field `mesage`", "`message`"]).await;
    check_body(&server, r#"{"message": 7}"#, &["integer", "expected a string"]).await;
    check_body(&server, r#"{"puts": {}}"#, &["expected a sequence"]).await;
    check_body(&server, r#"{"puts": [{"kind": "functoin", "name": "f", "spec": {}}]}"#, &["functoin", "`function`"])
        .await;
    let spec = r#"{"puts": [{"kind": "function", "name": "f", "spec": {"entrypint": "x"}}]}"#;
    check_body(&server, spec, &["unknown field `entrypint`", "`entrypoint`"]).await;
    check_body(&server, r#"{"puts": [{"kind": "config", "name": "a b", "spec": {}}]}"#, &["`a b`"]).await;
    assert_eq!(server.get("/apps/default/versions").await["items"], json!([]), "nothing was changed");
}

#[tokio::test]
async fn rejects_invalid_values_with_their_code() {
    let server = TestServer::start().await;
    server.change(&config("a", 1)).await;
    let digest = "sha256:zz";
    for (method, path, body, code) in [
        (Method::GET, "/apps/Not%20A%20Name", Value::Null, "invalid_name"),
        (Method::POST, "/apps", json!({ "name": "Bad_Name" }), "invalid_request"),
        (Method::GET, "/apps/live", Value::Null, "invalid_name"),
        (Method::GET, "/apps/default/units/functoin/f", Value::Null, "invalid_request"),
        (Method::GET, "/apps/default/units/function/a%20b", Value::Null, "invalid_name"),
        (Method::GET, "/apps/default/units/config/other", Value::Null, "invalid_name"),
        (Method::GET, "/apps/default/units/config/config/versions/a%20b", Value::Null, "invalid_selector"),
        (Method::GET, "/apps/default/units/config/config/versions/sha256:12", Value::Null, "invalid_selector"),
        (Method::GET, &format!("/apps/default/blobs/{digest}"), Value::Null, "invalid_request"),
        (Method::GET, &format!("/storage/why/{digest}"), Value::Null, "invalid_request"),
        (Method::GET, "/apps/default/at?time=yesterday", Value::Null, "invalid_time"),
        (Method::GET, "/apps/default/at", Value::Null, "invalid_request"),
        (Method::GET, "/apps/default/versions?limit=many", Value::Null, "invalid_request"),
        (Method::GET, "/apps/default/versions?limit=0", Value::Null, "invalid_request"),
        (Method::GET, "/apps/default/units?kind=functoin", Value::Null, "invalid_request"),
        (Method::GET, "/apps/%ff", Value::Null, "invalid_request"),
        (Method::PUT, "/apps/default/tags/UPPER", json!({ "release": "latest" }), "invalid_name"),
        (Method::PUT, "/apps/default/live", json!({}), "invalid_request"),
        (Method::PUT, "/apps/default/live", json!({ "release": "latest", "follow": true }), "invalid_request"),
        (Method::POST, "/tokens", json!({ "name": "a b", "role": "reader" }), "invalid_name"),
        (Method::POST, "/tokens", json!({ "name": "a", "role": "king" }), "invalid_request"),
        (Method::PUT, "/apps/default/plan", json!({ "plan": "gold" }), "invalid_request"),
        (
            Method::POST,
            "/apps/default/changes",
            json!({ "puts": [{ "kind": "timer", "name": "t", "spec": { "cron": "often", "function": "f" } }] }),
            "unit_not_found",
        ),
        (
            Method::POST,
            "/apps/default/changes",
            json!({ "puts": [{ "kind": "config", "name": "config", "spec": { "document": 7 } }] }),
            "invalid_spec",
        ),
    ] {
        let mut request = server.ask(method, path);
        if !body.is_null() {
            request = request.json(&body);
        }
        let status = if code == "unit_not_found" { 404 } else { 400 };
        refused(request, status, code).await;
    }
}

#[tokio::test]
async fn hints_show_valid_values() {
    let server = TestServer::start().await;
    let root = server.store(&[("main.py", "x")]).await;
    server.change(&crate::bodies::function("f", root)).await;
    let put = |kind: &str, name: &str, spec: Value| json!({ "puts": [{ "kind": kind, "name": name, "spec": spec }] });
    let route = |method: &str, path: &str| json!({ "methods": [method], "path": path, "function": "f" });
    let timer = |cron: &str, zone: &str| json!({ "cron": cron, "zone": zone, "function": "f" });
    for (change, says, hint) in [
        (put("route", "GET /y", route("FETCH", "/y")), "`FETCH`", "GET, HEAD"),
        (put("route", "GET /y", route("GET", "/y/{")), "`/y/{`", "/orders/{id}"),
        (put("timer", "t", timer("nonsense", "")), "`nonsense`", "0 3 * * *"),
        (put("timer", "t", timer("0 3 * * *", "Mars/Base")), "`Mars/Base`", "Europe/Berlin"),
        (put("config", "config", json!({ "set": { "a..b": 1 } })), "`a..b` is not a key", "mail.from"),
        (
            put("config", "config", json!({ "unset": ["no.such"] })),
            "the key `no.such` is not set",
            "name a key that is set",
        ),
        (put("static", "x", json!({ "path": "x", "tree": root })), "`x`", "like `/assets`"),
    ] {
        let request = server.ask(Method::POST, "/apps/default/changes").json(&change);
        let problem = refused(request, 400, "invalid_spec").await;
        assert!(problem.detail.contains(says), "{problem:?}");
        assert!(problem.hint.as_ref().unwrap().contains(hint), "{problem:?}");
    }
    let why = refused(server.ask(Method::GET, "/storage/why/sha256:zz"), 400, "invalid_request").await;
    assert!(why.hint.unwrap().contains("64 hexadecimal"));
}

#[tokio::test]
async fn unknown_calls_and_wrong_methods_have_different_errors() {
    let server = TestServer::start().await;
    for path in ["/nothing", "/api/v1/nothing", "/api/v2/apps"] {
        let problem = refused(server.bare(Method::GET, path), 404, "route_not_found").await;
        assert!(problem.hint.unwrap().contains("/api/v1/docs"));
    }
    let problem = refused(server.ask(Method::PATCH, "/apps"), 405, "method_not_allowed").await;
    assert!(problem.detail.contains("PATCH"), "{problem:?}");
    let response = server.ask(Method::PATCH, "/apps").send().await.unwrap();
    let allowed = response.headers()["allow"].to_str().unwrap();
    assert!(allowed.contains("GET") && allowed.contains("POST"), "{allowed}");
}

#[tokio::test]
async fn rejects_oversized_bodies() {
    let server = TestServer::start().await;
    // Without a declared length, so that the server must count.
    let mebibyte = bytes::Bytes::from(vec![b' '; 1 << 20]);
    let chunks = futures::stream::iter((0..33).map(move |_| Ok::<_, std::io::Error>(mebibyte.clone())));
    let request = server.ask(Method::POST, "/apps/default/changes").body(reqwest::Body::wrap_stream(chunks));
    let problem = refused(request, 413, "request_too_large").await;
    assert!(problem.detail.contains("32 MiB"), "{problem:?}");
}

#[tokio::test]
async fn client_that_reads_late_gets_the_too_large_error() {
    let server = TestServer::start().await;
    let length = 40 << 20;
    let head = format!(
        "POST /api/v1/apps/default/changes HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n",
        server.token
    );
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&vec![b' '; length]).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains("32 MiB"), "{answer}");
}

#[tokio::test]
async fn invalid_query_error_names_the_field() {
    let server = TestServer::start().await;
    let problem = refused(server.ask(Method::GET, "/apps/default/versions?limit=many"), 400, "invalid_request").await;
    assert_eq!(problem.detail, "`limit` in the query must be a whole number");
}

#[tokio::test]
async fn rejects_an_oversized_secret_without_exposing_it() {
    let server = TestServer::start().await;
    let put = |value: String| json!({ "puts": [{ "kind": "secret", "name": "KEY", "spec": { "value": value } }] });
    let request = server.ask(Method::POST, "/apps/default/changes").json(&put("quokka".repeat(11_000)));
    let problem = refused(request, 400, "invalid_spec").await;
    assert!(problem.detail.contains("66000 bytes") && problem.detail.contains("64 KiB"), "{problem:?}");
    assert!(!format!("{problem:?}").contains("quokka"), "{problem:?}");
    server.change(&put("x".repeat(64 << 10))).await;
}

/// Sends a request head without a body, and returns the response.
pub async fn answer_to_head(server: &TestServer, path: &str, length: u64) -> String {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = format!(
        "POST /api/v1{path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n",
        server.token
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn rejects_a_declared_oversized_body_before_reading() {
    let server = TestServer::start().await;
    let answer = answer_to_head(&server, "/apps/default/changes", 10_000_000_000).await;
    assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains("request_too_large"), "{answer}");
}

#[tokio::test]
async fn truncated_body_changes_nothing() {
    let server = TestServer::start().await;
    let body = config("a", 1).to_string();
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = format!(
        "POST /api/v1/apps/default/changes HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n\r\n",
        server.token,
        body.len() + 1
    );
    stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = Vec::new();
    // The server may respond or close the connection. Either way it has seen the end of the body.
    let _ = stream.read_to_end(&mut answer).await;
    assert!(!answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
    assert_eq!(server.get("/apps/default/versions").await["items"], json!([]));
}
