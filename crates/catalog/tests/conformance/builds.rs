//! Packages with a source: where their result comes from, and how long it is kept.

use milepost_catalog::{NewBuild, Page};
use milepost_model::build::{self, Build, BuildState};
use milepost_model::change::{Change, UnitAction};
use milepost_model::plan::Reason;
use milepost_model::spec::EnvironmentSpec;
use milepost_model::unit_put::Put;
use milepost_model::{Code, Digest, Next, UnitKind};
use serde_json::json;

use crate::common::*;
use crate::facts::RefusalFacts;

const DAY: i64 = 24 * 3_600_000;
const GRACE: i64 = 1000;

fn key_of(source: Digest, command: &str) -> Digest {
    build::key(source, &EnvironmentSpec::built_in("python").unwrap(), command)
}

async fn new_build(t: &Fixture, source: Digest, command: &str, result: Result<Digest, String>) -> NewBuild {
    NewBuild {
        id: t.catalog.build_id(&t.app).await.unwrap(),
        key: key_of(source, command),
        package: "code".parse().unwrap(),
        source,
        command: command.to_owned(),
        result,
        log: Some(t.tree("log").await),
        started_at: t.catalog.now(),
        duration_ms: 1200,
        started_by: "bea".to_owned(),
    }
}

/// Builds `source` into a tree that holds `text`.
async fn built(t: &Fixture, source: Digest, command: &str, text: &str) -> Build {
    let tree = t.tree(text).await;
    t.clock.advance_ms(1000);
    t.catalog.build_record(&t.app, new_build(t, source, command, Ok(tree)).await).await.unwrap()
}

async fn package_spec(t: &Fixture) -> serde_json::Value {
    t.version(UnitKind::Package, "code", "latest").await.unwrap().spec
}

async fn a_build_is_found_by_its_key_and_listed(t: &Fixture) {
    let source = t.tree("source").await;
    assert_eq!(t.catalog.build_find(&t.app, key_of(source, "make")).await.unwrap(), None);
    let first = built(t, source, "make", "one").await;
    assert_eq!((first.state, first.deployment), (BuildState::Succeeded, Some(tree_digests("one").1)));
    let second = built(t, source, "make", "two").await;
    assert_eq!(t.catalog.build_find(&t.app, key_of(source, "make")).await.unwrap(), Some(second.clone()));
    assert_eq!(t.catalog.build_find(&t.app, key_of(source, "other")).await.unwrap(), None);
    assert_eq!(t.catalog.build_get(&t.app, first.id.clone()).await.unwrap(), first);
    assert_eq!(refused(t.catalog.build_get(&t.app, "nosuch".into()).await).code, Code::BuildNotFound);

    let page = t.catalog.build_list(&t.app, Page { below: None, limit: 1 }).await.unwrap();
    assert_eq!(page.items, [second]);
    let rest = t.catalog.build_list(&t.app, Page { below: page.next, limit: 1 }).await.unwrap();
    assert_eq!((rest.items, rest.next), (vec![first], None));
}

async fn a_failed_build_is_kept_but_has_no_result(t: &Fixture) {
    let source = t.tree("source").await;
    let failure = new_build(t, source, "make", Err("`make` ended with 2".into())).await;
    let failed = t.catalog.build_record(&t.app, failure).await.unwrap();
    assert_eq!((failed.state, failed.deployment), (BuildState::Failed, None));
    let read = t.catalog.build_get(&t.app, failed.id.clone()).await.unwrap();
    assert_eq!((read.reason.as_str(), read.log), ("`make` ended with 2", Some(tree_digests("log").1)));
    assert_eq!(t.catalog.build_find(&t.app, key_of(source, "make")).await.unwrap(), None);
    assert_eq!(t.refuse([source_package("code", source, "make")]).await.code, Code::BuildNeeded);
}

