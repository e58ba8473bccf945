//! Databases from an earlier Milepost keep working.

use std::sync::Arc;

use milepost_model::change::UnitAction;
use milepost_model::spec::ConfigSpec;
use milepost_model::{AppName, ManualClock, UnitKind, UnitSpec, canonical};
use serde_json::json;

use crate::common::*;

/// One app with a configuration in the first schema.
fn first_ledger(schema: &str, bytes: impl Fn(&str) -> String) -> String {
    let spec = UnitSpec::Config(ConfigSpec { document: json!({ "a": 1 }) });
    let digest = bytes(&spec.digest().hex());
    let body = String::from_utf8(canonical::to_bytes(&spec.behaviour())).unwrap();
    format!(
        "{schema}
        CREATE TABLE schema_migrations (number BIGINT PRIMARY KEY, name TEXT NOT NULL);
        INSERT INTO schema_migrations VALUES (1, 'ledger');
        INSERT INTO apps (name, plan, created_at, created_by, head_seq, event_seq, live_mode) VALUES ('old', 'standard', 1000, 'ann', 1, 0, 'following');
        INSERT INTO contents (app_id, digest, kind, body) VALUES (1, {digest}, 'config', '{body}');
        INSERT INTO units (app_id, kind, name, last_number) VALUES (1, 'config', 'config', 1);
        INSERT INTO versions (app_id, unit_id, number, uid, digest, content_id, description, created_at, created_by, state)
            VALUES (1, 1, 1, 'bcdfgh', {digest}, 1, '', 1000, 'ann', 'active');
        UPDATE units SET current_version_id = 1;
        INSERT INTO app_versions (app_id, seq, uid, created_at, created_by, message) VALUES (1, 1, 'bcdfgh', 1000, 'ann', 'first');
        INSERT INTO memberships (unit_id, from_seq, version_id) VALUES (1, 1, 1);"
    )
}

async fn check_migrated(engine: Engine, first: String) {
    engine.batch(&first).await;
    let clock = Arc::new(ManualClock::at("2030-01-01T00:00:00Z".parse().unwrap()));
    let old: AppName = "old".parse().unwrap();
    let catalog = engine.open(clock.clone()).await;
    let unit = catalog.unit_get(&old, key(UnitKind::Config, "config")).await.unwrap();
    assert_eq!((unit.current.number, unit.deployment), (1, None));
    assert_eq!(unit.current.spec["document"], json!({ "a": 1 }));

    // Equal content makes no version, and the deployment takes over the unit.
    let same = catalog.change(&old, input(declared("a", [config("a", 1)]))).await.unwrap();
    assert_eq!((same.changed, same.app_version.as_deref()), (false, Some("bcdfgh")));
    let other = catalog.change(&old, input(declared("a", [config("a", 2)]))).await.unwrap();
    assert_eq!((other.versions[0].action, other.versions[0].number), (UnitAction::Updated, Some(2)));
    let unit = catalog.unit_get(&old, key(UnitKind::Config, "config")).await.unwrap();
    assert_eq!(unit.deployment.unwrap().id, "a");

    // Opening it again has nothing to migrate.
    drop(catalog);
    let all = "SELECT count(*) FROM schema_migrations";
    let before = engine.number(all).await;
    engine.open(clock).await.app_get(&old).await.unwrap();
    assert_eq!(engine.number(all).await, before, "each of them once");
}

#[tokio::test]
async fn a_first_ledger_on_sqlite_is_migrated_with_its_data() {
    let schema = include_str!("../../migrations/sqlite/0001_ledger.sql");
    check_migrated(Engine::sqlite(), first_ledger(schema, |hex| format!("X'{hex}'"))).await;
}

#[tokio::test]
async fn a_first_ledger_on_postgres_is_migrated_with_its_data() {
    let schema = include_str!("../../migrations/postgres/0001_ledger.sql");
    check_migrated(Engine::postgres(), first_ledger(schema, |hex| format!("'\\x{hex}'"))).await;
}
