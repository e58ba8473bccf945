//! App versions as files that can be installed elsewhere.

use milepost_model::Digest;
use milepost_model::channel::Artifact;
use milepost_model::channel::artifact::HEAD_LEN;
use reqwest::Method;
use serde_json::{Value, json};

use crate::server::{TestServer, refused};

/// Deploys a function with its package, a config, files and a secret.
async fn deploy(server: &TestServer, greeting: &str) -> Value {
    let code = server.store(&[("main.py", "def main(): return 'hi'"), ("lib/more.py", "x = 1")]).await;
    let files = server.store(&[("index.html", "<h1>hi</h1>"), ("again.html", "<h1>hi</h1>")]).await;
    let puts = json!([
        { "kind": "secret", "name": "TOKEN", "spec": { "value": "hunter2-correct-horse" } },
        { "kind": "config", "name": "config", "spec": { "set": { "greeting": greeting } } },
        { "kind": "package", "name": "code", "spec": { "environment": { "name": "python" }, "deployment": code } },
        { "kind": "function", "name": "hello", "spec": { "package": { "name": "code" }, "entrypoint": "main", "secrets": ["TOKEN"] } },
        { "kind": "static", "name": "site", "spec": { "path": "/", "tree": files } },
    ]);
    // Servers of these tests have no workers to load functions with.
    server.change(&json!({ "check": false, "message": "all of it", "puts": puts })).await
}

async fn artifact(server: &TestServer, version: &str) -> Vec<u8> {
    let response = server.ask(Method::GET, &format!("/apps/default/artifact?version={version}")).send().await.unwrap();
    assert_eq!(response.status(), 200, "{}", response.text().await.unwrap());
    let stated = response.content_length();
    let bytes = response.bytes().await.unwrap().to_vec();
    assert_eq!(stated, Some(bytes.len() as u64), "the length is known before the first byte");
    bytes
}

fn document(bytes: &[u8]) -> Artifact {
    let length = Artifact::document_len(bytes[..HEAD_LEN].try_into().unwrap()).unwrap();
    Artifact::read(&bytes[HEAD_LEN..HEAD_LEN + length]).unwrap()
}

#[tokio::test]
async fn artifacts_are_reproducible_on_any_server() {
    let (one, two) = (TestServer::start().await, TestServer::start().await);
    let first = deploy(&one, "hi").await;
    let uid = first["appVersion"].as_str().unwrap();
    let bytes = artifact(&one, uid).await;
    assert_eq!(bytes, artifact(&one, "live").await);
    // A different history with other numbers and uids, but the same app in the end.
    deploy(&two, "something else").await;
    deploy(&two, "hi").await;
    assert_eq!(bytes, artifact(&two, "live").await);

    deploy(&one, "hello").await;
    assert_ne!(bytes, artifact(&one, "live").await);
    assert_eq!(bytes, artifact(&one, uid).await, "what was published can be made again");
}

#[tokio::test]
async fn artifacts_contain_each_file_once_and_no_secrets() {
    let server = TestServer::start().await;
    deploy(&server, "hi").await;
    let bytes = artifact(&server, "live").await;
    let hidden = b"hunter2-correct-horse";
    assert!(!bytes.windows(hidden.len()).any(|part| part == hidden));
    let page = b"<h1>hi</h1>";
    assert_eq!(bytes.windows(page.len()).filter(|part| part == page).count(), 1, "two files of one content are one");

    let document = document(&bytes);
    assert_eq!(document.inputs.iter().map(ToString::to_string).collect::<Vec<_>>(), ["TOKEN"]);
    assert!(document.blobs.iter().any(|blob| blob.digest == Digest::of(page)));
    assert_eq!(bytes.len() as u64, document.prefix().len() as u64 + document.blobs_len());
}

#[tokio::test]
async fn lists_units_that_are_not_portable() {
    let server = TestServer::start().await;
    deploy(&server, "hi").await;
    let newer = server.store(&[("main.py", "def main(): return 'newer'")]).await;
    let package = json!({ "kind": "package", "name": "code", "spec": { "environment": { "name": "python" }, "deployment": newer } });
    let route =
        json!({ "kind": "route", "name": "hello", "spec": { "path": "/hello", "function": "hello", "version": "1" } });
    server.change(&json!({ "check": false, "puts": [package, route] })).await;
    let problem = refused(server.ask(Method::GET, "/apps/default/artifact"), 409, "not_portable").await;
    assert_eq!(problem.blockers.len(), 1, "{problem:?}");
    assert!(problem.blockers[0].contains("function hello is pinned to another version of package code"), "{problem:?}");
}