async fn a_build_is_recorded_only_with_its_blobs(t: &Fixture) {
    let (source, log) = (t.tree("source").await, t.tree("log").await);
    let (file, never) = (Digest::of(b"only a file"), Digest::of(b"never sent"));
    t.register("p", vec![blob(file, None)]).await.unwrap();
    for wrong in [never, file] {
        let new = NewBuild { log: Some(log), ..new_build(t, source, "", Ok(wrong)).await };
        let refusal = refused(t.catalog.build_record(&t.app, new).await);
        assert_eq!((refusal.code, refusal.lines()), (Code::MissingBlobs, vec![wrong.to_string()]));
    }
    let new = NewBuild { log: Some(never), ..new_build(t, source, "", Err("no".into())).await };
    assert_eq!(refused(t.catalog.build_record(&t.app, new).await).code, Code::MissingBlobs);
    assert_eq!(t.count("builds").await, 0);
}

async fn a_build_id_that_was_taken_is_drawn_again(t: &Fixture) {
    let source = t.tree("source").await;
    let tree = t.tree("one").await;
    let new = new_build(t, source, "", Ok(tree)).await;
    let one = t.catalog.build_record(&t.app, new.clone()).await.unwrap();
    let two = t.catalog.build_record(&t.app, new).await.unwrap();
    assert_ne!(one.id, two.id);
    assert_eq!(t.count("builds").await, 2);
}

async fn a_package_gets_the_result_of_its_build(t: &Fixture) {
    let source = t.tree("source").await;
    let build = built(t, source, "make", "one").await;
    let outcome = t.put([source_package("code", source, "make"), function_on("hello", "code")]).await;
    assert!(outcome.changed && outcome.builds.is_empty() && outcome.notices.is_empty(), "{outcome:?}");
    let spec = package_spec(t).await;
    assert_eq!((&spec["source"], &spec["deployment"]), (&json!(source), &json!(build.deployment)));
    assert_eq!(spec["buildLog"], json!(build.log));
}

async fn an_unchanged_package_keeps_its_result(t: &Fixture) {
    let source = t.tree("source").await;
    let build = built(t, source, "make", "one").await;
    t.put([source_package("code", source, "make")]).await;
    // Another build of the same source with another result does not change what was deployed.
    built(t, source, "make", "two").await;
    let again = t.put([source_package("code", source, "make")]).await;
    assert!(!again.changed);
    let forced = t.put([source_package("code", source, "make").forced()]).await;
    assert_eq!(forced.versions[0].reasons, [Reason::Asked]);
    let spec = package_spec(t).await;
    assert_eq!((&spec["deployment"], &spec["buildLog"]), (&json!(build.deployment), &json!(build.log)));
}

/// A package of the environment `own` with a variable.
fn in_own(source: Digest, builder: &str, value: &str) -> [Put; 2] {
    let environment = EnvironmentSpec {
        builder: builder.to_owned(),
        variables: [("COLOR".to_owned(), value.to_owned())].into(),
        ..EnvironmentSpec::built_in("python").unwrap()
    };
    let mut package = source_package("code", source, "make");
    if let milepost_model::UnitPut::Package(package) = &mut package.unit {
        package.environment = Some(reference("own", "latest"));
    }
    [put("own", milepost_model::UnitPut::Environment(environment)), package]
}

async fn a_changed_variable_of_the_environment_needs_no_build(t: &Fixture) {
    let source = t.tree("source").await;
    let build = built(t, source, "make", "one").await;
    t.put(in_own(source, "", "red")).await;
    // Not even after the result of the build was swept, because the package has it.
    t.clock.advance_ms(31 * DAY);
    assert_eq!(t.catalog.sweep(GRACE).await.unwrap().builds, 1);
    let outcome = t.put(in_own(source, "", "blue")).await;
    let actions: Vec<_> = outcome.versions.iter().map(|unit| (unit.kind, unit.action)).collect();
    assert_eq!(actions, [(UnitKind::Environment, UnitAction::Updated), (UnitKind::Package, UnitAction::Updated)]);
    assert_eq!(package_spec(t).await["deployment"], json!(build.deployment));
    // What a build gets of the environment still matters.
    assert_eq!(t.refuse(in_own(source, "other", "blue")).await.code, Code::BuildNeeded);
}

