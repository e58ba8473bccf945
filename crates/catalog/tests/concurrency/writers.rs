use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use milepost_catalog::{CatalogError, ChangeInput};
use milepost_model::change::Change;
use milepost_model::{AppName, ChangeOutcome, Code, Digest, PlanName, UnitKind};
use milepost_testkit::eventually;

use crate::common::*;

const WRITERS: i64 = 16;
const CHANGES: i64 = 6;

/// Runs one task per writer, all at once, and returns their results.
async fn at_once<T: Send + 'static, F>(t: &Arc<Fixture>, writer: impl Fn(Arc<Fixture>, i64) -> F) -> Vec<T>
where
    F: Future<Output = T> + Send + 'static,
{
    let tasks: Vec<_> = (0..WRITERS).map(|number| tokio::spawn(writer(Arc::clone(t), number))).collect();
    let mut answers = Vec::new();
    for task in tasks {
        answers.push(task.await.unwrap());
    }
    answers
}

pub async fn every_change_of_sixteen_writers_lands_once(t: Arc<Fixture>) {
    let outcomes = at_once(&t, |t, writer| async move {
        let mut outcomes = Vec::new();
        for step in 1..=CHANGES {
            // All writers set a key of one document, and each also has a unit of its own.
            let puts = [config(&format!("writer{writer}"), step), secret(&format!("S{writer}"), &step.to_string())];
            outcomes.push(t.catalog.change(&t.app, input(change(puts))).await.unwrap());
        }
        outcomes
    })
    .await
    .concat();

    let total = WRITERS * CHANGES;
    assert!(outcomes.iter().all(|outcome| outcome.changed));
    let uids: BTreeSet<_> = outcomes.iter().map(|outcome| outcome.app_version.clone().unwrap()).collect();
    assert_eq!(uids.len() as i64, total);
    let expected: Vec<i64> = (1..=total).rev().collect();
    let listed = t.catalog.app_version_list(&t.app, ALL).await.unwrap().items;
    assert_eq!(listed.iter().map(|version| version.number).collect::<Vec<_>>(), expected);
    assert_eq!(t.numbers(UnitKind::Config, "config").await, expected);
    let document = t.version(UnitKind::Config, "config", "latest").await.unwrap().spec["document"].clone();
    for writer in 0..WRITERS {
        assert_eq!(document[format!("writer{writer}")], CHANGES);
        assert_eq!(t.numbers(UnitKind::Secret, &format!("S{writer}")).await.len() as i64, CHANGES);
    }
    // Each app version differs from the previous one in exactly the two units of its change.
    for pair in listed.windows(2) {
        let (after, before) = (t.objects(&pair[0].id).await, t.objects(&pair[1].id).await);
        assert_eq!(after.iter().filter(|(unit, number)| before.get(*unit) != Some(number)).count(), 2);
    }
    let ids: Vec<i64> = t.events().await.iter().map(|event| event.id).collect();
    assert_eq!(ids, (1..=ids.len() as i64).collect::<Vec<_>>());
    assert_eq!(t.active().await.len(), 10);
}

pub async fn concurrent_resends_with_one_key_apply_once(t: Arc<Fixture>) {
    let outcomes: Vec<ChangeOutcome> = at_once(&t, |t, _| async move {
        let put = input(change([config("a", 1).forced()]));
        t.catalog.change(&t.app, ChangeInput { idempotency_key: Some("k".into()), ..put }).await.unwrap()
    })
    .await;
    assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]));
    assert_eq!(t.count("app_versions").await, 1);
}

pub async fn concurrent_changes_of_two_deployments_both_land(t: Arc<Fixture>) {
    // Half of the writers act for one folder, half for the other. Each round declares other units
    // than the one before.
    let outcomes = at_once(&t, |t, writer| async move {
        let folder = if writer % 2 == 0 { "even" } else { "odd" };
        let mut outcomes = Vec::new();
        for step in 0..CHANGES {
            let tree = t.tree(&format!("{writer} {step}")).await;
            let name = format!("{folder}-{}", step % 2);
            let puts = [environment(folder, "3.12"), package(&name, tree), function_on(&name, &name)];
            outcomes.push(t.catalog.change(&t.app, input(declared(folder, puts))).await.unwrap());
        }
        outcomes
    })
    .await
    .concat();
    assert!(outcomes.iter().all(|outcome| outcome.changed && outcome.notices.is_empty()));
    assert_eq!(t.count("app_versions").await, WRITERS * CHANGES);
    // The result is the last change of each folder, complete, and nothing of earlier changes.
    for folder in ["even", "odd"] {
        let units = t.catalog.unit_list(&t.app, None, Some(folder.to_owned()), None, 100).await.unwrap().items;
        let names: Vec<String> = units.iter().map(|unit| format!("{} {}", unit.kind, unit.name)).collect();
        let name = &units.iter().find(|unit| unit.kind == UnitKind::Function).unwrap().name;
        assert_eq!(names, [format!("environment {folder}"), format!("function {name}"), format!("package {name}")]);
    }
}

