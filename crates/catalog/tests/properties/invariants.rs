//! The invariants. Each compares the real app with the model.

use std::collections::BTreeMap;
use std::pin::Pin;

use milepost_model::change::UnitKey;
use milepost_model::release::{LiveMode, ReleaseState};
use milepost_model::{Digest, UnitKind, UnitSpec};

use crate::common::{ALL, key, tree_digests};
use crate::operations::UseKind;
use crate::world::World;

pub type Check<'w> = Pin<Box<dyn Future<Output = ()> + 'w>>;

fn unit_key(unit: &str) -> UnitKey {
    let (kind, name) = unit.split_once(' ').unwrap();
    key(kind.parse().unwrap(), name)
}

pub fn invariant_1_versions_and_their_names_never_change<'w>(world: &'w World<'_>) -> Check<'w> {
    Box::pin(async move {
        for unit in world.manifest.keys() {
            let listed = world.t.catalog.version_list(&world.t.app, unit_key(unit), ALL).await.unwrap().items;
            if let Some(known) = world.versions.get(unit) {
                let numbers: Vec<i64> = listed.iter().rev().map(|version| version.number).collect();
                assert_eq!(numbers, known.keys().copied().collect::<Vec<_>>(), "{unit}");
                for version in &listed {
                    let expected = content_digest(unit, known[&version.number]);
                    assert!(
                        expected.is_none_or(|expected| version.spec.to_string().contains(&expected)),
                        "{unit} {version:?}"
                    );
                }
            }
            // Every name finds its version, and the digest matches the content.
            for version in &listed {
                // The fingerprint of a secret is not shown.
                if version.kind != UnitKind::Secret {
                    let spec = UnitSpec::from_json(version.kind, &version.spec.to_string()).unwrap();
                    assert_eq!(spec.digest(), version.digest);
                }
                let label = world.labels.iter().find(|((of, _), number)| of == unit && **number == version.number);
                assert_eq!(
                    version.label.as_ref().map(ToString::to_string).as_ref(),
                    label.map(|((_, label), _)| label)
                );
                let label = version.label.as_ref().map(ToString::to_string);
                for name in [version.number.to_string(), version.uid.clone()].into_iter().chain(label) {
                    let found = world.t.version(version.kind, version.name.as_str(), &name).await.unwrap();
                    assert_eq!(&found, version, "{unit} {name}");
                }
            }
        }
        let app = app(world);
        let repeated = format!(
            "SELECT count(*) FROM (SELECT unit_id FROM versions WHERE app_id = {app} GROUP BY unit_id, uid HAVING count(*) > 1) AS r"
        );
        assert_eq!(world.t.number(&repeated).await, 0);
        let gaps = format!(
            "SELECT count(*) FROM units u WHERE app_id = {app} \
             AND last_number <> (SELECT count(*) FROM versions v WHERE v.unit_id = u.id)"
        );
        assert_eq!(world.t.number(&gaps).await, 0);
    })
}

/// Returns the digest that a version with this code must refer to.
fn content_digest(unit: &str, code: u8) -> Option<String> {
    let (_, root) = tree_digests(&format!("code {code}"));
    unit.starts_with("package").then(|| root.to_string())
}

pub fn invariant_2_no_pointer_dangles<'w>(world: &'w World<'_>) -> Check<'w> {
    Box::pin(async move {
        let t = world.t;
        let active: Vec<String> = world.active.iter().rev().map(|(id, _)| id.clone()).collect();
        assert_eq!(t.active().await, active);
        let live = t.live().await;
        assert_eq!(live.mode == LiveMode::Pinned, world.pinned);
        assert_eq!(live.release.as_ref().map(|release| &release.id), world.live.as_ref());
        assert!(live.release.is_none_or(|release| release.state == ReleaseState::Active));
        if let Some(newest) = active.first() {
            assert_eq!(&t.release("latest").await.id, newest);
        }
        let tags: BTreeMap<String, String> = t
            .catalog
            .tag_list(&t.app)
            .await
            .unwrap()
            .into_iter()
            .map(|(tag, release)| (tag.to_string(), release.id))
            .collect();
        assert_eq!(tags, world.tags);
        assert!(tags.values().all(|release| active.contains(release)));
        for unit in world.manifest.keys().filter(|unit| unit.starts_with("function")) {
            let name = unit_key(unit).name;
            for alias in t.catalog.alias_list(&t.app, name.clone()).await.unwrap() {
                assert_eq!(world.aliases.get(&(name.to_string(), alias.name.to_string())), Some(&alias.number));
                let found = t.version(UnitKind::Function, name.as_str(), &format!("@{}", alias.name)).await.unwrap();
                assert_eq!(found.number, alias.number);
            }
        }
        let count = format!("SELECT count(*) FROM aliases WHERE unit_id IN ({})", units(world));
        assert_eq!(t.number(&count).await, world.aliases.len() as i64);
    })
}

