//! The OpenAPI document and the reference page.

use reqwest::Method;
use serde_json::{Value, json};

use crate::bodies::{config, function};
use crate::server::TestServer;

/// All paths of the API. Fails when a path is added or removed without updating this list.
const PATHS: [&str; 64] = [
    "/apps",
    "/apps/{app}",
    "/apps/{app}/artifact",
    "/apps/{app}/at",
    "/apps/{app}/blobs",
    "/apps/{app}/blobs/missing",
    "/apps/{app}/blobs/{digest}",
    "/apps/{app}/builds",
    "/apps/{app}/builds/{build}",
    "/apps/{app}/builds/{build}/log",
    "/apps/{app}/changes",
    "/apps/{app}/diff",
    "/apps/{app}/events",
    "/apps/{app}/executions",
    "/apps/{app}/executions/{execution}",
    "/apps/{app}/executions/{execution}/cancel",
    "/apps/{app}/executions/{execution}/log",
    "/apps/{app}/functions/{function}/aliases",
    "/apps/{app}/functions/{function}/aliases/{alias}",
    "/apps/{app}/functions/{function}/aliases/{alias}/history",
    "/apps/{app}/functions/{function}/aliases/{alias}/rollback",
    "/apps/{app}/functions/{name}/call",
    "/apps/{app}/groups",
    "/apps/{app}/groups/{group}",
    "/apps/{app}/install",
    "/apps/{app}/install/hold",
    "/apps/{app}/install/lift",
    "/apps/{app}/jobs",
    "/apps/{app}/jobs/{job}",
    "/apps/{app}/latest/history",
    "/apps/{app}/live",
    "/apps/{app}/live/history",
    "/apps/{app}/logs",
    "/apps/{app}/plan",
    "/apps/{app}/publications",
    "/apps/{app}/releases",
    "/apps/{app}/releases/{release}",
    "/apps/{app}/releases/{release}/expire",
    "/apps/{app}/rollback",
    "/apps/{app}/status",
    "/apps/{app}/tags",
    "/apps/{app}/tags/{tag}",
    "/apps/{app}/tags/{tag}/history",
    "/apps/{app}/timers",
    "/apps/{app}/trees/{digest}",
    "/apps/{app}/units",
    "/apps/{app}/units/{kind}/{name}",
    "/apps/{app}/units/{kind}/{name}/versions",
    "/apps/{app}/units/{kind}/{name}/versions/{selector}",
    "/apps/{app}/units/{kind}/{name}/versions/{selector}/download",
    "/apps/{app}/upgrade",
    "/apps/{app}/upgrade/bundle",
    "/apps/{app}/upgrade/plan",
    "/apps/{app}/versions",
    "/apps/{app}/versions/{version}",
    "/apps/{app}/webhooks",
    "/apps/{app}/webhooks/{webhook}",
    "/installs",
    "/installs/bundle",
    "/plans",
    "/system",
    "/tokens",
    "/webhooks/{webhook}/invoke",
    "/whoami",
];
const MORE: [&str; 3] = ["/storage/sweep", "/storage/why/{digest}", "/tokens/{token}"];

async fn document(server: &TestServer) -> Value {
    let response = server.bare(Method::GET, "/api/v1/openapi.json").send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/json");
    response.json().await.unwrap()
}

#[tokio::test]
async fn reference_lists_every_path() {
    let server = TestServer::start().await;
    let document = document(&server).await;
    assert!(document["openapi"].as_str().unwrap().starts_with("3."));
    let mut described: Vec<&str> = document["paths"].as_object().unwrap().keys().map(String::as_str).collect();
    described.sort_unstable();
    let mut known: Vec<String> = PATHS.iter().chain(&MORE).map(|path| format!("/api/v1{path}")).collect();
    known.sort_unstable();
    assert_eq!(described, known);
}

#[tokio::test]
async fn every_call_documents_summary_parameters_and_success() {
    let server = TestServer::start().await;
    let document = document(&server).await;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, call) in methods.as_object().unwrap() {
            let name = format!("{method} {path}");
            assert!(call["summary"].as_str().is_some_and(|summary| summary.len() > 5), "{name}");
            let answers: Vec<&String> = call["responses"].as_object().unwrap().keys().collect();
            assert!(answers.iter().any(|status| status.starts_with('2')), "{name}: {answers:?}");
            let refused = &call["responses"]["default"]["content"]["application/problem+json"]["schema"]["$ref"];
            assert_eq!(refused, "#/components/schemas/Problem", "{name}");
            let in_path = path.matches('{').count();
            let described = call["parameters"].as_array().into_iter().flatten();
            assert_eq!(described.filter(|parameter| parameter["in"] == "path").count(), in_path, "{name}");
        }
    }
}

