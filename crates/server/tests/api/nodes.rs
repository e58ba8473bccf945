//! Several servers over one PostgreSQL, and a database that lost its newest commits.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use milepost_model::Digest;
use milepost_server::Settings;
use milepost_testkit::eventually;
use milepost_testkit::partition::Partition;
use milepost_testkit::postgres::{TestDatabase, copy, database};
use milepost_testkit::s3::S3Server;
use reqwest::Method;
use serde_json::json;

use crate::bodies::{config, packed_tree, static_item};
use crate::server::TestServer;

/// A server and the address of its gateway.
struct Node {
    server: TestServer,
    gateway: SocketAddr,
}

impl Node {
    async fn start(database: &TestDatabase, key_of: Option<&TestServer>, adjust: impl FnOnce(&mut Settings)) -> Self {
        let data = tempfile::tempdir().unwrap();
        if let Some(other) = key_of {
            for file in ["secret.key", "admin.token"] {
                std::fs::copy(other.data().join(file), data.path().join(file)).unwrap();
            }
        }
        let server = TestServer::start_in(data, |settings| {
            settings.database = Some(database.url.clone());
            settings.gateway = Some(([127, 0, 0, 1], 0).into());
            settings.spares = Some(0);
            adjust(settings);
        })
        .await;
        let facts = server.get("/system").await;
        let gateway =
            facts["gateway"].as_str().unwrap().rsplit_once(':').unwrap().1.trim_end_matches('/').parse().unwrap();
        Self { server, gateway: ([127, 0, 0, 1], gateway).into() }
    }

    /// The release that answers for the app, with the status and the body.
    async fn ask(&self, app: &str) -> (String, u16, String) {
        let request = reqwest::Client::new().get(format!("http://{}/", self.gateway)).timeout(Duration::from_secs(10));
        let response = request.header("host", format!("{app}.localhost")).send().await.unwrap();
        let release = response.headers().get("milepost-release").map(|value| value.to_str().unwrap().to_owned());
        let status = response.status().as_u16();
        (release.unwrap_or_default(), status, response.text().await.unwrap())
    }

    async fn ready(&self) -> (u16, String) {
        let response = self.server.bare(Method::GET, "/readyz").send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    /// Deploys a static item to an app, which is made if it does not exist.
    async fn deploy(&self, app: &str, text: &str) -> String {
        let (root, pack): (Digest, Vec<u8>) = packed_tree(&[("index.html", text)]);
        self.server.send(Method::POST, "/apps", &json!({ "name": app })).await;
        let path = format!("/apps/{app}/blobs");
        let sent = self.server.ask(Method::POST, &path).body(pack).send().await.unwrap();
        assert!(sent.status().is_success(), "{}", sent.text().await.unwrap());
        let path = format!("/apps/{app}/changes");
        let (status, made) = self.server.send(Method::POST, &path, &static_item("site", root)).await;
        assert_eq!(status, 200, "{made:#}");
        made["release"]["id"].as_str().unwrap().to_owned()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_serves_what_a_database_holds_that_lost_its_newest_commits() {
    let database = database();
    let one = Node::start(&database, None, |_| {}).await;
    let two = Node::start(&database, Some(&one.server), |_| {}).await;
    let nodes = [one, two];
    let first = nodes[0].server.change(&config("a", 1)).await["release"]["id"].clone();
    // Closes all connections to the database.
    let saved = tokio::task::block_in_place(|| copy(&database));
    let shown =
        async |node: &Node, release: &serde_json::Value| node.ask("default").await.0 == release.as_str().unwrap();
    eventually(Duration::from_secs(20), async || nodes[0].ready().await.0 == 200 && nodes[1].ready().await.0 == 200)
        .await;
    let lost = nodes[0].server.change(&config("a", 2)).await["release"]["id"].clone();
    for node in &nodes {
        eventually(Duration::from_secs(10), async || shown(node, &lost).await).await;
    }

    tokio::task::block_in_place(|| database.replace_with(&saved));
    let began = Instant::now();
    for node in &nodes {
        eventually(Duration::from_secs(20), async || shown(node, &first).await).await;
        assert!(began.elapsed() < Duration::from_secs(12), "it took {:?}", began.elapsed());
        let (status, text) = node.ready().await;
        assert_eq!(status, 200, "{text}");
        assert!(text.contains("the history of app `default` was cut: event "), "{text}");
    }
    let cuts = async || {
        let events = nodes[0].server.get("/apps/default/events").await;
        events["items"].as_array().unwrap().iter().filter(|event| event["kind"] == "history.cut").count()
    };
    eventually(Duration::from_secs(10), async || cuts().await == 1).await;

    // Its numbers are given again.
    let again = nodes[0].server.change(&config("a", 3)).await["release"]["id"].clone();
    for node in &nodes {
        eventually(Duration::from_secs(10), async || shown(node, &again).await).await;
    }
    for node in nodes {
        node.server.ended().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_app_waits_for_files_of_another() {
    let (database, s3) = (database(), S3Server::start());
    let port = s3.endpoint().rsplit_once(':').unwrap().1.parse().unwrap();
    let network = Partition::start(port);
    let files = |settings: &mut Settings, endpoint: String| {
        settings.blobs = Some(format!("s3://{}/milepost", S3Server::BUCKET));
        let mut variables = s3.variables().map(|(name, value)| (name.to_owned(), value));
        variables[0].1 = endpoint;
        settings.aws = Some(variables.to_vec());
    };
    let near = Node::start(&database, None, |settings| files(settings, s3.endpoint())).await;
    let through = format!("http://127.0.0.1:{}", network.port());
    let far = Node::start(&database, Some(&near.server), |settings| files(settings, through)).await;
    let shown = async |app: &str, text: &str| far.ask(app).await.2 == text;
    let old = near.deploy("warm", "one").await;
    eventually(Duration::from_secs(20), async || shown("warm", "one").await).await;
    let new = near.deploy("warm", "two").await;
    eventually(Duration::from_secs(20), async || shown("warm", "two").await).await;

    network.cut();
    near.deploy("cold", "three").await;
    // Begins to load what cannot be reached.
    eventually(Duration::from_secs(20), async || far.ask("cold").await.1 == 503).await;
    near.deploy("warm", "four").await;
    let began = Instant::now();
    for release in [&old, &new, &old] {
        let (status, body) = near.server.send(Method::PUT, "/apps/warm/live", &json!({ "release": release })).await;
        assert_eq!(status, 200, "{body:#}");
        eventually(Duration::from_secs(20), async || far.ask("warm").await.0 == *release).await;
    }
    assert!(began.elapsed() < Duration::from_secs(10), "three moves took {:?}", began.elapsed());

    network.heal();
    eventually(Duration::from_secs(60), async || shown("cold", "three").await).await;
    near.server.ended().await;
    far.server.ended().await;
}
