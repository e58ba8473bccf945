//! Two servers on one PostgreSQL database: each version is installed once, by one of them.

use std::collections::BTreeMap;
use std::time::Duration;

use milepost_client::Client;
use milepost_model::install::InstallSettings;
use milepost_server::{Server, Settings};
use milepost_testkit::{eventually, postgres};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::author::Author;
use crate::stage::{APP, at, following};

const PATIENCE: Duration = Duration::from_secs(60);
const INSTALLS: usize = 6;

struct Node {
    client: Client,
    stop: CancellationToken,
    _data: TempDir,
}

impl Drop for Node {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

async fn node(database: &str, blobs: &TempDir, key: Option<&Node>) -> Node {
    let data = tempfile::tempdir().unwrap();
    if let Some(other) = key {
        // Servers on one database share the key and the admin token.
        for file in ["secret.key", "admin.token"] {
            std::fs::copy(other._data.path().join(file), data.path().join(file)).unwrap();
        }
    }
    let mut settings = Settings::new(data.path().to_owned(), "127.0.0.1:0".parse().unwrap());
    settings.database = Some(database.to_owned());
    settings.blobs = Some(blobs.path().display().to_string());
    settings.spares = Some(0);
    let server = Server::start(settings).await.unwrap();
    let token = std::fs::read_to_string(data.path().join("admin.token")).unwrap();
    let client = Client::new(&format!("http://{}", server.address()), token.trim()).unwrap();
    let stop = CancellationToken::new();
    tokio::spawn(server.run(stop.clone()));
    Node { client, stop, _data: data }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_two_servers_on_one_database_install_each_version_once() {
    let (database, blobs) = (postgres::database(), tempfile::tempdir().unwrap());
    let one = node(&database.url, &blobs, None).await;
    let two = node(&database.url, &blobs, Some(&one)).await;
    let mut author = Author::new();
    author.publish("1.0.0", at("2026-01-01T00:00:00Z"));
    for number in 0..INSTALLS {
        let settings = InstallSettings { poll_s: 1, ..InstallSettings::default() };
        let mut new = following(&author.url(), settings);
        new.app = Some(format!("{APP}-{number}").parse().unwrap());
        one.client.install_create(&new).await.unwrap();
    }
    for patch in 1..=5 {
        let version = format!("1.0.{patch}");
        author.publish(&version, at("2026-01-02T00:00:00Z"));
        eventually(PATIENCE, async || {
            let found = two.client.install_list(100, None).await.unwrap().items;
            found.iter().all(|install| install.entry.version.as_str() == version)
        })
        .await;
    }
    for number in 0..INSTALLS {
        let events = one.client.event_list(&format!("{APP}-{number}"), 1000, None).await.unwrap().items;
        let mut upgrades: BTreeMap<String, usize> = BTreeMap::new();
        for event in events.iter().filter(|event| event.kind == "install.upgraded") {
            *upgrades.entry(event.after.as_ref().unwrap()["version"].to_string()).or_default() += 1;
        }
        assert_eq!(upgrades.len(), 5, "{upgrades:?}");
        assert!(upgrades.values().all(|times| *times == 1), "{upgrades:?}");
    }
}
