//! Unknown names, and the suggestions for them.

use reqwest::Method;
use serde_json::{Value, json};

use crate::bodies::function;
use crate::server::{TestServer, refused};

/// App `default` with function `hello` in version `v1.0.1`, alias `stable`, tag `beta` and group
/// `spring`.
async fn furnished() -> TestServer {
    let server = TestServer::start().await;
    let root = server.store(&[("main.py", "def main(): pass")]).await;
    let mut change = function("hello", root);
    change["puts"][1]["label"] = json!("v1.0.1");
    change["puts"][1]["group"] = json!("spring");
    server.change(&change).await;
    for (method, path, body) in [
        (Method::POST, "/apps/default/functions/hello/aliases/stable", json!({ "version": "latest" })),
        (Method::PUT, "/apps/default/tags/beta", json!({ "release": "latest" })),
    ] {
        let (status, answer) = server.send(method, path, &body).await;
        assert_eq!(status, 200, "{answer}");
    }
    server
}

async fn check(server: &TestServer, method: Method, path: &str, body: Value, code: &str, near: &str) {
    let request = server.ask(method, &format!("/apps{path}")).json(&body);
    let problem = refused(request, 404, code).await;
    let hint = problem.hint.unwrap();
    assert_eq!(hint, format!("did you mean `{near}`?"), "{path}: {}", problem.detail);
}

#[tokio::test]
async fn suggests_the_closest_name() {
    let server = furnished().await;
    let none = || json!({});
    let get = Method::GET;
    let versions = "/default/units/function/hello/versions";
    check(&server, get.clone(), "/defualt", none(), "app_not_found", "default").await;
    check(&server, Method::POST, "/defualt/changes", none(), "app_not_found", "default").await;
    check(&server, get.clone(), "/default/units/function/helo", none(), "unit_not_found", "hello").await;
    check(&server, get.clone(), &format!("{versions}/v1.0.2"), none(), "version_not_found", "v1.0.1").await;
    check(&server, Method::DELETE, &format!("{versions}/v1.0.2"), none(), "version_not_found", "v1.0.1").await;
    check(&server, get.clone(), &format!("{versions}/@stabel"), none(), "alias_not_found", "stable").await;
    let aliases = "/default/functions/hello/aliases";
    check(&server, get.clone(), &format!("{aliases}/stabel"), none(), "alias_not_found", "stable").await;
    check(&server, Method::DELETE, &format!("{aliases}/stabel"), none(), "alias_not_found", "stable").await;
    let wanted = json!({ "version": "v1.0.2" });
    check(&server, Method::PUT, &format!("{aliases}/stable"), wanted, "version_not_found", "v1.0.1").await;
    check(&server, Method::DELETE, "/default/tags/betta", none(), "tag_not_found", "beta").await;
    check(&server, get.clone(), "/default/groups/sprng", none(), "group_not_found", "spring").await;
    check(&server, Method::DELETE, "/default/groups/sprng", none(), "group_not_found", "spring").await;
    check(&server, get, "/default/releases/betta", none(), "release_not_found", "beta").await;
}

#[tokio::test]
async fn hints_where_to_look_without_a_similar_name() {
    let server = furnished().await;
    for (path, code) in [
        ("/apps/default/versions/zzzzzzzzzzzz", "app_version_not_found"),
        ("/apps/default/versions/99", "app_version_not_found"),
        ("/apps/default/diff?from=1&to=zzzzzzzzzzzz", "app_version_not_found"),
        ("/apps/default/releases/zzzzzzzzzzzz", "release_not_found"),
        ("/apps/default/units/function/zzzzzzzzzzzz", "unit_not_found"),
        ("/apps/default/units/function/hello/versions/99", "version_not_found"),
        ("/apps/default/tags/zzzzzzzzzzzz/history", "tag_not_found"),
        ("/apps/default/at?time=1999-01-01T00:00:00Z", "nothing_then"),
    ] {
        let problem = refused(server.ask(Method::GET, path), 404, code).await;
        assert!(!problem.hint.unwrap().starts_with("did you mean"), "{path}");
    }
    let blob = format!("sha256:{}", "0".repeat(64));
    for path in
        [format!("/apps/default/blobs/{blob}"), format!("/apps/default/trees/{blob}"), format!("/storage/why/{blob}")]
    {
        refused(server.ask(Method::GET, &path), 404, "blob_not_found").await;
    }
    let problem = refused(server.ask(Method::DELETE, "/tokens/admn"), 404, "token_not_found").await;
    assert_eq!(problem.hint.unwrap(), "did you mean `admin`?");
}
