//! Changes of deployments: ownership of units, and removal of units that a change no longer
//! declares.

use milepost_model::Next;
use milepost_model::refusal::Field;
use std::collections::BTreeMap;

use milepost_model::change::{Change, Declaration, UnitAction};
use milepost_model::refusal::OwnedUnit;
use milepost_model::unit_put::FunctionPut;
use milepost_model::{ChangeOutcome, Code, UnitKind, UnitPut, Warning};

use crate::common::facts::RefusalFacts;
use crate::common::*;

const FUNCTION: UnitKind = UnitKind::Function;

fn owned(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(unit, deployment)| ((*unit).to_owned(), (*deployment).to_owned())).collect()
}

fn with(mut change: Change, set: impl FnOnce(&mut Declaration)) -> Change {
    set(change.deployment.as_mut().unwrap());
    change
}

fn removed(outcome: &ChangeOutcome) -> Vec<String> {
    let gone = outcome.versions.iter().filter(|unit| unit.action == UnitAction::Removed);
    gone.map(|unit| format!("{} {}", unit.kind, unit.name)).collect()
}

fn wants_secret(function: &str, package: &str, secret: &str) -> milepost_model::unit_put::Put {
    let package = Some(reference(package, "latest"));
    let secrets = [secret.parse().unwrap()].into();
    function_with(function, FunctionPut { package, secrets, ..FunctionPut::default() })
}

async fn units_that_are_no_longer_declared_are_removed(t: &Fixture) {
    let tree = t.tree("one").await;
    let all = [
        package("code", tree),
        function_on("foo", "code"),
        function_on("bar", "code"),
        route("GET /foo", "foo", "latest"),
        timer("nightly", "foo", "latest"),
        static_item("/s", tree),
        config("a", 1),
    ];
    let first = t.send(declared("a", all)).await.unwrap();
    assert!(first.notices.is_empty(), "{:?}", first.notices);
    let second = t.send(declared("a", [package("code", tree), function_on("bar", "code")])).await.unwrap();
    // Dependents go before what they depend on.
    let gone = ["timer nightly", "route GET /foo", "static /s", "function foo", "config config"];
    assert_eq!((removed(&second), second.changed), (gone.map(str::to_owned).to_vec(), true));
    assert_eq!(t.present().await, ["environment python", "function bar", "package code"]);
    assert_eq!(t.objects(&first.app_version.unwrap()).await.len(), 8);
    assert_eq!(t.version(FUNCTION, "bar", "latest").await.unwrap().number, 1);
}

async fn an_empty_declaration_removes_everything_it_owns(t: &Fixture) {
    let tree = t.tree("one").await;
    let puts = [environment("mine", "3.12"), package("code", tree), function_on("foo", "code"), secret("S", "x")];
    t.send(declared("a", puts)).await.unwrap();
    let all = with(declared("a", []), |declaration| declaration.prune_secrets = true);
    let outcome = t.send(all).await.unwrap();
    assert!(outcome.notices.is_empty(), "{:?}", outcome.notices);
    // The built-in environment joined by itself and has no owner.
    assert_eq!(t.present().await, ["environment python"]);
    assert!(t.catalog.deployment_list(&t.app).await.unwrap().is_empty());
}

async fn two_deployments_never_prune_each_other(t: &Fixture) {
    let tree = t.tree("one").await;
    t.send(declared("a", [package("pa", tree), function_on("fa", "pa")])).await.unwrap();
    t.send(declared("b", [package("pb", tree), function_on("fb", "pb")])).await.unwrap();
    t.put([config("by", "hand")]).await;
    let expected = [("function fa", "a"), ("package pa", "a"), ("function fb", "b"), ("package pb", "b")];
    assert_eq!(t.owners().await, owned(&expected));
    let gone = t.send(declared("a", [])).await.unwrap();
    assert_eq!(removed(&gone), ["function fa", "package pa"]);
    assert_eq!(t.present().await, ["config", "environment python", "function fb", "package pb"]);
}

