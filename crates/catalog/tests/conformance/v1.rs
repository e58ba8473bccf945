//! Identifiers of the v1 API.

use milepost_catalog::{Accept, CatalogError, V1Holder, V1Kept};
use milepost_model::{AliasName, Code, Selector, UnitKind, UnitName};
use serde_json::json;

use crate::common::*;

const FUNCTION: UnitKind = UnitKind::Function;

fn hello() -> UnitName {
    "hello".parse().unwrap()
}

async fn publish(t: &Fixture) -> (i64, i64) {
    t.clock.advance_ms(1000);
    let made = t.catalog.v1_publish(&t.app, "vic", hello(), String::new()).await.unwrap();
    (made.number, made.version)
}

async fn numbers(t: &Fixture) -> Vec<i64> {
    t.catalog.v1_versions(&t.app, hello()).await.unwrap().iter().map(|version| version.number).collect()
}

async fn functions_and_environments_get_an_id_once(t: &Fixture) {
    t.deploy("hello", "one").await;
    let first = t.catalog.v1_units(&t.app, FUNCTION).await.unwrap().remove(0);
    assert_eq!((first.name.as_str(), first.last_number, first.id.len()), ("hello", 0, 36));
    let named = t.catalog.v1_unit_named(&t.app, key(FUNCTION, "hello")).await.unwrap();
    assert_eq!(named, first);
    assert_eq!(t.catalog.v1_unit(&t.app, first.id.clone()).await.unwrap().unwrap(), first);
    let runtime = t.catalog.v1_unit_named(&t.app, key(UnitKind::Environment, "python")).await.unwrap();
    assert_eq!(t.catalog.v1_units(&t.app, UnitKind::Environment).await.unwrap(), [runtime]);
    assert_eq!(t.catalog.v1_unit(&t.app, "x".into()).await.unwrap(), None);

    let facts = json!({ "name": "My function", "description": "d" });
    let said = t.catalog.v1_set_facts(&t.app, key(FUNCTION, "hello"), facts.clone()).await.unwrap();
    assert_eq!((said.facts, said.updated_at), (facts, None), "what is said first is no change");
    let said = t.catalog.v1_set_facts(&t.app, key(FUNCTION, "hello"), json!({ "name": "x" })).await.unwrap();
    assert_eq!(said.updated_at, Some(t.catalog.now()));

    t.remove(FUNCTION, "hello").await.unwrap();
    assert_eq!(t.catalog.v1_unit(&t.app, first.id.clone()).await.unwrap(), None);
    t.deploy("hello", "two").await;
    let again = t.catalog.v1_unit_named(&t.app, key(FUNCTION, "hello")).await.unwrap();
    assert_ne!(again.id, first.id, "to v1 it is another function");
}

async fn published_numbers_start_at_one_and_are_never_reused(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.deploy("hello", "two").await;
    t.deploy("hello", "three").await;
    assert_eq!(publish(t).await, (1, 3));
    t.deploy("hello", "four").await;
    assert_eq!(publish(t).await, (2, 4));
    t.delete(FUNCTION, "hello", "4").await.unwrap();
    assert_eq!(numbers(t).await, [1]);
    t.deploy("hello", "five").await;
    assert_eq!(publish(t).await, (3, 5));
    assert_eq!(numbers(t).await, [1, 3]);
    assert_eq!(t.catalog.v1_unit_named(&t.app, key(FUNCTION, "hello")).await.unwrap().last_number, 3);
}

async fn publishing_the_same_code_again_shares_its_content(t: &Fixture) {
    t.deploy("hello", "one").await;
    assert_eq!(publish(t).await, (1, 1));
    let before = (t.count("blobs").await, t.count("contents").await);
    assert_eq!(publish(t).await, (2, 2));
    assert_eq!((t.count("blobs").await, t.count("contents").await), before);
    let digest = async |number: &str| t.version(FUNCTION, "hello", number).await.unwrap().digest;
    assert_eq!(digest("1").await, digest("2").await);
    assert_eq!(t.objects("live").await["function hello"], 2);
}

async fn a_published_version_is_found_by_number_and_id(t: &Fixture) {
    t.deploy("hello", "one").await;
    let made = t.catalog.v1_publish(&t.app, "vic", hello(), "first".into()).await.unwrap();
    assert_eq!((made.description.as_str(), made.updated_at), ("first", None));
    for name in ["1", &made.id] {
        let found = t.catalog.v1_version(&t.app, hello(), name.to_owned()).await.unwrap().unwrap();
        assert_eq!(found, made);
    }
    assert_eq!(t.catalog.v1_version_of(&t.app, hello(), 1).await.unwrap().unwrap(), made);
    assert_eq!(t.catalog.v1_version_of(&t.app, hello(), 9).await.unwrap(), None);
    assert_eq!(t.catalog.v1_version(&t.app, hello(), "0".into()).await.unwrap(), None);
    t.clock.advance_ms(5);
    let edited = t.catalog.v1_describe(&t.app, "vic", hello(), "1".into(), "better".into()).await.unwrap();
    assert_eq!((edited.description.as_str(), edited.updated_at), ("better", Some(t.catalog.now())));
    assert_eq!(t.version(FUNCTION, "hello", "1").await.unwrap().description, "better");
    let missing = t.catalog.v1_describe(&t.app, "vic", hello(), "2".into(), String::new()).await;
    assert_eq!(refused(missing).code, Code::VersionNotFound);
}