fn units(world: &World<'_>) -> String {
    format!("SELECT id FROM units WHERE app_id = {}", app(world))
}

fn app(world: &World<'_>) -> String {
    format!("(SELECT id FROM apps WHERE name = '{}')", world.t.app)
}

pub fn invariant_3_app_versions_are_complete_and_stay_as_they_were<'w>(world: &'w World<'_>) -> Check<'w> {
    Box::pin(async move {
        for (uid, manifest) in &world.app_versions {
            assert_eq!(&world.t.objects(uid).await, manifest, "{uid}");
            let (_, contents, gone) = world.t.catalog.app_version_contents(&world.t.app, uid.clone()).await.unwrap();
            assert_eq!(contents.len() + gone.len(), manifest.len());
            let objects = world.t.catalog.app_version_get(&world.t.app, uid.clone()).await.unwrap().objects;
            for object in objects {
                // The digest was written with the version; the content must still match it.
                let unit = UnitKey { kind: object.kind, name: object.name };
                if let Some((number, spec)) = contents.get(&unit) {
                    assert_eq!((*number, spec.digest()), (object.number, object.digest));
                }
            }
        }
    })
}

pub fn invariant_5_referenced_blobs_are_never_swept<'w>(world: &'w World<'_>) -> Check<'w> {
    Box::pin(async move {
        let t = world.t;
        let mut needed = Vec::new();
        for (id, _) in &world.active {
            let (_, contents, gone) = t.catalog.app_version_contents(&t.app, id.clone()).await.unwrap();
            assert!(gone.is_empty(), "release {id} lost {gone:?}");
            needed.extend(contents.values().flat_map(|(_, spec)| spec.blobs()));
        }
        for (function, alias) in world.aliases.keys() {
            let version = t.version(UnitKind::Function, function, &format!("@{alias}")).await.unwrap();
            let digest = version.spec["package"]["digest"].as_str().unwrap();
            let package = t.version(UnitKind::Package, version.spec["package"]["name"].as_str().unwrap(), digest).await;
            // The package may have been removed from the app. The row counts below then cover its
            // content.
            needed.extend(
                package.into_iter().filter_map(|package| package.spec["deployment"].as_str()?.parse::<Digest>().ok()),
            );
        }
        for code in 0..3 {
            let (file, root) = tree_digests(&format!("code {code}"));
            if needed.contains(&root) {
                assert_eq!(t.catalog.blob_locate(vec![file, root]).await.unwrap().len(), 2, "code {code}");
            }
        }
        let app = app(world);
        // A former version of a trigger cannot be selected, so it does not keep the function version
        // that it was pinned to.
        let dangling = format!(
            "SELECT count(*) FROM version_pins p JOIN versions v ON v.id = p.version_id JOIN versions t ON t.id = p.target_id \
             JOIN units u ON u.id = v.unit_id WHERE v.app_id = {app} AND v.state <> 'deleted' AND t.content_id IS NULL \
             AND (u.kind NOT IN ('route', 'timer') OR u.current_version_id = v.id)"
        );
        assert_eq!(t.number(&dangling).await, 0);
        for user in &world.users {
            // An execution may outlive its function, which then cannot be looked up by name.
            let is_there = world.manifest.contains_key(&format!("function {}", user.function));
            if let Some(number) = user.version.filter(|_| is_there && user.kind != UseKind::Execution) {
                t.version(UnitKind::Function, &user.function, &number.to_string()).await.unwrap();
            }
        }
        let lost = format!(
            "SELECT count(*) FROM versions v WHERE v.app_id = {app} AND (v.content_id IS NULL OR v.state = 'deleted') \
             AND v.id IN (SELECT version_id FROM jobs WHERE state IN ('running', 'paused') AND version_id IS NOT NULL \
             UNION SELECT version_id FROM webhooks WHERE version_id IS NOT NULL \
             UNION SELECT version_id FROM executions WHERE status IN ('queued', 'running') AND version_id IS NOT NULL)"
        );
        assert_eq!(t.number(&lost).await, 0, "versions in use");
        let bare = format!(
            "SELECT count(*) FROM versions v JOIN units u ON u.id = v.unit_id WHERE v.app_id = {app} AND u.kind = 'package' \
             AND v.content_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM content_blobs c WHERE c.content_id = v.content_id)"
        );
        assert_eq!(t.number(&bare).await, 0);
    })
}