async fn units_are_listed_by_deployment_in_pages(t: &Fixture) {
    t.send(declared("a", [secret("A1", "x"), secret("A2", "x"), secret("A3", "x")])).await.unwrap();
    t.send(declared("b", [secret("A0", "x"), config("a", 1)])).await.unwrap();
    let list =
        |deployment: &str, after, limit| t.catalog.unit_list(&t.app, None, Some(deployment.to_owned()), after, limit);
    let first = list("a", None, 2).await.unwrap();
    let rest = list("a", first.next.clone(), 2).await.unwrap();
    let names: Vec<&str> = first.items.iter().chain(&rest.items).map(|unit| unit.name.as_str()).collect();
    assert_eq!((names, rest.next), (vec!["A1", "A2", "A3"], None));
    assert!(list("nobody", None, 9).await.unwrap().items.is_empty());
    let counts: Vec<_> = t.catalog.deployment_list(&t.app).await.unwrap();
    let counts: Vec<_> =
        counts.iter().map(|found| (&*found.deployment.id, &*found.deployment.name, found.units)).collect();
    assert_eq!(counts, [("a", "folder a", 3), ("b", "folder b", 2)]);
    let unit = t.catalog.unit_get(&t.app, key(UnitKind::Config, "config")).await.unwrap();
    assert_eq!(unit.deployment.unwrap().name, "folder b");
}

async fn units_of_another_deployment_are_rejected_and_all_listed(t: &Fixture) {
    t.send(declared("a", [config("a", 1), secret("S", "x")])).await.unwrap();
    let before = (t.rows().await, t.owners().await);
    let conflict = declared("b", [secret("NEW", "x"), config("a", 1), secret("S", "y")]);
    for dry_run in [true, false] {
        let refusal = refused(t.send(Change { dry_run, ..conflict.clone() }).await);
        assert_eq!(refusal.code, Code::OwnedElsewhere);
        let blockers = ["deployment folder a (a) owns secret S", "deployment folder a (a) owns config"];
        assert_eq!(refusal.lines(), blockers);
        assert!(refusal.next.contains(&Next::Give { field: Field::AllowConflicts }), "{refusal:?}");
    }
    assert_eq!((t.rows().await, t.owners().await), before);
}

async fn units_of_another_deployment_are_taken_over_when_allowed(t: &Fixture) {
    t.send(declared("a", [config("a", 1), secret("S", "x")])).await.unwrap();
    let take = with(declared("b", [secret("S", "x")]), |declaration| declaration.allow_conflicts = true);
    let outcome = t.send(take).await.unwrap();
    assert!(!outcome.changed);
    let units = vec![OwnedUnit { unit: "secret S".to_owned(), owner: "folder a (a)".to_owned() }];
    assert_eq!(outcome.notices, [Warning::TakesOver { deployment: "folder b".to_owned(), units }]);
    assert_eq!(t.owners().await, owned(&[("config", "a"), ("secret S", "b")]));
    let events = t.events().await;
    let event = events.iter().find(|event| event.kind == "unit.taken-over").unwrap();
    assert_eq!(event.subject, "secret S");
    assert_eq!(event.before.as_ref().unwrap()["deployment"]["id"], "a");
    assert_eq!(event.after.as_ref().unwrap()["deployment"]["id"], "b");
    // The first deployment may no longer remove it.
    let all = with(declared("a", []), |declaration| declaration.prune_secrets = true);
    assert_eq!(removed(&t.send(all).await.unwrap()), ["config config"]);
}