async fn a_build_of_an_earlier_version_is_found_by_its_former_key(t: &Fixture) {
    let source = t.tree("source").await;
    let tree = t.tree("one").await;
    let [environment, package] = in_own(source, "", "red");
    let milepost_model::UnitPut::Environment(spec) = &environment.unit else { unreachable!() };
    let former = build::former_key(source, spec, "make");
    assert_ne!(former, build::key(source, spec, "make"));
    let new = NewBuild { key: former, ..new_build(t, source, "make", Ok(tree)).await };
    t.catalog.build_record(&t.app, new).await.unwrap();
    t.put([environment, package]).await;
    assert_eq!(package_spec(t).await["deployment"], json!(tree));
}

async fn an_uploaded_result_is_not_replaced(t: &Fixture) {
    let (source, given) = (t.tree("source").await, t.tree("given").await);
    built(t, source, "make", "one").await;
    let mut put = source_package("code", source, "make");
    if let milepost_model::UnitPut::Package(package) = &mut put.unit {
        package.deployment = Some(given);
    }
    t.put([put]).await;
    assert_eq!(package_spec(t).await["deployment"], json!(given));
}

async fn all_packages_that_need_a_build_are_listed_and_nothing_is_written(t: &Fixture) {
    let (one, two) = (t.tree("source one").await, t.tree("source two").await);
    t.put([config("a", 1)]).await;
    let before = t.rows().await;
    let puts =
        [config("a", 2), source_package("p1", one, "make"), source_package("p2", two, ""), function_on("f", "p1")];
    let refusal = t.refuse(puts.clone()).await;
    assert_eq!(refusal.code, Code::BuildNeeded);
    assert!(refusal.message.contains("`p1`, `p2`"), "{}", refusal.message);
    assert_eq!(refusal.lines().len(), 2);
    assert!(refusal.lines()[0].starts_with("package p1: "), "{:?}", refusal.lines());
    assert_eq!(refusal.next, [Next::Build]);
    assert_eq!(t.rows().await, before);

    // An error that no build can fix comes first.
    let broken = puts.into_iter().chain([function_on("g", "nowhere")]);
    assert_eq!(t.refuse(broken).await.code, Code::UnitNotFound);
}

async fn a_dry_run_lists_needed_builds_and_continues(t: &Fixture) {
    let source = t.tree("source").await;
    built(t, source, "make", "one").await;
    t.put([source_package("code", source, "make"), function_on("hello", "code")]).await;
    let before = t.rows().await;
    let other = tree_digests("never sent").1;
    let puts = [source_package("code", other, "make"), function_on("hello", "code"), static_item("/s", other)];
    let planned = t.send(Change { dry_run: true, ..change(puts.clone()) }).await.unwrap();
    assert_eq!(planned.builds, ["code".parse().unwrap()]);
    let actions: Vec<_> = planned.versions.iter().map(|unit| (unit.kind, unit.action)).collect();
    let expected = [
        (UnitKind::Package, UnitAction::Updated),
        (UnitKind::Function, UnitAction::Updated),
        (UnitKind::Static, UnitAction::Created),
    ];
    assert_eq!(actions, expected);
    assert_eq!(t.rows().await, before);

    // A real change rejects missing trees.
    let refusal = t.refuse(puts).await;
    assert_eq!((refusal.code, refusal.lines()), (Code::MissingBlobs, vec![other.to_string()]));
}