pub fn invariant_7_equal_content_is_stored_once<'w>(world: &'w World<'_>) -> Check<'w> {
    Box::pin(async move {
        // The model predicts at each step that equal content makes no version.
        let twice = format!(
            "SELECT count(*) FROM (SELECT digest FROM versions WHERE app_id = {} AND content_id IS NOT NULL \
             GROUP BY digest HAVING count(DISTINCT content_id) > 1) AS r",
            app(world)
        );
        assert_eq!(world.t.number(&twice).await, 0);
        let made: i64 = world.versions.values().map(|numbers| numbers.len() as i64).sum();
        let kept = format!(
            "SELECT count(*) FROM versions WHERE state = 'active' AND unit_id IN ({} AND kind <> 'environment')",
            units(world)
        );
        assert_eq!(world.t.number(&kept).await, made - environments(world));
    })
}

fn environments(world: &World<'_>) -> i64 {
    world
        .versions
        .iter()
        .filter(|(unit, _)| unit.starts_with("environment"))
        .map(|(_, numbers)| numbers.len() as i64)
        .sum()
}

pub fn invariant_8_every_move_and_snapshot_is_in_the_event_log<'w>(world: &'w World<'_>) -> Check<'w> {
    Box::pin(async move {
        let events = world.t.events().await;
        let ids: Vec<i64> = events.iter().map(|event| event.id).collect();
        assert_eq!(ids, (1..=events.len() as i64).collect::<Vec<_>>());
        assert!(events.iter().all(|event| !event.actor.is_empty() && !event.subject.is_empty()));
        assert!(events.is_sorted_by_key(|event| event.at));
        let told = |kinds: &[&str]| events.iter().filter(|event| kinds.contains(&event.kind.as_str())).count() as i64;
        for (table, kinds) in [
            ("versions", &["version.created"][..]),
            ("app_versions", &["app-version.created"]),
            ("releases", &["release.created"]),
            ("releases WHERE state = 'expired'", &["release.expired"]),
            ("pointer_moves WHERE kind = 'live'", &["live.moved", "live.pinned", "live.unpinned"]),
            ("pointer_moves WHERE kind = 'latest'", &["latest.moved"]),
            ("pointer_moves WHERE kind = 'tag'", &["tag.moved", "tag.deleted"]),
            ("pointer_moves WHERE kind = 'alias'", &["alias.moved", "alias.deleted"]),
        ] {
            let and = if table.contains("WHERE") { "AND" } else { "WHERE" };
            let rows = world.t.number(&format!("SELECT count(*) FROM {table} {and} app_id = {}", app(world))).await;
            assert_eq!(told(kinds), rows, "{table}");
        }
        // The log alone shows where live is and whether it follows.
        let told = events.iter().rfind(|event| event.kind.starts_with("live.")).and_then(|event| event.after.clone());
        let mode = told.as_ref().map_or("following", |told| told["mode"].as_str().unwrap_or("none"));
        assert_eq!(mode, if world.pinned { "pinned" } else { "following" });
        let release = told.as_ref().and_then(|told| told["release"].as_str());
        assert_eq!(release, world.live.as_deref());
        assert_eq!(
            world.t.number(&format!("SELECT event_seq FROM apps WHERE id = {}", app(world))).await,
            events.len() as i64
        );
    })
}