async fn v1_executions_are_counted_on_the_function_or_version(t: &Fixture) {
    t.deploy("hello", "one").await;
    publish(t).await;
    for version in ["latest", "latest", "1"] {
        let mut accept = asked(new_execution("hello", version));
        accept.cause = milepost_model::execution::Cause::V1;
        t.catalog.execution_accept(&t.app, accept).await.unwrap();
    }
    t.accept("hello", "latest").await;
    assert_eq!(t.catalog.v1_unit_named(&t.app, key(FUNCTION, "hello")).await.unwrap().executions, 2);
    assert_eq!(t.catalog.v1_versions(&t.app, hello()).await.unwrap()[0].executions, 1);
}

async fn executions_of_jobs_and_webhooks_are_counted_too(t: &Fixture) {
    t.deploy("hello", "one").await;
    publish(t).await;
    t.alias("hello", "stable", "1").await;
    t.deploy("hello", "two").await;
    let newest: AliasName = "newest".parse().unwrap();
    let target = (hello(), Selector::Latest);
    t.catalog.v1_alias_create(&t.app, "vic", newest, target, String::new()).await.unwrap();
    for version in ["latest", "1", "@stable", "@newest"] {
        t.job(new_job("hello", version, "* * * * *")).await;
    }
    t.clock.advance_ms(60_000);
    assert_eq!(t.catalog.fire_due(100).await.unwrap().executions, 4);
    t.clock.advance_ms(60_000);
    assert_eq!(t.catalog.fire_due(100).await.unwrap().executions, 4);
    let counts = async || {
        let unit = t.catalog.v1_unit_named(&t.app, key(FUNCTION, "hello")).await.unwrap();
        (unit.executions, t.catalog.v1_versions(&t.app, hello()).await.unwrap()[0].executions)
    };
    assert_eq!(counts().await, (4, 4), "version 0 is the newest code, by whichever name");
    for version in ["@stable", "@newest", "latest"] {
        let cause = milepost_model::execution::Cause::webhook("w");
        let accept = Accept { cause, ..asked(new_execution("hello", version)) };
        t.catalog.execution_accept(&t.app, accept).await.unwrap();
    }
    assert_eq!(counts().await, (6, 5));
    // A firing without a version counts for nothing.
    t.number("DELETE FROM aliases WHERE name = 'stable' RETURNING version_id").await;
    t.clock.advance_ms(60_000);
    assert_eq!(t.catalog.fire_due(100).await.unwrap().executions, 4);
    assert_eq!(counts().await, (8, 6));
}

async fn one_alias_name_is_one_alias_in_the_whole_app(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.deploy("other", "one").await;
    publish(t).await;
    let name: AliasName = "prod".parse().unwrap();
    let create = async |function: &str, version: i64| {
        let target = (function.parse().unwrap(), Selector::Number(version));
        t.catalog.v1_alias_create(&t.app, "vic", name.clone(), target, "d".into()).await
    };
    assert_eq!(refused(create("hello", 9).await).code, Code::VersionNotFound);
    let made = create("hello", 1).await.unwrap();
    assert_eq!((made.function.as_str(), made.version, made.number), ("hello", 1, Some(1)));
    assert_eq!((made.description.as_str(), made.updated_at, made.id.len()), ("d", None, 36));
    assert_eq!(refused(create("other", 1).await).code, Code::AliasExists);
    assert_eq!(t.catalog.v1_alias_get(&t.app, name.clone()).await.unwrap(), made);

    let target = Some(("other".parse().unwrap(), Selector::Latest));
    let moved = t.catalog.v1_alias_update(&t.app, "vic", name.clone(), target, None).await.unwrap();
    assert_eq!((moved.function.as_str(), moved.number, moved.description.as_str()), ("other", None, "d"));
    assert_eq!(
        (moved.id.clone(), moved.created_at, moved.updated_at),
        (made.id, made.created_at, Some(t.catalog.now()))
    );
    assert_eq!(t.count("aliases").await, 1);

    // An alias that others made under the same name stays theirs, and v1 sees its own.
    t.alias("hello", "prod", "1").await;
    assert_eq!(t.catalog.v1_alias_list(&t.app).await.unwrap(), [moved]);
    t.catalog.v1_alias_delete(&t.app, "vic", name.clone()).await.unwrap();
    assert_eq!(t.catalog.v1_alias_get(&t.app, name.clone()).await.unwrap().function.as_str(), "hello");
    t.catalog.v1_alias_delete(&t.app, "vic", name.clone()).await.unwrap();
    assert_eq!(refused(t.catalog.v1_alias_delete(&t.app, "vic", name).await).code, Code::AliasNotFound);
}