async fn a_build_keeps_its_blobs_for_thirty_days_after_its_last_use(t: &Fixture) {
    let source = t.tree("source").await;
    let build = built(t, source, "make", "one").await;
    let held = vec![build.deployment.unwrap(), tree_digests("one").0, build.log.unwrap()];
    t.clock.advance_ms(29 * DAY);
    assert_eq!(t.catalog.sweep(GRACE).await.unwrap().builds, 0);
    assert_eq!(t.catalog.blob_locate(held.clone()).await.unwrap().len(), 3);
    let why = [format!("app shop: build {} of package code", build.id)];
    assert_eq!(t.catalog.storage_why(held[1]).await.unwrap(), why);
    assert_eq!(t.catalog.storage_why(held[2]).await.unwrap(), why);

    // A lookup counts as a use.
    assert!(t.catalog.build_find(&t.app, key_of(source, "make")).await.unwrap().is_some());
    t.clock.advance_ms(29 * DAY);
    assert_eq!(t.catalog.sweep(GRACE).await.unwrap().builds, 0);
    t.clock.advance_ms(2 * DAY);
    let report = t.catalog.sweep(GRACE).await.unwrap();
    assert_eq!((report.builds, report.blobs), (1, 4), "the tree, its file, and the log, which is a tree here");
    assert_eq!(t.catalog.build_find(&t.app, key_of(source, "make")).await.unwrap(), None);
}

async fn a_change_counts_as_a_use_of_its_build(t: &Fixture) {
    let source = t.tree("source").await;
    let build = built(t, source, "make", "one").await;
    t.clock.advance_ms(29 * DAY);
    let source = t.tree("source").await;
    t.put([source_package("code", source, "make")]).await;
    t.clock.advance_ms(2 * DAY);
    assert_eq!(t.catalog.sweep(GRACE).await.unwrap().builds, 0);
    t.clock.advance_ms(29 * DAY);
    assert_eq!(t.catalog.sweep(GRACE).await.unwrap().builds, 1);
    // The version keeps the blobs of the row, including its log.
    let held = vec![build.deployment.unwrap(), build.log.unwrap()];
    assert_eq!(t.catalog.blob_locate(held).await.unwrap().len(), 2);
}

async fn a_failed_build_is_swept_thirty_days_after_it_began(t: &Fixture) {
    let source = t.tree("source").await;
    let failed = new_build(t, source, "make", Err("no".into())).await;
    t.catalog.build_record(&t.app, failed).await.unwrap();
    t.clock.advance_ms(30 * DAY);
    assert_eq!(t.catalog.sweep(GRACE).await.unwrap().builds, 0);
    t.clock.advance_ms(1);
    assert_eq!(t.catalog.sweep(GRACE).await.unwrap().builds, 1);
    assert_eq!((t.count("builds").await, t.count("blobs").await), (0, 0));
}

async fn builds_belong_to_one_app_and_are_deleted_with_it(t: &Fixture) {
    let source = t.tree("source").await;
    built(t, source, "make", "one").await;
    let other: milepost_model::AppName = "other".parse().unwrap();
    t.catalog.app_create(&other, milepost_model::PlanName::Free, "ann").await.unwrap();
    assert_eq!(t.catalog.build_find(&other, key_of(source, "make")).await.unwrap(), None);
    t.catalog.app_delete(&t.app, "ann").await.unwrap();
    t.clock.advance_ms(2 * GRACE);
    t.catalog.sweep(GRACE).await.unwrap();
    assert_eq!((t.count("builds").await, t.count("blobs").await), (0, 0));
}

on_both_engines!(
    a_build_is_found_by_its_key_and_listed,
    a_failed_build_is_kept_but_has_no_result,
    a_build_is_recorded_only_with_its_blobs,
    a_build_id_that_was_taken_is_drawn_again,
    a_package_gets_the_result_of_its_build,
    an_unchanged_package_keeps_its_result,
    a_changed_variable_of_the_environment_needs_no_build,
    a_build_of_an_earlier_version_is_found_by_its_former_key,
    an_uploaded_result_is_not_replaced,
    all_packages_that_need_a_build_are_listed_and_nothing_is_written,
    a_dry_run_lists_needed_builds_and_continues,
    a_build_keeps_its_blobs_for_thirty_days_after_its_last_use,
    a_change_counts_as_a_use_of_its_build,
    a_failed_build_is_swept_thirty_days_after_it_began,
    builds_belong_to_one_app_and_are_deleted_with_it,
);
