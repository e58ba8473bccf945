//! An app from its first deploy to its rollback, on each kind of storage.

use std::sync::Arc;

use milepost_client::api::{RollBack, SetLive};
use milepost_client::source::{Source, SourceOptions};
use milepost_model::UnitKind;
use milepost_model::change::{Change, UnitKey};
use milepost_model::release::LiveMode;
use milepost_testkit::{postgres, s3::S3Server};
use serde_json::json;

use crate::server::TestServer;

/// Uploads a directory, deploys it as function `hello`, and returns the release.
async fn deploy(server: &TestServer, text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("main.py"), text).unwrap();
    std::fs::create_dir(folder.path().join("lib")).unwrap();
    std::fs::write(folder.path().join("lib/big.bin"), vec![7; 300_000]).unwrap();
    let source = Arc::new(Source::open(folder.path(), &SourceOptions::default(), None).unwrap());
    let root = source.root().unwrap();
    server.client.upload("shop", source, |_| {}, Arc::new(|_| {})).await.unwrap();
    let change: Change = serde_json::from_value(crate::bodies::function("hello", root)).unwrap();
    let outcome = server.client.change("shop", &change, None).await.unwrap();
    assert!(outcome.changed);
    outcome.release.unwrap().id
}

async fn check_whole_flow(server: &TestServer) {
    let client = &server.client;
    client.app_create(&"shop".parse().unwrap(), milepost_model::PlanName::Standard).await.unwrap();
    let first = deploy(server, "def main(): return 1").await;
    server.clock.advance_ms(60_000);
    let between = milepost_model::Clock::now(&*server.clock).to_string();
    server.clock.advance_ms(60_000);
    let second = deploy(server, "def main(): return 2").await;
    let key = UnitKey { kind: UnitKind::Function, name: "hello".parse().unwrap() };

    let version = client.version_get("shop", &key, "latest").await.unwrap();
    assert_eq!((version.number, version.releases.len()), (2, 1));
    let uid = client.version_get("shop", &key, &version.uid).await.unwrap();
    let digest = client.version_get("shop", &key, &version.digest.to_string()).await.unwrap();
    assert_eq!((uid.number, digest.number), (2, 2));

    let diff = client.diff("shop", "1", "2").await.unwrap();
    let said = serde_json::to_value(&diff.changes).unwrap().to_string();
    assert!(said.contains("\"path\":\"main.py\"") && !said.contains("big.bin"), "{said}");

    let alias = client.alias_create("shop", "hello", "stable", "1".parse().unwrap(), String::new()).await.unwrap();
    assert_eq!(alias.number, 1);
    client.tag_set("shop", "beta", &second, "try it".to_owned()).await.unwrap();

    let plan = client.rollback("shop", &RollBack { dry_run: true, ..RollBack::default() }).await.unwrap();
    assert_eq!((plan.dry_run, plan.to.id.as_str()), (true, first.as_str()));
    let done = client.rollback("shop", &RollBack::default()).await.unwrap();
    assert_eq!(done.to.id, first);
    let live = client.live_get("shop").await.unwrap();
    assert_eq!((live.mode, live.release.unwrap().id), (LiveMode::Pinned, first.clone()));
    let third = deploy(server, "def main(): return 3").await;
    assert_eq!(client.live_get("shop").await.unwrap().release.unwrap().id, first, "a deploy does not take live back");
    client.live_set("shop", &SetLive { follow: true, ..SetLive::default() }).await.unwrap();
    assert_eq!(client.live_get("shop").await.unwrap().release.unwrap().id, third);

    let then = client.at("shop", &between).await.unwrap();
    assert_eq!(then.release.id, first);

    let response = client.version_download("shop", &key, "1", None).await.unwrap();
    let zip = std::io::Cursor::new(response.bytes().await.unwrap());
    let mut archive = zip::ZipArchive::new(zip).unwrap();
    let text = std::io::read_to_string(archive.by_name("main.py").unwrap()).unwrap();
    assert_eq!(text, "def main(): return 1");
    assert_eq!(archive.by_name("lib/big.bin").unwrap().size(), 300_000);

    // Servers of these tests have no workers to load the function that the delete brings back.
    let outcome = client.version_delete("shop", &key, "3", false, true).await.unwrap();
    assert!(outcome.changed);
    assert_eq!(client.version_get("shop", &key, "latest").await.unwrap().number, 2, "latest steps back");
    let kinds: Vec<String> =
        client.event_list("shop", 1000, None).await.unwrap().items.into_iter().map(|event| event.kind).collect();
    for kind in ["app.created", "version.created", "alias.moved", "tag.moved", "live.moved", "version.deleted"] {
        assert!(kinds.iter().any(|known| known == kind), "{kind} is not among {kinds:?}");
    }
    assert_eq!(client.storage_sweep().await.unwrap().blobs, 0, "nothing is swept that is in use or fresh");
    assert_eq!(server.get("/apps/shop/live").await["mode"], json!("following"));
}

#[tokio::test]
async fn whole_flow_on_sqlite_and_a_directory() {
    check_whole_flow(&TestServer::start().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whole_flow_on_postgres_and_s3() {
    let database = postgres::database();
    let s3 = S3Server::start();
    let server = TestServer::start_with(|settings| {
        settings.database = Some(database.url.clone());
        settings.blobs = Some(format!("s3://{}/milepost", S3Server::BUCKET));
        settings.aws = Some(s3.variables().map(|(name, value)| (name.to_owned(), value)).to_vec());
    })
    .await;
    check_whole_flow(&server).await;
}
