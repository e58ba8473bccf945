//! The channels of a server, as readers and publishers access them.

use std::sync::Arc;

use milepost_channels::{Publish, Store, StoreOptions};
use milepost_model::Digest;
use milepost_model::channel::{ChannelName, PackageName, SemVer};
use reqwest::{Client, Method, Response, StatusCode};

use crate::author::Author;
use crate::common::World;

struct Served {
    world: World,
    http: Client,
    token: String,
}

impl Served {
    fn new() -> Self {
        // Installs the TLS provider of this process.
        drop(milepost_channels::Http::new().unwrap());
        let world = World::on_machine_time();
        let token = std::fs::read_to_string(world.env.data_dir().join("admin.token")).unwrap().trim().to_owned();
        Self { world, http: Client::new(), token }
    }

    fn store(&self) -> Store {
        let options = StoreOptions { token: Some(self.token.clone()), ..StoreOptions::default() };
        Store::open(&format!("{}/channels", self.world.server.api()), options).unwrap()
    }

    async fn send(&self, method: Method, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        let mut request = self.http.request(method, format!("{}/channels/{path}", self.world.server.api()));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(body.to_vec()).send().await.unwrap()
    }

    async fn put(&self, path: &str, headers: &[(&str, &str)], body: &[u8]) -> StatusCode {
        let bearer = format!("Bearer {}", self.token);
        let headers: Vec<_> = headers.iter().copied().chain([("authorization", bearer.as_str())]).collect();
        self.send(Method::PUT, path, &headers, body).await.status()
    }
}