async fn an_alias_of_version_0_follows_the_newest_code(t: &Fixture) {
    t.deploy("hello", "one").await;
    publish(t).await;
    let name: AliasName = "newest".parse().unwrap();
    let target = (hello(), Selector::Latest);
    let made = t.catalog.v1_alias_create(&t.app, "vic", name.clone(), target, String::new()).await.unwrap();
    assert!(made.follows && made.version == 1);
    t.deploy("hello", "two").await;
    let moved = t.catalog.v1_alias_get(&t.app, name.clone()).await.unwrap();
    assert!(moved.follows && moved.version == 2, "{moved:?}");
    // It does not keep the version that used to be the newest.
    t.catalog.v1_version_delete(&t.app, "vic", hello(), "1".into()).await.unwrap();
    publish(t).await;
    let target = Some((hello(), Selector::Number(2)));
    let fixed = t.catalog.v1_alias_update(&t.app, "vic", name.clone(), target, None).await.unwrap();
    assert!(!fixed.follows && fixed.number == Some(2), "{fixed:?}");
    t.deploy("hello", "three").await;
    assert_eq!(t.catalog.v1_alias_get(&t.app, name).await.unwrap().version, 2);
}

async fn deleting_a_version_keeps_the_newest_code(t: &Fixture) {
    t.deploy("hello", "one").await;
    publish(t).await;
    let digest = t.version(FUNCTION, "hello", "latest").await.unwrap().digest;
    t.catalog.v1_version_delete(&t.app, "vic", hello(), "1".into()).await.unwrap();
    assert_eq!(numbers(t).await, [0i64; 0]);
    assert_eq!(t.version(FUNCTION, "hello", "latest").await.unwrap().digest, digest);
    assert_eq!(publish(t).await.0, 2, "a number is not given again");
    let unit = t.catalog.v1_unit_named(&t.app, key(FUNCTION, "hello")).await.unwrap();
    assert_eq!((unit.latest, unit.last_number), (2, 2));
    assert_eq!(
        t.catalog.v1_numbers(&t.app, None).await.unwrap().len(),
        2,
        "executed versions are still listed by number"
    );

    // The package version is deleted with the last function version on it.
    t.deploy("hello", "two").await;
    let packages = || t.catalog.version_list(&t.app, key(UnitKind::Package, "hello"), ALL);
    assert_eq!(packages().await.unwrap().items.len(), 2);
    t.catalog.v1_version_delete(&t.app, "vic", hello(), "2".into()).await.unwrap();
    assert_eq!(packages().await.unwrap().items.len(), 1);
}

async fn deleting_a_function_or_version_in_use_is_rejected(t: &Fixture) {
    t.deploy("hello", "one").await;
    publish(t).await;
    let delete_version = || t.catalog.v1_version_delete(&t.app, "vic", hello(), "1".into());
    let delete_function = || t.catalog.v1_function_delete(&t.app, "vic", hello());
    let held = |outcome: Result<(), CatalogError>, kept: V1Kept, by: V1Holder| {
        let Err(CatalogError::Held(held)) = outcome else { panic!("{outcome:?}") };
        assert_eq!((held.kept, held.by.iter().map(|(by, _)| *by).collect::<Vec<_>>()), (kept, vec![by]));
    };
    use V1Holder::{Alias, Execution, Job, Webhook};
    use V1Kept::{Function, FunctionVersion};
    let job = t.job(new_job("hello", "1", "0 3 * * *")).await;
    held(delete_version().await, FunctionVersion, Job);
    held(delete_function().await, Function, Job);
    t.catalog.job_delete(&t.app, "joe", job.id).await.unwrap();
    let webhook = t.webhook("hello", "1").await.unwrap();
    held(delete_version().await, FunctionVersion, Webhook);
    held(delete_function().await, Function, Webhook);
    t.catalog.webhook_delete(&t.app, "wes", webhook.id).await.unwrap();
    t.alias("hello", "prod", "1").await;
    held(delete_version().await, FunctionVersion, Alias);
    held(delete_function().await, Function, Alias);
    t.catalog.alias_delete(&t.app, "al", hello(), "prod".parse().unwrap()).await.unwrap();
    t.accept("hello", "1").await;
    held(delete_version().await, FunctionVersion, Execution);
    delete_function().await.unwrap();
    assert!(t.catalog.v1_units(&t.app, FUNCTION).await.unwrap().is_empty());
}

on_both_engines!(
    functions_and_environments_get_an_id_once,
    published_numbers_start_at_one_and_are_never_reused,
    publishing_the_same_code_again_shares_its_content,
    a_published_version_is_found_by_number_and_id,
    v1_executions_are_counted_on_the_function_or_version,
    executions_of_jobs_and_webhooks_are_counted_too,
    one_alias_name_is_one_alias_in_the_whole_app,
    an_alias_of_version_0_follows_the_newest_code,
    deleting_a_version_keeps_the_newest_code,
    deleting_a_function_or_version_in_use_is_rejected,
);
