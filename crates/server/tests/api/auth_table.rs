//! All API calls with the permission they need, requested with every role.

use std::collections::BTreeSet;

use milepost_model::{Permission, Role};
use reqwest::Method;
use serde_json::{Value, json};

use crate::server::TestServer;

/// Method, path as in the reference, query, permission, body. No row affects the result of another.
fn calls() -> Vec<(&'static str, &'static str, &'static str, Option<Permission>, Value)> {
    use Permission::{Administer, ChangeCode, Invoke, MovePointer, Read};
    let none = || json!({});
    let alias = || json!({ "version": "latest" });
    let digest = format!("sha256:{}", "0".repeat(64));
    let build = || json!({ "package": "p", "source": digest, "environment": { "runtime": "python" } });
    let version = "/apps/{app}/units/{kind}/{name}/versions/{selector}";
    let publication = json!({
        "done": "published",
        "package": "shop",
        "channel": "stable",
        "version": "1.0.0",
        "id": digest,
        "place": "https://example.org/channels/shop/stable",
    });
    let one_alias = "/apps/{app}/functions/{function}/aliases/{alias}";
    vec![
        ("GET", "/whoami", "", None, none()),
        ("GET", "/plans", "", None, none()),
        ("GET", "/installs", "", Some(Read), none()),
        (
            "POST",
            "/installs",
            "",
            Some(ChangeCode),
            json!({ "from": { "kind": "channel", "url": "/channels/no/such" } }),
        ),
        ("POST", "/installs/bundle", "", Some(ChangeCode), none()),
        ("GET", "/apps/{app}/artifact", "", Some(Read), none()),
        ("POST", "/apps/{app}/publications", "", Some(ChangeCode), publication),
        ("GET", "/apps/{app}/install", "", Some(Read), none()),
        ("PATCH", "/apps/{app}/install", "", Some(ChangeCode), none()),
        ("DELETE", "/apps/{app}/install", "", Some(ChangeCode), none()),
        ("POST", "/apps/{app}/install/hold", "", Some(MovePointer), none()),
        ("POST", "/apps/{app}/install/lift", "", Some(MovePointer), none()),
        ("POST", "/apps/{app}/upgrade", "", Some(ChangeCode), none()),
        ("POST", "/apps/{app}/upgrade/plan", "", Some(Read), none()),
        ("POST", "/apps/{app}/upgrade/bundle", "", Some(ChangeCode), none()),
        ("GET", "/apps", "", Some(Read), none()),
        ("POST", "/apps", "", Some(Administer), json!({ "name": "default" })),
        ("GET", "/apps/{app}", "", Some(Read), none()),
        ("DELETE", "/apps/{app}", "", Some(Administer), none()),
        ("PUT", "/apps/{app}/plan", "", Some(Administer), json!({ "plan": "standard" })),
        ("GET", "/apps/{app}/events", "", Some(Read), none()),
        ("GET", "/apps/{app}/at", "?time=2026-01-01T00:00:00Z", Some(Read), none()),
        ("GET", "/apps/{app}/status", "", Some(Read), none()),
        ("GET", "/apps/{app}/logs", "", Some(Read), none()),
        ("POST", "/apps/{app}/functions/{name}/call", "", Some(Invoke), none()),
        ("GET", "/system", "", Some(Read), none()),
        ("POST", "/apps/{app}/changes", "", Some(ChangeCode), json!({ "dryRun": true })),
        ("POST", "/apps/{app}/blobs/missing", "", Some(ChangeCode), json!({ "digests": [] })),
        ("POST", "/apps/{app}/blobs", "", Some(ChangeCode), none()),
        ("GET", "/apps/{app}/blobs/{digest}", "", Some(Read), none()),
        ("GET", "/apps/{app}/trees/{digest}", "", Some(Read), none()),
        ("GET", "/apps/{app}/builds", "", Some(Read), none()),
        ("POST", "/apps/{app}/builds", "", Some(ChangeCode), build()),
        ("GET", "/apps/{app}/builds/{build}", "", Some(Read), none()),
        ("GET", "/apps/{app}/builds/{build}/log", "", Some(Read), none()),
        ("GET", "/apps/{app}/executions", "", Some(Read), none()),
        ("POST", "/apps/{app}/executions", "", Some(Invoke), json!({ "function": "f" })),
        ("GET", "/apps/{app}/executions/{execution}", "", Some(Read), none()),
        ("DELETE", "/apps/{app}/executions/{execution}", "", Some(MovePointer), none()),
        ("GET", "/apps/{app}/executions/{execution}/log", "", Some(Read), none()),
        ("POST", "/apps/{app}/executions/{execution}/cancel", "", Some(Invoke), none()),
        ("GET", "/apps/{app}/jobs", "", Some(Read), none()),
        ("POST", "/apps/{app}/jobs", "", Some(MovePointer), json!({ "function": "f", "cron": "@hourly" })),
        ("GET", "/apps/{app}/jobs/{job}", "", Some(Read), none()),
        ("PATCH", "/apps/{app}/jobs/{job}", "", Some(MovePointer), json!({ "state": "paused" })),
        ("DELETE", "/apps/{app}/jobs/{job}", "", Some(MovePointer), none()),
        ("GET", "/apps/{app}/timers", "", Some(Read), none()),
        ("GET", "/apps/{app}/webhooks", "", Some(Invoke), none()),
        ("POST", "/apps/{app}/webhooks", "", Some(MovePointer), json!({ "function": "f" })),
        ("GET", "/apps/{app}/webhooks/{webhook}", "", Some(Invoke), none()),
        ("PATCH", "/apps/{app}/webhooks/{webhook}", "", Some(MovePointer), none()),
        ("DELETE", "/apps/{app}/webhooks/{webhook}", "", Some(MovePointer), none()),
        ("GET", "/apps/{app}/units", "", Some(Read), none()),
        ("GET", "/apps/{app}/units/{kind}/{name}", "", Some(Read), none()),
        ("GET", "/apps/{app}/units/{kind}/{name}/versions", "", Some(Read), none()),
        ("GET", version, "", Some(Read), none()),
        ("PATCH", version, "", Some(ChangeCode), json!({ "description": "x" })),
        ("DELETE", version, "", Some(ChangeCode), none()),
        ("GET", "/apps/{app}/units/{kind}/{name}/versions/{selector}/download", "", Some(Read), none()),
        ("GET", "/apps/{app}/functions/{function}/aliases", "", Some(Read), none()),
        ("GET", one_alias, "", Some(Read), none()),
        ("POST", one_alias, "", Some(MovePointer), alias()),
        ("PUT", one_alias, "", Some(MovePointer), alias()),
        ("DELETE", one_alias, "", Some(MovePointer), none()),
        ("GET", "/apps/{app}/functions/{function}/aliases/{alias}/history", "", Some(Read), none()),
        ("POST", "/apps/{app}/functions/{function}/aliases/{alias}/rollback", "", Some(MovePointer), none()),
        ("GET", "/apps/{app}/versions", "", Some(Read), none()),
        ("GET", "/apps/{app}/versions/{version}", "", Some(Read), none()),
        ("GET", "/apps/{app}/diff", "?from=1&to=2", Some(Read), none()),
        ("GET", "/apps/{app}/releases", "", Some(Read), none()),
        ("POST", "/apps/{app}/releases", "", Some(MovePointer), none()),
        ("GET", "/apps/{app}/releases/{release}", "", Some(Read), none()),
        ("POST", "/apps/{app}/releases/{release}/expire", "", Some(MovePointer), none()),
        ("GET", "/apps/{app}/tags", "", Some(Read), none()),
        ("PUT", "/apps/{app}/tags/{tag}", "", Some(MovePointer), json!({ "release": "nosuch" })),
        ("DELETE", "/apps/{app}/tags/{tag}", "", Some(MovePointer), none()),
        ("GET", "/apps/{app}/tags/{tag}/history", "", Some(Read), none()),
        ("GET", "/apps/{app}/live", "", Some(Read), none()),
        ("PUT", "/apps/{app}/live", "", Some(MovePointer), json!({ "release": "nosuch" })),
        ("GET", "/apps/{app}/live/history", "", Some(Read), none()),
        ("POST", "/apps/{app}/rollback", "", Some(MovePointer), none()),
        ("GET", "/apps/{app}/latest/history", "", Some(Read), none()),
        ("GET", "/apps/{app}/groups", "", Some(Read), none()),
        ("GET", "/apps/{app}/groups/{group}", "", Some(Read), none()),
        ("DELETE", "/apps/{app}/groups/{group}", "", Some(ChangeCode), none()),
        ("GET", "/tokens", "", Some(Administer), none()),
        ("POST", "/tokens", "", Some(Administer), json!({ "name": "admin", "role": "reader" })),
        ("DELETE", "/tokens/{token}", "", Some(Administer), none()),
        ("GET", "/storage/why/{digest}", "", Some(Read), none()),
        ("POST", "/storage/sweep", "", Some(Administer), none()),
    ]
}