#[tokio::test]
async fn all_schema_references_resolve() {
    fn check(at: &Value, document: &Value) {
        match at {
            Value::Object(fields) => {
                if let Some(Value::String(to)) = fields.get("$ref") {
                    let pointer = to.strip_prefix('#').unwrap();
                    assert!(document.pointer(pointer).is_some(), "{to} leads nowhere");
                }
                fields.values().for_each(|value| check(value, document));
            }
            Value::Array(items) => items.iter().for_each(|value| check(value, document)),
            _ => {}
        }
    }
    let document = serde_json::to_value(milepost_server::openapi()).unwrap();
    check(&document, &document);
}

#[test]
fn inputs_and_results_accept_any_json() {
    let document = serde_json::to_value(milepost_server::openapi()).unwrap();
    for (schema, field) in [
        ("NewExecution", "input"),
        ("Execution", "input"),
        ("Execution", "result"),
        ("NewJob", "input"),
        ("JobChange", "input"),
        ("Job", "input"),
    ] {
        let schema = &document["components"]["schemas"][schema];
        let described = schema["properties"][field].as_object().unwrap();
        let narrowed = ["type", "oneOf", "anyOf", "allOf", "$ref"].iter().find(|key| described.contains_key(**key));
        assert_eq!(narrowed, None, "{field}: {described:?}");
        assert!(!schema["required"].as_array().into_iter().flatten().any(|one| one == field), "{field}");
    }
}

#[tokio::test]
async fn page_lists_every_call_and_loads_no_external_resources() {
    let server = TestServer::start().await;
    let response = server.bare(Method::GET, "/api/v1/docs").send().await.unwrap();
    assert!(response.headers()["content-type"].to_str().unwrap().starts_with("text/html"));
    let page = response.text().await.unwrap();
    for path in PATHS.iter().chain(&MORE) {
        assert!(page.contains(&format!("<code>/api/v1{path}</code>")), "{path}");
    }
    assert!(!page.contains("src=") && !page.contains("https://"), "the page works without the internet");
}

#[tokio::test]
async fn success_statuses_are_documented() {
    let server = TestServer::start().await;
    let root = server.store(&[("main.py", "pass")]).await;
    let document = document(&server).await;
    let digest = root.to_string();
    let alias = "/apps/{app}/functions/{function}/aliases/{alias}";
    for (method, path, query, body) in [
        ("post", "/apps", "", json!({ "name": "other" })),
        ("get", "/apps", "", json!({})),
        ("post", "/apps/{app}/changes", "", function("hello", root)),
        ("post", "/apps/{app}/changes", "", config("a", 1)),
        ("get", "/apps/{app}/trees/{digest}", "", json!({})),
        ("get", "/apps/{app}/blobs/{digest}", "", json!({})),
        ("get", "/apps/{app}/units/{kind}/{name}/versions/{selector}/download", "", json!({})),
        ("patch", "/apps/{app}/units/{kind}/{name}/versions/{selector}", "", json!({ "description": "x" })),
        ("post", alias, "", json!({ "version": "latest" })),
        ("put", alias, "", json!({ "version": "latest" })),
        ("get", alias, "", json!({})),
        ("delete", alias, "", json!({})),
        ("get", "/apps/{app}/diff", "?from=1&to=2", json!({})),
        ("get", "/apps/{app}/at", "?time=2026-01-02T03:04:05Z", json!({})),
        ("post", "/apps/{app}/rollback", "", json!({})),
        ("put", "/apps/{app}/live", "", json!({ "follow": true })),
        ("post", "/apps/{app}/releases", "", json!({})),
        ("put", "/apps/{app}/tags/{tag}", "", json!({ "release": "latest" })),
        ("delete", "/apps/{app}/tags/{tag}", "", json!({})),
        ("put", "/apps/{app}/plan", "", json!({ "plan": "unlimited" })),
        ("post", "/tokens", "", json!({ "name": "t", "role": "reader" })),
        ("get", "/tokens", "", json!({})),
        ("delete", "/tokens/{token}", "", json!({})),
        ("get", "/storage/why/{digest}", "", json!({})),
        ("post", "/storage/sweep", "", json!({})),
        ("delete", "/apps/{app}", "", json!({})),
    ] {
        let filled = [("app", "default"), ("digest", &digest), ("kind", "function"), ("name", "hello")]
            .into_iter()
            .chain([
                ("selector", "latest"),
                ("function", "hello"),
                ("alias", "stable"),
                ("tag", "beta"),
                ("token", "t"),
            ])
            .fold(path.to_owned(), |path, (name, value)| path.replace(&format!("{{{name}}}"), value));
        let request = server.ask(method.to_uppercase().parse().unwrap(), &format!("{filled}{query}"));
        let response = request.json(&body).send().await.unwrap();
        let status = response.status().as_u16().to_string();
        let described = &document["paths"][format!("/api/v1{path}")][method]["responses"];
        let text = response.text().await.unwrap();
        assert!(
            described.get(&status).is_some(),
            "{method} {path} answered {status} {text}, described are {described}"
        );
    }
}