pub async fn one_of_many_changes_that_expect_the_same_head_wins(t: Arc<Fixture>) {
    let head = t.put([config("a", 0)]).await.app_version;
    let results: Vec<Result<ChangeOutcome, CatalogError>> = at_once(&t, |t, writer| {
        let expect = head.clone();
        async move { t.catalog.change(&t.app, input(Change { expect, ..change([config("a", writer + 1)]) })).await }
    })
    .await;
    let (won, lost): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    assert_eq!(won.len(), 1);
    assert!(lost.into_iter().all(|result| refused(result).code == Code::HeadMoved));
}

pub async fn uploads_of_the_same_files_do_not_deadlock(t: Arc<Fixture>) {
    let files: Vec<Digest> = (0..300).map(|number| Digest::of(format!("file {number}").as_bytes())).collect();
    let sent = files.clone();
    at_once(&t, move |t, writer| {
        let mut files = sent.clone();
        async move {
            // Each writer has its own order, and the lookup takes the same locks as the upload.
            files.rotate_left((writer * 17) as usize);
            if writer % 2 == 0 {
                files.reverse();
            }
            for round in 0..3 {
                t.clock.advance_ms(11 * 60_000);
                t.catalog.blobs_missing(files.clone()).await.unwrap();
                let new = files.iter().map(|file| blob(*file, None)).collect();
                t.register(&format!("pack {writer} {round}"), new).await.unwrap();
            }
        }
    })
    .await;
    assert_eq!(t.count("blobs").await, 300);
    assert!(t.catalog.blobs_missing(files).await.unwrap().is_empty());
}

pub async fn apps_with_equal_content_do_not_deadlock(t: Arc<Fixture>) {
    let results = at_once(&t, |t, writer| async move {
        let app: AppName = format!("app{writer}").parse().unwrap();
        t.catalog.app_create(&app, PlanName::Standard, "ann").await.unwrap();
        // The same contents under names that put them in opposite orders.
        for round in 0..CHANGES {
            let value = |number: i64| format!("{round} {}", if writer % 2 == 0 { number } else { 7 - number });
            let puts = (0..8).map(|number| secret(&format!("S{number}"), &value(number)));
            t.catalog.change(&app, input(change(puts))).await?;
        }
        Ok::<_, CatalogError>(())
    })
    .await;
    for result in results {
        result.unwrap();
    }
    assert_eq!(t.count("contents").await, 8 * CHANGES * WRITERS);
}

pub async fn writers_that_wait_for_one_app_do_not_block_others(t: Arc<Fixture>) {
    let other: AppName = "other".parse().unwrap();
    t.catalog.app_create(&other, PlanName::Standard, "ann").await.unwrap();
    // As another server does in the middle of a change.
    let lock = |how| {
        let sql = format!("pg_advisory_{how}(hashtextextended('milepost app shop', 0))");
        format!("SELECT CAST(length(CAST({sql} AS TEXT)) AS BIGINT)")
    };
    t.number(&lock("lock")).await;
    let waiting: Vec<_> = (0..40)
        .map(|writer| {
            let t = Arc::clone(&t);
            tokio::spawn(async move { t.catalog.change(&t.app, input(change([config("a", writer)]))).await })
        })
        .collect();
    let locked =
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
    eventually(Duration::from_secs(30), || async { t.number(locked).await > 0 }).await;
    t.catalog.change(&other, input(change([config("a", 1)]))).await.unwrap();
    assert_eq!(t.catalog.app_version_list(&other, ALL).await.unwrap().items.len(), 1);
    assert!(waiting.iter().all(|task| !task.is_finished()));
    t.number(&lock("unlock")).await;
    for task in waiting {
        assert!(task.await.unwrap().unwrap().changed);
    }
    assert_eq!(t.numbers(UnitKind::Config, "config").await, (1..=40).rev().collect::<Vec<_>>());
}