/// Calls that need no token, because knowing the URL is enough.
const OPEN: [&str; 1] = ["POST /api/v1/webhooks/{webhook}/invoke"];

/// Fills in the path with an app that does not exist, so that no row has side effects.
fn filled(path: &str) -> String {
    let digest = format!("sha256:{}", "0".repeat(64));
    path.replace("{app}", "nosuch")
        .replace("{kind}", "function")
        .replace("{selector}", "latest")
        .replace("{digest}", &digest)
        .replace(['{', '}'], "")
}

#[tokio::test]
async fn roles_may_make_exactly_the_calls_they_have_permission_for() {
    let server = TestServer::start().await;
    for role in Role::ALL {
        let token = server.token_for(&format!("a-{role}"), role, None).await;
        for (method, path, query, permission, body) in calls() {
            let method: Method = method.parse().unwrap();
            let request = server.ask_as(&token, method.clone(), &format!("{}{query}", filled(path)));
            let response = request.json(&body).send().await.unwrap();
            let may = permission.is_none_or(|permission| role.may(permission));
            let status = response.status().as_u16();
            assert_eq!(status != 403, may, "{role}: {method} {path} answered {status}");
            assert!(status != 401 && status < 500, "{role}: {method} {path} answered {status}");
        }
    }
}

#[tokio::test]
async fn every_call_requires_a_token() {
    let server = TestServer::start().await;
    for (method, path, query, _, body) in calls() {
        let path = format!("/api/v1{}{query}", filled(path));
        let response = server.bare(method.parse().unwrap(), &path).json(&body).send().await.unwrap();
        assert_eq!(response.status(), 401, "{method} {path}");
    }
}

/// Fails when a call is added or removed without updating the table above.
#[test]
fn table_matches_the_reference() {
    let document = serde_json::to_value(milepost_server::openapi()).unwrap();
    let mut described = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            described.insert(format!("{} {path}", method.to_uppercase()));
        }
    }
    let known: BTreeSet<String> = calls()
        .into_iter()
        .map(|(method, path, ..)| format!("{method} /api/v1{path}"))
        .chain(OPEN.map(str::to_owned))
        .collect();
    assert_eq!(described, known);
}
