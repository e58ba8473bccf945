//! Changes that are sent twice, based on an old state, or dry runs.

use milepost_catalog::ChangeInput;
use milepost_model::change::Change;
use milepost_model::refusal::View;
use milepost_model::{ChangeOutcome, Code, Next, Warning};

use crate::common::*;

fn keyed(change: Change, idempotency_key: &str) -> ChangeInput {
    ChangeInput { idempotency_key: Some(idempotency_key.to_owned()), ..input(change) }
}

async fn a_change_sent_twice_with_one_key_is_applied_once(t: &Fixture) {
    let put = || change([config("a", 1).forced(), secret("TOKEN", "x")]);
    let first = t.catalog.change(&t.app, keyed(put(), "k")).await.unwrap();
    let before = t.rows().await;
    t.clock.advance_ms(5000);
    let again = t.catalog.change(&t.app, keyed(put(), "k")).await.unwrap();
    assert_eq!(again, first);
    assert_eq!(t.rows().await, before);
    let other = t.catalog.change(&t.app, keyed(put(), "other")).await.unwrap();
    assert_ne!(other.app_version, first.app_version);
}

async fn a_key_is_rejected_for_another_change(t: &Fixture) {
    t.catalog.change(&t.app, keyed(change([secret("TOKEN", "x")]), "k")).await.unwrap();
    let refusal = refused(t.catalog.change(&t.app, keyed(change([secret("TOKEN", "y")]), "k")).await);
    assert_eq!(refusal.code, Code::IdempotencyMismatch);
}

async fn a_rejected_change_does_not_use_up_its_key(t: &Fixture) {
    let put = || change([function_on("hello", "hello")]);
    assert_eq!(refused(t.catalog.change(&t.app, keyed(put(), "k")).await).code, Code::UnitNotFound);
    let tree = t.tree("one").await;
    t.put([package("hello", tree)]).await;
    assert!(t.catalog.change(&t.app, keyed(put(), "k")).await.unwrap().changed);
}

async fn a_key_is_forgotten_after_a_day(t: &Fixture) {
    let put = || change([config("a", 1).forced()]);
    let first = t.catalog.change(&t.app, keyed(put(), "k")).await.unwrap();
    t.clock.advance_ms(25 * 3_600_000);
    t.catalog.sweep(1000).await.unwrap();
    let again = t.catalog.change(&t.app, keyed(put(), "k")).await.unwrap();
    assert_ne!(again.app_version, first.app_version);
}

async fn a_change_on_a_stale_head_is_rejected_and_names_the_newer_change(t: &Fixture) {
    let first = t.put([config("a", 1)]).await.app_version.unwrap();
    let expecting = |uid: &str, value: i64| Change { expect: Some(uid.to_owned()), ..change([config("a", value)]) };
    let second = t.send(expecting(&first, 2)).await.unwrap().app_version.unwrap();
    let refusal = refused(t.send(expecting(&first, 3)).await);
    assert_eq!(refusal.code, Code::HeadMoved);
    assert!(refusal.message.contains("by ann") && refusal.message.contains(&second), "{}", refusal.message);
    let differences = View::Differences { from: first, to: second.clone() };
    assert_eq!(refusal.next, [Next::See { view: differences }, Next::Expect { app_version: second.clone() }]);
    let unknown = refused(t.send(expecting("nosuch", 3)).await);
    assert_eq!(unknown.code, Code::AppVersionNotFound);
    assert_eq!(unknown.next, [Next::See { view: View::AppVersions }]);
    assert!(unknown.message.contains(&second), "{unknown}");
}

async fn an_empty_app_has_no_state_to_expect(t: &Fixture) {
    let expecting = Change { expect: Some("bcdfgh".to_owned()), ..change([config("a", 1)]) };
    assert_eq!(refused(t.send(expecting).await).code, Code::HeadMoved);
}

/// Removes what only the real run has: the ids of what it made.
fn without_ids(mut outcome: ChangeOutcome) -> ChangeOutcome {
    outcome.dry_run = false;
    outcome.app_version = None;
    outcome.versions.iter_mut().for_each(|unit| unit.uid = None);
    outcome.release = None;
    outcome
}