async fn units_of_no_deployment_are_taken_over_with_a_warning_if_they_differ(t: &Fixture) {
    t.put([config("a", 1), secret("SAME", "x"), secret("OTHER", "x")]).await;
    let same = t.send(declared("a", [secret("SAME", "x")])).await.unwrap();
    assert!(!same.changed && same.notices.is_empty(), "{same:?}");
    // Ownership alone makes no version, but is stored.
    assert_eq!(t.owners().await, owned(&[("secret SAME", "a")]));
    assert_eq!(t.count("app_versions").await, 1);
    let puts = [config("a", 2), secret("SAME", "x"), secret("OTHER", "y"), secret("NEW", "z")];
    let outcome = t.send(declared("a", puts.clone())).await.unwrap();
    let units = vec!["secret OTHER".to_owned(), "config".to_owned()];
    assert_eq!(outcome.notices, [Warning::Adopts { deployment: "folder a".to_owned(), units }]);
    let taken: Vec<String> = t
        .events()
        .await
        .into_iter()
        .filter(|event| event.kind == "unit.taken-over")
        .map(|event| event.subject)
        .collect();
    assert_eq!(taken, ["secret SAME", "secret OTHER", "config"]);
    let again = t.send(declared("a", puts)).await.unwrap();
    assert!(!again.changed && again.notices.is_empty());
}

async fn manual_edits_are_reported_before_they_are_undone(t: &Fixture) {
    let both = |a: i64, b: i64| {
        let document = Some(serde_json::json!({ "a": a, "b": b }));
        put("config", UnitPut::Config(milepost_model::unit_put::ConfigPut { document, ..Default::default() }))
    };
    let fields = |outcome: &ChangeOutcome| -> Vec<String> {
        let undone = outcome.hand_edits.iter().flat_map(|edit| &edit.undone);
        undone.map(|reason| serde_json::to_value(reason).unwrap()["field"].as_str().unwrap().to_owned()).collect()
    };
    t.send(declared("a", [both(1, 1)])).await.unwrap();
    t.put([config("a", 2)]).await;
    let plan = t.send(Change { dry_run: true, ..declared("a", [both(1, 5)]) }).await.unwrap();
    assert_eq!(fields(&plan), ["a"], "b is the folder's own to change");
    assert_eq!((plan.hand_edits[0].number, plan.hand_edits[0].by.as_str()), (2, "ann"));
    // The folder says the same by now: nothing is undone, even if it changes something else.
    let same = t.send(declared("a", [both(2, 5)])).await.unwrap();
    assert!(same.changed && same.hand_edits.is_empty());
    // A manual version that matches the folder belongs to the folder.
    t.put([config("a", 3)]).await;
    let agreed = t.send(declared("a", [both(3, 5)])).await.unwrap();
    assert_eq!((agreed.changed, agreed.taken_over.len()), (false, 1));
    assert!(t.send(declared("a", [both(4, 5)])).await.unwrap().hand_edits.is_empty());
    // An undone edit is reported once. One of a unit that the folder drops is reported too.
    t.put([config("b", 9)]).await;
    assert_eq!(fields(&t.send(declared("a", [both(4, 6)])).await.unwrap()), ["b"]);
    assert!(t.send(declared("a", [both(4, 7)])).await.unwrap().hand_edits.is_empty());
    t.put([config("b", 10)]).await;
    let dropped = t.send(declared("a", [])).await.unwrap();
    assert_eq!((dropped.hand_edits.len(), fields(&dropped).len()), (1, 0));
}

async fn a_dry_run_changes_no_ownership(t: &Fixture) {
    t.put([config("a", 1)]).await;
    let before = t.rows().await;
    let planned = t.send(Change { dry_run: true, ..declared("a", [config("a", 2)]) }).await.unwrap();
    assert_eq!(planned.notices.len(), 1);
    assert_eq!((t.rows().await, t.owners().await), (before, BTreeMap::new()));
}

async fn a_manual_change_keeps_the_owner_of_a_unit(t: &Fixture) {
    t.send(declared("a", [config("a", 1), secret("S", "x")])).await.unwrap();
    t.put([config("a", 2)]).await;
    assert_eq!(t.owners().await, owned(&[("config", "a"), ("secret S", "a")]));
    // A removed unit that comes back belongs to the deployment that puts it.
    t.remove(UnitKind::Config, "config").await.unwrap();
    t.put([config("a", 3)]).await;
    assert_eq!(t.owners().await, owned(&[("secret S", "a")]));
    t.remove(UnitKind::Config, "config").await.unwrap();
    let outcome = t.send(declared("b", [config("a", 3)])).await.unwrap();
    assert!(outcome.notices.is_empty());
    assert_eq!(t.owners().await, owned(&[("config", "b"), ("secret S", "a")]));
}