async fn publish(store: &Store, text: &str) {
    let package: PackageName = "team/shop".parse().unwrap();
    let version: SemVer = text.parse().unwrap();
    let content = format!("the artifact of {text}");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &content).unwrap();
    let publish = Publish {
        package: &package,
        channel: &ChannelName::stable(),
        version: &version,
        manifest: &version,
        artifact: file.path(),
        digest: Digest::of(content.as_bytes()),
        create_time: "2026-01-01T00:00:00Z".parse().unwrap(),
        registry: None,
    };
    store.publish(&publish).await.unwrap_or_else(|error| panic!("{text}: {error}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_publishers_to_a_server_lose_no_entry() {
    let served = Arc::new(Served::new());
    let mut tasks = tokio::task::JoinSet::new();
    for publisher in 0..6 {
        let store = served.store();
        tasks.spawn(async move {
            for number in 0..4 {
                publish(&store, &format!("1.{publisher}.{number}")).await;
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    let all = served.store().read(&"team/shop".parse().unwrap(), &ChannelName::stable()).await.unwrap().unwrap();
    assert_eq!(all.versions().len(), 24);
    assert_eq!(all.latest().unwrap().version.as_str(), "1.5.3");
}

#[tokio::test]
async fn files_are_public_and_support_conditional_requests() {
    let served = Served::new();
    publish(&served.store(), "1.0.0").await;
    let answer = served.send(Method::GET, "team/shop/stable/latest", &[], b"").await;
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "application/json");
    assert_eq!(answer.headers()["cache-control"], "no-cache");
    let tag = answer.headers()["etag"].to_str().unwrap().to_owned();
    let same = served.send(Method::GET, "team/shop/stable/latest", &[("if-none-match", &tag)], b"").await;
    assert_eq!(same.status(), 304);
    let hex = Digest::of(b"the artifact of 1.0.0").hex();
    let path = format!("team/shop/stable/artifacts/{hex}");
    let head = served.send(Method::HEAD, &path, &[], b"").await;
    assert_eq!(head.status(), 200);
    assert_eq!(head.headers()["content-length"], "21");
    let answer = served.send(Method::GET, &path, &[], b"").await;
    assert!(answer.headers()["cache-control"].to_str().unwrap().contains("immutable"));
    assert_eq!(answer.bytes().await.unwrap(), "the artifact of 1.0.0");
    for missing in
        ["team/shop/beta/latest", "team/shop/stable/.lock", "team/shop/stable/artifacts/x", "../admin.token", "x"]
    {
        let answer = served.send(Method::GET, missing, &[], b"").await;
        assert_eq!(answer.status(), 404, "{missing}");
    }
}

#[tokio::test]
async fn writing_needs_a_token_a_condition_and_the_right_bytes() {
    let served = Served::new();
    publish(&served.store(), "1.0.0").await;
    let path = "team/shop/stable/all";
    let all = served.send(Method::GET, path, &[], b"").await;
    let tag = all.headers()["etag"].to_str().unwrap().to_owned();
    let all = all.bytes().await.unwrap();

    let no_token = served.send(Method::PUT, path, &[("if-match", &tag)], &all).await;
    assert_eq!(no_token.status(), 401);
    let reader = served.world.json("token create reader --role reader");
    let bearer = format!("Bearer {}", reader["token"].as_str().unwrap());
    let reads = served.send(Method::PUT, path, &[("if-match", &tag), ("authorization", &bearer)], &all).await;
    assert_eq!(reads.status(), 403);
    let own = served.world.json("token create own --role deployer --only default");
    let bearer = format!("Bearer {}", own["token"].as_str().unwrap());
    let of_one_app = served.send(Method::PUT, path, &[("if-match", &tag), ("authorization", &bearer)], &all).await;
    assert_eq!(of_one_app.status(), 403);

    assert_eq!(served.put(path, &[], &all).await, 400, "without a condition");
    assert_eq!(served.put(path, &[("if-match", "\"old\"")], &all).await, 412);
    assert_eq!(served.put(path, &[("if-none-match", "*")], &all).await, 412);
    assert_eq!(served.put(path, &[("if-match", &tag)], b"{}").await, 409, "not a list");
    let other = String::from_utf8(all.to_vec()).unwrap();
    let empty = other.split("\"versions\"").next().unwrap().replace("team/shop", "team/other");
    assert_eq!(served.put(path, &[("if-match", &tag)], empty.as_bytes()).await, 409);
    let lost = other.replace("1.0.0", "1.0.1");
    assert_eq!(served.put(path, &[("if-match", &tag)], lost.as_bytes()).await, 409, "it loses a version");
    assert_eq!(served.put(path, &[("if-match", &tag)], &all).await, 200);

    let hex = Digest::of(b"x").hex();
    assert_eq!(served.put(&format!("team/shop/stable/artifacts/{hex}"), &[], b"y").await, 400);
    let gone = served.send(Method::GET, &format!("team/shop/stable/artifacts/{hex}"), &[], b"").await;
    assert_eq!(gone.status(), 404, "bytes with another digest were stored");
    assert_eq!(served.put(&format!("team/shop/stable/artifacts/{hex}"), &[], b"x").await, 201);
    assert_eq!(served.put("team/shop/stable/other", &[("if-none-match", "*")], b"x").await, 404);
}

#[tokio::test]
async fn versions_in_use_are_not_deleted() {
    let served = Served::new();
    publish(&served.store(), "1.0.0").await;
    let bearer = format!("Bearer {}", served.token);
    let with = [("authorization", bearer.as_str())];
    let hex = Digest::of(b"the artifact of 1.0.0").hex();
    let path = format!("team/shop/stable/artifacts/{hex}");
    assert_eq!(served.send(Method::DELETE, &path, &with, b"").await.status(), 409);
    assert_eq!(served.send(Method::DELETE, "team/shop/stable/all", &with, b"").await.status(), 405);
    assert_eq!(served.send(Method::DELETE, &path, &[], b"").await.status(), 401);
}

#[test]
fn channels_outlive_a_restart() {
    let mut author = Author::of(World::on_machine_time());
    author.ok("publish");
    author.world.server.restart();
    assert_eq!(author.versions(""), ["1.0.0"]);
}
