use milepost_catalog::{LiveTarget, RollbackInput};
use milepost_model::UnitKind;

use crate::common::*;

async fn every_call_answers(t: &Fixture) {
    t.catalog.ping().await.unwrap();
    let tree = t.tree("one").await;
    let outcome = t
        .put([
            environment("py", "3.12"),
            secret("TOKEN", "abc"),
            config("a.b", 1),
            package("hello", tree),
            function_on("hello", "hello").grouped("g"),
            static_item("/static", tree),
        ])
        .await;
    t.alias("hello", "stable", "latest").await;
    t.put([route("GET /hello", "hello", "@stable"), timer("nightly", "hello", "1")]).await;
    let release = outcome.release.unwrap();
    t.tag("beta", &release.id).await.unwrap();
    t.deploy("hello", "two").await;
    for kind in UnitKind::ALL {
        let units = t.catalog.unit_list(&t.app, Some(kind), None, 10).await.unwrap();
        assert!(!units.items.is_empty(), "{kind}");
    }
    t.catalog.live_set(&t.app, "x", LiveTarget::Release(release.id.clone()), String::new()).await.unwrap();
    t.catalog.live_set(&t.app, "x", LiveTarget::Follow, String::new()).await.unwrap();
    t.catalog.rollback(&t.app, "x", RollbackInput { to: None, why: String::new(), dry_run: false }).await.unwrap();
    t.catalog.at(&t.app, t.catalog.now()).await.unwrap();
    t.catalog.group_list(&t.app).await.unwrap();
    t.catalog.tag_list(&t.app).await.unwrap();
    t.catalog.live_history(&t.app, ALL).await.unwrap();
    t.catalog.latest_history(&t.app, ALL).await.unwrap();
    t.catalog.storage_why(tree).await.unwrap();
    t.catalog.quota_left(&t.app).await.unwrap();
    t.catalog.blob_locate(vec![tree]).await.unwrap();
    t.catalog.app_version_contents(&t.app, "head".to_owned()).await.unwrap();
    t.catalog.sweep(0).await.unwrap();
    t.catalog.token_list().await.unwrap();
}

on_both_engines!(every_call_answers);
