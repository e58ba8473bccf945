//! Health checks and metrics.

use std::time::Duration;

use milepost_model::Role;
use milepost_testkit::eventually;
use milepost_testkit::postgres::Cluster;
use reqwest::Method;

use crate::bodies::config;
use crate::server::{TestServer, refused};

async fn status_of(server: &TestServer, path: &str) -> (u16, String) {
    let response = server.bare(Method::GET, path).send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

#[tokio::test]
async fn healthy_server_reports_ready_without_a_token() {
    let server = TestServer::start().await;
    assert_eq!(status_of(&server, "/healthz").await, (200, "ok\n".to_owned()));
    assert_eq!(status_of(&server, "/readyz").await, (200, "ready\n".to_owned()));
}

#[tokio::test]
async fn not_ready_without_its_blob_store() {
    let server = TestServer::start().await;
    let blobs = server.data().join("blobs");
    std::fs::rename(&blobs, server.data().join("away")).unwrap();
    // A file in its place, so that not even root can write below it.
    std::fs::write(&blobs, "").unwrap();
    assert_eq!(status_of(&server, "/readyz").await, (503, "the blob store does not answer\n".to_owned()));
    assert_eq!(status_of(&server, "/healthz").await.0, 200);
    std::fs::remove_file(&blobs).unwrap();
    std::fs::rename(server.data().join("away"), &blobs).unwrap();
    assert_eq!(status_of(&server, "/readyz").await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn refuses_without_its_database_and_recovers() {
    // Durable, because it is killed and must not lose what it acknowledged.
    let mut cluster = Cluster::start_private(true);
    let server = TestServer::on_database(&cluster.url()).await;
    server.change(&config("a", 1)).await;
    cluster.kill9();
    // Its child processes take a moment to notice.
    let gone = (503, "the database does not answer\n".to_owned());
    eventually(Duration::from_secs(30), || async { status_of(&server, "/readyz").await == gone }).await;
    assert_eq!(status_of(&server, "/healthz").await.0, 200, "the process itself is well");
    let change = server.ask(Method::POST, "/apps/default/changes").json(&config("a", 2));
    let problem = refused(change, 503, "unavailable").await;
    assert!(problem.hint.unwrap().contains("send the request again"));
    cluster.restart();
    eventually(Duration::from_secs(30), || async { status_of(&server, "/readyz").await.0 == 200 }).await;
    let outcome = server.change(&config("a", 2)).await;
    assert_eq!(outcome["versions"][0]["number"], 2, "what was refused left nothing");
}

#[tokio::test]
async fn metrics_count_routes_without_names() {
    let server = TestServer::start().await;
    server.change(&config("a", 1)).await;
    server.get("/apps/default/units/config/config").await;
    refused(server.ask(Method::GET, "/apps/very-private"), 404, "app_not_found").await;
    server.bare(Method::GET, "/very/private").send().await.unwrap();
    server.bare("BREW".parse().unwrap(), "/api/v1/apps/very-private").send().await.unwrap();
    let text = server.bare(Method::GET, "/metrics").bearer_auth(&server.token).send().await.unwrap();
    let text = text.error_for_status().unwrap().text().await.unwrap();
    for line in [
        r#"milepost_api_requests_total{method="POST",route="/api/v1/apps/{app}/changes",status="200"} 1"#,
        r#"milepost_api_requests_total{method="GET",route="/api/v1/apps/{app}",status="404"} 1"#,
        r#"milepost_api_requests_total{method="GET",route="/api/v1/apps/{app}/units/{kind}/{name}",status="200"} 1"#,
        r#"milepost_api_requests_total{method="GET",route="unmatched",status="404"} 1"#,
        r#"milepost_api_requests_total{method="other",route="/api/v1/apps/{app}",status="405"} 1"#,
        "milepost_changes_total 1",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    assert!(!text.contains("private") && !text.contains("BREW"), "{text}");
}

#[tokio::test]
async fn metrics_require_a_token_for_all_apps() {
    let server = TestServer::start().await;
    refused(server.bare(Method::GET, "/metrics"), 401, "unauthenticated").await;
    let of_one = server.token_for("one", Role::Admin, Some("default")).await;
    refused(server.bare(Method::GET, "/metrics").bearer_auth(of_one), 403, "forbidden").await;
    let reader = server.token_for("ron", Role::Reader, None).await;
    let read = server.bare(Method::GET, "/metrics").bearer_auth(reader).send().await.unwrap();
    assert_eq!(read.status(), 200);
}
