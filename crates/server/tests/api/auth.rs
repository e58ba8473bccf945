use milepost_model::Role;
use reqwest::Method;
use reqwest::header::HeaderValue;
use serde_json::json;

use crate::bodies::config;
use crate::server::{TestServer, refused};

#[tokio::test]
async fn rejects_missing_and_invalid_tokens() {
    let server = TestServer::start().await;
    let token = &server.token;
    let mut wrong: Vec<Option<Vec<u8>>> = vec![None];
    for header in ["", "Bearer", "Bearer ", "Basic abc", token, &format!("Bearer{token}"), "Bearer mp_wrong"] {
        wrong.push(Some(header.as_bytes().to_vec()));
    }
    wrong.push(Some(b"Bearer \xff\xfe".to_vec()));
    wrong.push(Some(format!("Bearer {token}x").into_bytes()));
    for header in wrong {
        let mut request = server.bare(Method::GET, "/api/v1/apps");
        if let Some(bytes) = &header {
            request = request.header("authorization", HeaderValue::from_bytes(bytes).unwrap());
        }
        let response = request.try_clone().unwrap().send().await.unwrap();
        assert_eq!(response.headers()["www-authenticate"], "Bearer", "{header:?}");
        let problem = refused(request, 401, "unauthenticated").await;
        assert!(!format!("{problem:?}").contains(token.as_str()), "the token stays untold");
    }
    let any_case = server.bare(Method::GET, "/api/v1/apps").header("authorization", format!("bearer {token}"));
    assert_eq!(any_case.send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn app_tokens_work_only_for_their_app() {
    let server = TestServer::start().await;
    server.client.app_create(&"shop".parse().unwrap(), milepost_model::PlanName::Free).await.unwrap();
    let token = server.token_for("of-shop", Role::Admin, Some("shop")).await;
    let ask = |method: Method, path: &str| server.ask_as(&token, method, path);
    for path in ["/apps/shop", "/apps/shop/units", "/whoami", "/plans"] {
        assert_eq!(ask(Method::GET, path).send().await.unwrap().status(), 200, "{path}");
    }
    let apps: serde_json::Value = ask(Method::GET, "/apps").send().await.unwrap().json().await.unwrap();
    assert_eq!(apps["items"].as_array().unwrap().len(), 1, "it sees its own app and no other: {apps}");
    let change = ask(Method::POST, "/apps/shop/changes").json(&config("a", 1));
    assert_eq!(change.send().await.unwrap().status(), 200);
    for (method, path, body) in [
        (Method::GET, "/apps/default", json!({})),
        (Method::GET, "/apps/nosuch", json!({})),
        (Method::POST, "/apps/default/changes", config("a", 1)),
        (Method::POST, "/apps/default/rollback", json!({})),
        (Method::DELETE, "/apps/default", json!({})),
        (Method::POST, "/apps", json!({ "name": "mine" })),
        (Method::PUT, "/apps/shop/plan", json!({ "plan": "unlimited" })),
        (Method::GET, "/tokens", json!({})),
        (Method::POST, "/tokens", json!({ "name": "more", "role": "admin" })),
        (Method::POST, "/storage/sweep", json!({})),
    ] {
        refused(ask(method, path).json(&body), 403, "forbidden").await;
    }
    let plan = ask(Method::PUT, "/apps/shop/plan").json(&json!({ "plan": "unlimited" }));
    let problem = refused(plan, 403, "forbidden").await;
    assert!(problem.detail.contains("no app may choose its own plan"), "{problem:?}");
    let reader = server.token_for("reader", Role::Reader, None).await;
    let problem = refused(server.ask_as(&reader, Method::GET, "/tokens"), 403, "forbidden").await;
    assert_eq!(problem.hint.as_deref(), Some("use a token with the role admin"), "there is no higher one");
}

#[tokio::test]
async fn moving_a_pointer_and_changing_code_are_separate_permissions() {
    let server = TestServer::start().await;
    server.change(&config("a", 1)).await;
    server.change(&config("a", 2)).await;
    let operator = server.token_for("night-shift", Role::Operator, None).await;
    let ask = |method: Method, path: &str| server.ask_as(&operator, method, path);
    let tag = ask(Method::PUT, "/apps/default/tags/beta").json(&json!({ "release": "latest" }));
    assert_eq!(tag.send().await.unwrap().status(), 200);
    let rollback = ask(Method::POST, "/apps/default/rollback").json(&json!({ "why": "it burns" }));
    assert_eq!(rollback.send().await.unwrap().status(), 200);
    let problem = refused(ask(Method::POST, "/apps/default/changes").json(&config("a", 3)), 403, "forbidden").await;
    assert!(problem.detail.contains("operator") && problem.detail.contains("change code"), "{problem:?}");
    assert!(problem.hint.unwrap().contains("deployer"));
    let moves = server.get("/apps/default/live/history").await;
    assert_eq!(moves["items"][0]["by"], "night-shift");
}

#[tokio::test]
async fn rejects_deleted_tokens_immediately() {
    let server = TestServer::start().await;
    let token = server.token_for("short-lived", Role::Reader, None).await;
    let whoami = || server.ask_as(&token, Method::GET, "/whoami");
    assert_eq!(whoami().send().await.unwrap().status(), 200);
    server.client.token_delete("short-lived").await.unwrap();
    refused(whoami(), 401, "unauthenticated").await;
    refused(server.ask(Method::DELETE, "/tokens/admin"), 409, "in_use").await;
    assert_eq!(server.client.whoami().await.unwrap().name, "admin", "the last admin token stays valid");
}

#[tokio::test]
async fn tokens_are_shown_once_and_kept_hashed() {
    let server = TestServer::start().await;
    let token = server.token_for("ci", Role::Deployer, None).await;
    assert!(token.starts_with("mp_") && token.len() > 30);
    let listed = server.get("/tokens").await.to_string();
    assert!(listed.contains("\"ci\"") && !listed.contains(&token), "{listed}");
    let secret = server.token.clone();
    let data = server.ended().await;
    for entry in std::fs::read_dir(data.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() && !path.ends_with("admin.token") {
            let bytes = std::fs::read(&path).unwrap();
            for hidden in [&token, &secret] {
                assert!(!bytes.windows(hidden.len()).any(|part| part == hidden.as_bytes()), "{}", path.display());
            }
        }
    }
}

#[tokio::test]
async fn key_and_token_files_are_readable_only_by_the_owner() {
    use std::os::unix::fs::PermissionsExt;
    let server = TestServer::start().await;
    for file in ["admin.token", "secret.key", "server.json"] {
        let mode = std::fs::metadata(server.data().join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
}
