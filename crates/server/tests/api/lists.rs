use milepost_model::PlanName;
use reqwest::Method;
use serde_json::{Value, json};

use crate::bodies::{config, function};
use crate::server::{TestServer, refused};

const LISTS: [&str; 10] = [
    "/apps",
    "/apps/default/events",
    "/apps/default/units",
    "/apps/default/units/function/hello/versions",
    "/apps/default/functions/hello/aliases/stable/history",
    "/apps/default/versions",
    "/apps/default/releases",
    "/apps/default/tags/beta/history",
    "/apps/default/live/history",
    "/apps/default/latest/history",
];

/// A server on which every list has at least five items.
async fn furnished() -> TestServer {
    let server = TestServer::start().await;
    for name in ["one", "two", "three", "four"] {
        server.client.app_create(&name.parse().unwrap(), PlanName::Free).await.unwrap();
    }
    let alias = "/apps/default/functions/hello/aliases/stable";
    for at in 1..=5 {
        let text = format!("version {at}");
        let root = server.store(&[("main.py", &text)]).await;
        server.change(&function("hello", root)).await;
        let method = if at == 1 { Method::POST } else { Method::PUT };
        server.send(method, alias, &json!({ "version": "latest" })).await;
        server.send(Method::PUT, "/apps/default/tags/beta", &json!({ "release": "latest" })).await;
    }
    for name in ["a", "b"] {
        server.change(&config(name, 1)).await;
    }
    let puts = json!({ "puts": [
        { "kind": "secret", "name": "S", "spec": { "value": "x" } },
        { "kind": "route", "name": "GET /hello", "spec": { "path": "/hello", "function": "hello" } },
    ] });
    server.change(&puts).await;
    server
}

async fn walk(server: &TestServer, list: &str, limit: usize) -> Vec<Value> {
    let mut items = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = server.get(&format!("{list}?limit={limit}{cursor}")).await;
        let found = page["items"].as_array().unwrap();
        assert!(found.len() <= limit, "{list}");
        items.extend(found.iter().cloned());
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return items,
        }
        assert_eq!(found.len(), limit, "{list}: a page that is followed by another is full");
    }
}

#[tokio::test]
async fn pages_add_up_to_the_whole_list() {
    let server = furnished().await;
    for list in LISTS {
        let whole = server.get(&format!("{list}?limit=1000")).await;
        assert_eq!(whole.get("next"), None, "{list}");
        let whole = whole["items"].as_array().unwrap();
        assert!(whole.len() >= 5, "{list} has {} items", whole.len());
        assert_eq!(&walk(&server, list, 2).await, whole, "{list}");
        assert_eq!(&walk(&server, list, whole.len()).await, whole, "{list}: the last page is exactly full");
    }
}

#[tokio::test]
async fn rejects_low_limits_and_caps_high_ones() {
    let server = furnished().await;
    for limit in ["0", "-5"] {
        let request = server.ask(Method::GET, &format!("/apps/default/events?limit={limit}"));
        let problem = refused(request, 400, "invalid_request").await;
        assert!(problem.hint.unwrap().contains("from 1 to 1000"));
    }
    server.get("/apps/default/events?limit=9000000000").await;
}

#[tokio::test]
async fn rejects_invalid_cursors() {
    let server = furnished().await;
    for list in LISTS {
        for cursor in ["x", "%20", "AAAA", "bm90IGEgY3Vyc29y", "%ff"] {
            let request = server.ask(Method::GET, &format!("{list}?cursor={cursor}"));
            let problem = refused(request, 400, "invalid_cursor").await;
            assert!(problem.hint.unwrap().contains("first page"));
        }
    }
}

#[tokio::test]
async fn rejects_a_cursor_of_another_list() {
    let server = furnished().await;
    let page = server.get("/apps/default/events?limit=1").await;
    let cursor = page["next"].as_str().unwrap();
    for list in LISTS.into_iter().filter(|list| !list.ends_with("/events")) {
        let request = server.ask(Method::GET, &format!("{list}?cursor={cursor}"));
        let problem = refused(request, 400, "invalid_cursor").await;
        assert!(problem.detail.contains("another list"), "{problem:?}");
    }
}

#[tokio::test]
async fn cursors_expire_after_a_day() {
    let server = furnished().await;
    for list in LISTS {
        let page = server.get(&format!("{list}?limit=1")).await;
        let next = format!("{list}?cursor={}", page["next"].as_str().unwrap());
        server.clock.advance_ms(23 * 3_600_000);
        server.get(&next).await;
        server.clock.advance_ms(2 * 3_600_000);
        let problem = refused(server.ask(Method::GET, &next), 400, "invalid_cursor").await;
        assert!(problem.detail.contains("expired"), "{problem:?}");
    }
}

#[tokio::test]
async fn filters_units_by_kind_and_releases_by_state() {
    let server = furnished().await;
    let functions = server.get("/apps/default/units?kind=function&limit=10").await;
    assert_eq!(functions["items"].as_array().unwrap().len(), 1);
    assert_eq!(functions["items"][0]["name"], "hello");
    let release = server.get("/apps/default/releases").await["items"][5]["id"].as_str().unwrap().to_owned();
    let (status, answer) =
        server.send(Method::POST, &format!("/apps/default/releases/{release}/expire"), &json!({})).await;
    assert_eq!(status, 200, "{answer}");
    let active = server.get("/apps/default/releases?active=true").await.to_string();
    assert!(!active.contains(&format!("\"id\":\"{release}\"")), "{active}");
}