async fn a_dry_run_writes_nothing_and_reports_what_the_real_run_does(t: &Fixture) {
    t.set_plan(milepost_model::PlanName::Free).await;
    for value in 1..=3 {
        t.put([config("a", value)]).await;
    }
    t.tree("one").await;
    let (_, root) = tree_digests("one");
    let wanted = change([config("a", 9), package("hello", root), function_on("hello", "hello").labelled("v1")]);
    let before = (t.rows().await, t.catalog.app_get(&t.app).await.unwrap().head, t.active().await);
    let dry = ChangeInput { idempotency_key: Some("k".into()), ..input(Change { dry_run: true, ..wanted.clone() }) };
    let planned = t.catalog.change(&t.app, dry).await.unwrap();
    assert!(planned.dry_run && planned.changed);
    assert!(planned.app_version.is_none() && planned.release.is_none(), "a dry run returns no ids");
    assert_eq!((t.rows().await, t.catalog.app_get(&t.app).await.unwrap().head, t.active().await), before);
    let real = t.catalog.change(&t.app, input(wanted)).await.unwrap();
    assert!(!real.dry_run);
    assert_eq!(planned.expired.len(), 1);
    assert_eq!(without_ids(planned), without_ids(real));
}

async fn secrets_are_stored_sealed_and_equal_values_are_recognised(t: &Fixture) {
    t.put([secret("TOKEN", "tiger")]).await;
    let sealed =
        t.catalog.secret_sealed(&t.app, "TOKEN".parse().unwrap(), milepost_model::Selector::Latest).await.unwrap();
    assert_eq!(sealed.unwrap(), b"tiger".map(|byte| byte ^ 0x55));
    assert!(!t.put([secret("TOKEN", "tiger")]).await.changed);
    let changed = t.put([secret("TOKEN", "lion")]).await;
    assert_eq!(changed.versions[0].reasons, [milepost_model::plan::Reason::Secret]);
    let version = t.version(milepost_model::UnitKind::Secret, "TOKEN", "1").await.unwrap();
    assert_eq!(version.spec, serde_json::json!({}), "fingerprints are not shown");
    let events = t.catalog.event_list(&t.app, ALL).await.unwrap().items;
    let shown = events.iter().filter(|event| event.subject == "secret TOKEN").map(|event| format!("{event:?}"));
    assert!(shown.clone().count() == 2 && shown.into_iter().all(|event| !event.contains("digest")), "{events:?}");
    let dry = input(Change { dry_run: true, ..change([secret("TOKEN", "bear")]) });
    let planned = t.catalog.change(&t.app, dry).await.unwrap();
    assert_eq!((planned.versions[0].number, planned.versions[0].digest), (Some(3), None));
    assert_eq!(t.number("SELECT count(*) FROM contents WHERE body LIKE '%tiger%'").await, 0);
}

async fn a_missing_secret_is_a_warning(t: &Fixture) {
    t.deploy("hello", "one").await;
    let secrets = ["TOKEN".parse().unwrap()].into();
    let wants = milepost_model::unit_put::FunctionPut { merge: true, secrets, ..Default::default() };
    let outcome = t.put([function_with("hello", wants.clone())]).await;
    let (function, secret_name) = ("hello".to_owned(), "TOKEN".to_owned());
    assert_eq!(outcome.notices, [Warning::SecretNotSet { function, secret: secret_name }]);
    assert!(t.put([secret("TOKEN", "x"), function_with("hello", wants).forced()]).await.notices.is_empty());
}

on_both_engines!(
    a_change_sent_twice_with_one_key_is_applied_once,
    a_key_is_rejected_for_another_change,
    a_rejected_change_does_not_use_up_its_key,
    a_key_is_forgotten_after_a_day,
    a_change_on_a_stale_head_is_rejected_and_names_the_newer_change,
    an_empty_app_has_no_state_to_expect,
    a_dry_run_writes_nothing_and_reports_what_the_real_run_does,
    secrets_are_stored_sealed_and_equal_values_are_recognised,
    a_missing_secret_is_a_warning,
);