async fn deleting_the_only_version_ends_its_ownership(t: &Fixture) {
    let tree = t.tree("one").await;
    t.send(declared("a", [package("code", tree), function_on("foo", "code")])).await.unwrap();
    t.delete(FUNCTION, "foo", "all").await.unwrap();
    t.put([function_on("foo", "code")]).await;
    assert_eq!(t.owners().await, owned(&[("package code", "a")]));
}

async fn claims_take_only_units_without_an_owner(t: &Fixture) {
    t.put([secret("FREE", "x")]).await;
    t.send(declared("b", [secret("THEIRS", "x")])).await.unwrap();
    let claims = ["FREE", "THEIRS", "NOWHERE"].map(|name| key(UnitKind::Secret, name)).to_vec();
    let claiming = with(declared("a", [config("a", 1)]), |declaration| declaration.claims = claims);
    let outcome = t.send(claiming.clone()).await.unwrap();
    assert!(outcome.notices.is_empty(), "{:?}", outcome.notices);
    assert_eq!(t.owners().await, owned(&[("config", "a"), ("secret FREE", "a"), ("secret THEIRS", "b")]));
    // A claimed secret counts as declared.
    let again = t.send(with(claiming, |declaration| declaration.prune_secrets = true)).await.unwrap();
    assert!(!again.changed && again.notices.is_empty());
}

async fn a_claim_of_a_unit_that_the_change_removes_is_ignored(t: &Fixture) {
    t.put([secret("S", "x")]).await;
    let claiming = with(declared("a", []), |declaration| declaration.claims = vec![key(UnitKind::Secret, "S")]);
    t.send(Change { removes: vec![key(UnitKind::Secret, "S")], ..claiming }).await.unwrap();
    t.put([secret("S", "x")]).await;
    assert!(t.owners().await.is_empty());
}

async fn secrets_are_pruned_only_when_asked(t: &Fixture) {
    let claims = vec![key(UnitKind::Secret, "S")];
    t.put([secret("S", "x")]).await;
    t.send(with(declared("a", []), |declaration| declaration.claims = claims)).await.unwrap();
    let kept = t.send(declared("a", [])).await.unwrap();
    assert!(!kept.changed);
    assert_eq!(kept.notices, [Warning::SecretKept { name: "S".to_owned() }]);
    let pruned = t.send(with(declared("a", []), |declaration| declaration.prune_secrets = true)).await.unwrap();
    assert_eq!((removed(&pruned), pruned.notices.len()), (vec!["secret S".to_owned()], 0));
}

async fn a_secret_claimed_before_it_was_set_is_pruned_when_asked(t: &Fixture) {
    let claiming = |names: &[&str]| {
        let claims = names.iter().map(|name| key(UnitKind::Secret, name)).collect();
        with(declared("a", []), |declaration| declaration.claims = claims)
    };
    let first = t.send(claiming(&["S", "T"])).await.unwrap();
    assert_eq!((first.changed, first.taken_over.len()), (false, 2));
    // A repeated claim is not reported, and another deployment cannot take it.
    assert!(t.send(claiming(&["S", "T"])).await.unwrap().taken_over.is_empty());
    let theirs = with(declared("b", []), |declaration| declaration.claims = vec![key(UnitKind::Secret, "S")]);
    assert!(t.send(theirs).await.unwrap().taken_over.is_empty());
    assert!(t.present().await.is_empty(), "a claim makes nothing");
    // One of the two claims is given up before the secret is set.
    t.send(claiming(&["S"])).await.unwrap();
    t.put([secret("S", "x"), secret("T", "x")]).await;
    assert_eq!(t.owners().await, owned(&[("secret S", "a")]));
    let kept = t.send(declared("a", [])).await.unwrap();
    assert_eq!(kept.notices, [Warning::SecretKept { name: "S".to_owned() }]);
    let pruned = t.send(with(declared("a", []), |declaration| declaration.prune_secrets = true)).await.unwrap();
    assert_eq!(removed(&pruned), ["secret S"]);
    assert_eq!(t.present().await, ["secret T"]);
}

async fn the_event_log_records_which_deployment_made_an_app_version(t: &Fixture) {
    let tree = t.tree("one").await;
    t.send(declared("a", [package("code", tree), function_on("foo", "code")])).await.unwrap();
    let removing = t.send(declared("a", [package("code", tree)])).await.unwrap();
    t.put([config("by", "hand")]).await;
    let page = milepost_catalog::Page { below: None, limit: 100 };
    let events = t.catalog.event_list(&t.app, page).await.unwrap().items;
    let made = events.iter().filter(|event| event.kind == "app-version.created");
    let made: Vec<_> = made.map(|event| event.after.clone().unwrap()).collect();
    assert_eq!(made[0].get("deployment"), None, "{made:?}");
    assert_eq!((&made[1]["deployment"], &made[1]["id"]), (&"a".into(), &removing.app_version.into()), "{made:?}");
    assert_eq!(made[2]["deployment"], "a");
}

async fn units_that_others_need_are_kept_with_a_warning(t: &Fixture) {
    let tree = t.tree("one").await;
    let mut shared = package("shared", tree);
    if let milepost_model::UnitPut::Package(package) = &mut shared.unit {
        package.environment = Some(reference("mine", "latest"));
    }
    let puts = [environment("mine", "3.12"), shared, function_on("fa", "shared"), secret("S", "x")];
    t.send(declared("a", puts)).await.unwrap();
    t.send(declared("b", [wants_secret("fb", "shared", "S")])).await.unwrap();
    let all = || with(declared("a", []), |declaration| declaration.prune_secrets = true);
    let outcome = t.send(all()).await.unwrap();
    assert_eq!(removed(&outcome), ["function fa"]);
    let kept = |unit: &str, needed_by: &[&str]| Warning::UnitKept {
        unit: unit.to_owned(),
        needed_by: needed_by.iter().copied().map(str::to_owned).collect(),
    };
    let notices = [
        kept("secret S", &["function fb"]),
        kept("package shared", &["function fb"]),
        kept("environment mine", &["package shared", "function fb"]),
    ];
    assert_eq!(outcome.notices, notices);
    // They are removed once nothing needs them.
    t.send(declared("b", [])).await.unwrap();
    let outcome = t.send(all()).await.unwrap();
    assert_eq!(removed(&outcome), ["secret S", "package shared", "environment mine"]);
    assert!(t.present().await.is_empty());
}

async fn a_function_with_a_foreign_trigger_is_not_pruned_and_nothing_is_written(t: &Fixture) {
    let tree = t.tree("one").await;
    let both = [package("code", tree), function_on("foo", "code"), function_on("bar", "code"), config("a", 1)];
    t.send(declared("a", both)).await.unwrap();
    t.send(declared("b", [timer("nightly", "foo", "latest")])).await.unwrap();
    let before = (t.rows().await, t.owners().await);
    let refusal = refused(t.send(declared("a", [package("code", tree), config("a", 2)])).await);
    assert_eq!(
        (refusal.code, &refusal.lines()[..]),
        (Code::StillReferenced, &["timer nightly needs function foo".to_owned()][..])
    );
    assert_eq!(refusal.message, "cannot remove function foo: other units of the app need it");
    assert_eq!((t.rows().await, t.owners().await), before);
    assert_eq!(t.version(UnitKind::Config, "config", "latest").await.unwrap().number, 1);
}

async fn a_change_that_fails_late_takes_no_ownership(t: &Fixture) {
    t.put([config("a", 1)]).await;
    let before = (t.rows().await, t.owners().await);
    let refusal = refused(t.send(declared("a", [config("a", 1), function_on("foo", "nowhere")])).await);
    assert_eq!(refusal.code, Code::UnitNotFound);
    assert_eq!((t.rows().await, t.owners().await), before);
}

async fn a_deployment_keeps_its_id_and_takes_its_newest_name(t: &Fixture) {
    let named = |name: &str| {
        let name = name.to_owned();
        with(declared("a", [config("a", 1)]), |declaration| declaration.name = name)
    };
    t.send(named("old")).await.unwrap();
    assert!(!t.send(named("new")).await.unwrap().changed);
    let list = t.catalog.deployment_list(&t.app).await.unwrap();
    assert_eq!((list.len(), list[0].deployment.name.as_str()), (1, "new"));
    let nameless = with(declared("a", []), |declaration| declaration.id.clear());
    assert_eq!(refused(t.send(nameless).await).code, Code::InvalidRequest);
}

async fn a_deleted_app_leaves_no_deployments(t: &Fixture) {
    t.send(declared("a", [config("a", 1)])).await.unwrap();
    t.catalog.app_delete(&t.app, "ann").await.unwrap();
    assert_eq!(t.count("deployments").await, 0);
    t.catalog.app_create(&t.app, milepost_model::PlanName::Standard, "ann").await.unwrap();
    assert!(t.send(declared("b", [config("a", 1)])).await.unwrap().notices.is_empty());
}

async fn manual_removals_are_reported_before_they_are_undone(t: &Fixture) {
    let tree = t.tree("one").await;
    let with = |n: i64| declared("a", [config("n", n), package("hello", tree), function_on("hello", "hello")]);
    let without = |n: i64| declared("a", [config("n", n), package("hello", tree)]);
    let remove = || Change { removes: vec![key(UnitKind::Function, "hello")], ..Change::default() };
    assert!(t.send(with(1)).await.unwrap().hand_edits.is_empty());
    t.send(remove()).await.unwrap();
    for dry_run in [true, false] {
        let made = t.send(Change { dry_run, ..with(1) }).await.unwrap();
        let [edit] = &made.hand_edits[..] else { panic!("{:?}", made.hand_edits) };
        assert_eq!((edit.name.as_str(), edit.number, edit.removed, edit.by.as_str()), ("hello", 1, true, "ann"));
    }
    // The folder itself drops it and adds it again.
    t.send(without(1)).await.unwrap();
    assert!(t.send(with(1)).await.unwrap().hand_edits.is_empty());
    // The folder was deployed without it after its removal.
    t.send(remove()).await.unwrap();
    t.send(without(2)).await.unwrap();
    assert!(t.send(with(2)).await.unwrap().hand_edits.is_empty());
}

on_both_engines!(
    units_that_are_no_longer_declared_are_removed,
    an_empty_declaration_removes_everything_it_owns,
    two_deployments_never_prune_each_other,
    units_are_listed_by_deployment_in_pages,
    units_of_another_deployment_are_rejected_and_all_listed,
    units_of_another_deployment_are_taken_over_when_allowed,
    units_of_no_deployment_are_taken_over_with_a_warning_if_they_differ,
    manual_edits_are_reported_before_they_are_undone,
    a_dry_run_changes_no_ownership,
    a_manual_change_keeps_the_owner_of_a_unit,
    deleting_the_only_version_ends_its_ownership,
    claims_take_only_units_without_an_owner,
    a_claim_of_a_unit_that_the_change_removes_is_ignored,
    secrets_are_pruned_only_when_asked,
    a_secret_claimed_before_it_was_set_is_pruned_when_asked,
    the_event_log_records_which_deployment_made_an_app_version,
    units_that_others_need_are_kept_with_a_warning,
    a_function_with_a_foreign_trigger_is_not_pruned_and_nothing_is_written,
    a_change_that_fails_late_takes_no_ownership,
    a_deployment_keeps_its_id_and_takes_its_newest_name,
    a_deleted_app_leaves_no_deployments,
    manual_removals_are_reported_before_they_are_undone,
);
