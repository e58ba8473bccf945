//! A catalog on either engine with a clock and ids that tests control, and short helpers for what
//! tests do.

pub mod checked;
mod engines;
pub mod installed;
mod plain;
mod puts;
mod runs;

use std::collections::BTreeMap;
use std::sync::Arc;

use milepost_catalog::{CatalogError, ChangeInput, NewBlob, Page, SealedSecret, SetAlias, VersionsToDelete};
use milepost_model::change::{Change, UnitKey};
use milepost_model::event::Event;
use milepost_model::release::{Live, Release};
use milepost_model::snapshot::{Unit, Version};
use milepost_model::{
    AppName, ChangeOutcome, Digest, ManualClock, PlanName, Refusal, Selector, UnitKind, UnitName, UnitPut,
};

pub use engines::Engine;
pub use plain::PlainCatalog;
pub use puts::*;
pub use runs::*;

/// A page that holds a whole list.
pub const ALL: Page = Page { below: None, limit: 10_000 };

/// The tables whose rows tests count.
const TABLES: [&str; 34] = [
    "apps",
    "contents",
    "units",
    "versions",
    "version_pins",
    "app_versions",
    "memberships",
    "releases",
    "tags",
    "aliases",
    "pointer_moves",
    "version_groups",
    "group_members",
    "events",
    "idempotency",
    "blobs",
    "packs",
    "tree_edges",
    "content_blobs",
    "deployments",
    "builds",
    "executions",
    "execution_attempts",
    "jobs",
    "timers",
    "webhooks",
    "v1_ids",
    "v1_versions",
    "v1_aliases",
    "installs",
    "install_versions",
    "splits",
    "rollouts",
    "rollout_ticks",
];

/// An app called `shop` in an otherwise empty catalog.
pub struct Fixture {
    pub catalog: PlainCatalog,
    pub clock: Arc<ManualClock>,
    pub app: AppName,
    pub engine: Engine,
}

impl Fixture {
    pub async fn new(engine: Engine) -> Self {
        let clock = Arc::new(ManualClock::at("2030-01-01T00:00:00Z".parse().unwrap()));
        let catalog = engine.open(clock.clone()).await;
        let app: AppName = "shop".parse().unwrap();
        catalog.app_create(&app, PlanName::Standard, "ann").await.unwrap();
        Self { catalog, clock, app, engine }
    }

    /// Sends a change one second after the previous step.
    pub async fn send(&self, change: Change) -> Result<ChangeOutcome, CatalogError> {
        self.clock.advance_ms(1000);
        self.catalog.change(&self.app, input(change)).await
    }

    pub async fn put(&self, puts: impl IntoIterator<Item = milepost_model::unit_put::Put>) -> ChangeOutcome {
        self.send(change(puts)).await.unwrap()
    }

    pub async fn refuse(&self, puts: impl IntoIterator<Item = milepost_model::unit_put::Put>) -> Refusal {
        refused(self.send(change(puts)).await)
    }

    /// Deploys a function with a package of the same name that holds `code`.
    pub async fn deploy(&self, function: &str, code: &str) -> ChangeOutcome {
        let tree = self.tree(code).await;
        self.put([package(function, tree), function_on(function, function)]).await
    }

    pub async fn remove(&self, kind: UnitKind, name: &str) -> Result<ChangeOutcome, CatalogError> {
        self.send(Change { removes: vec![key(kind, name)], ..Change::default() }).await
    }

    pub async fn set_plan(&self, plan: PlanName) {
        self.catalog.app_set_plan(&self.app, plan, "ann").await.unwrap();
    }

    /// Stores a tree with one file and returns its root.
    pub async fn tree(&self, text: &str) -> Digest {
        let (file, root) = tree_digests(text);
        let new = vec![blob(file, None), blob(root, Some(vec![file]))];
        let missing = self.catalog.blobs_missing(vec![root]).await.unwrap();
        if !missing.is_empty() {
            self.register(&format!("pack-{}", root.hex()), new).await.unwrap();
        }
        root
    }

    pub async fn register(&self, pack: &str, new: Vec<NewBlob>) -> Result<(), CatalogError> {
        let size = new.iter().map(|blob| blob.size).sum();
        self.catalog.pack_register(&self.app, pack.to_owned(), size, new).await
    }

    pub async fn version(&self, kind: UnitKind, name: &str, selector: &str) -> Result<Version, CatalogError> {
        self.catalog.version_get(&self.app, key(kind, name), selector.parse::<Selector>().unwrap()).await
    }

    /// Returns the version numbers of a unit, newest first.
    pub async fn numbers(&self, kind: UnitKind, name: &str) -> Vec<i64> {
        let page = self.catalog.version_list(&self.app, key(kind, name), ALL).await.unwrap();
        page.items.iter().map(|version| version.number).collect()
    }

    pub async fn delete(&self, kind: UnitKind, name: &str, selector: &str) -> Result<ChangeOutcome, CatalogError> {
        self.clock.advance_ms(1000);
        let which =
            if selector == "all" { VersionsToDelete::All } else { VersionsToDelete::One(selector.parse().unwrap()) };
        self.catalog.version_delete(&self.app, "dan", key(kind, name), which, false).await
    }

    /// Returns the units of an app version, such as `function hello`, with their numbers.
    pub async fn objects(&self, app_version: &str) -> BTreeMap<String, i64> {
        let found = self.catalog.app_version_get(&self.app, app_version.to_owned()).await.unwrap();
        found.objects.into_iter().map(|object| (format!("{} {}", object.kind, object.name), object.number)).collect()
    }

    /// Returns the deployment of each unit that belongs to one.
    pub async fn owners(&self) -> BTreeMap<String, String> {
        let units = self.catalog.unit_list(&self.app, None, None, None, 1000).await.unwrap().items;
        let owned = units.into_iter().filter_map(|unit| Some((key_text(&unit), unit.deployment?.id)));
        owned.collect()
    }

    /// Returns the units that the app has now.
    pub async fn present(&self) -> Vec<String> {
        let units = self.catalog.unit_list(&self.app, None, None, None, 1000).await.unwrap().items;
        units.iter().map(key_text).collect()
    }

    /// Returns the ids of the active releases, newest first.
    pub async fn active(&self) -> Vec<String> {
        let page = self.catalog.release_list(&self.app, true, ALL).await.unwrap();
        page.items.into_iter().map(|release| release.id).collect()
    }

    pub async fn live(&self) -> Live {
        self.catalog.app_get(&self.app).await.unwrap().live
    }

    pub async fn live_id(&self) -> String {
        self.live().await.release.unwrap().id
    }

    pub async fn release(&self, name: &str) -> Release {
        self.catalog.release_get(&self.app, name.to_owned()).await.unwrap()
    }

    pub async fn tag(&self, tag: &str, release: &str) -> Result<Release, CatalogError> {
        self.catalog.tag_set(&self.app, "tom", tag.parse().unwrap(), release.to_owned(), String::new()).await
    }

    pub async fn alias(&self, function: &str, alias: &str, selector: &str) {
        let (function, alias): (UnitName, milepost_model::AliasName) =
            (function.parse().unwrap(), alias.parse().unwrap());
        let existing = self.catalog.alias_get(&self.app, function.clone(), alias.clone()).await.is_ok();
        let selector = selector.parse().unwrap();
        self.clock.advance_ms(1000);
        let new = SetAlias { function, alias, selector, existing, why: String::new() };
        self.catalog.alias_set(&self.app, "al", new).await.unwrap();
    }

    /// Returns the events, oldest first.
    pub async fn events(&self) -> Vec<Event> {
        let mut events = self.catalog.event_list(&self.app, ALL).await.unwrap().items;
        events.reverse();
        events
    }

    /// Returns another server over the same database. On SQLite, which has only one, returns the
    /// same.
    pub async fn another(&self) -> PlainCatalog {
        match &self.engine {
            Engine::Sqlite(_) => self.catalog.clone(),
            Engine::Postgres(..) => self.engine.open_with(self.clock.clone(), 8).await,
        }
    }

    /// Opens the database again, as a starting server does.
    pub async fn reopen(&self) {
        self.engine.open(self.clock.clone()).await;
    }

    /// Returns the number of rows of each table.
    pub async fn rows(&self) -> BTreeMap<&'static str, i64> {
        let mut rows = BTreeMap::new();
        for table in TABLES {
            rows.insert(table, self.count(table).await);
        }
        rows
    }

    pub async fn count(&self, table: &str) -> i64 {
        self.number(&format!("SELECT count(*) FROM {table}")).await
    }

    /// Sets the digest of version `number` of every function, which the catalog itself never does.
    pub async fn set_digest(&self, number: i64, digest: [u8; 32]) {
        let hex = Digest::from_bytes(digest).hex();
        let literal = if self.catalog.engine() == milepost_catalog::Engine::Sqlite {
            format!("X'{hex}'")
        } else {
            format!("'\\x{hex}'")
        };
        let which = format!("number = {number} AND unit_id IN (SELECT id FROM units WHERE kind = 'function')");
        self.number(&format!("UPDATE versions SET digest = {literal} WHERE {which} RETURNING number")).await;
    }

    /// Returns the number that a query selects, bypassing the catalog.
    pub async fn number(&self, sql: &str) -> i64 {
        self.engine.number(sql).await
    }
}

/// Returns a change as the server passes it on, with secrets sealed in a fake way.
pub fn input(change: Change) -> ChangeInput {
    let mut secrets = BTreeMap::new();
    for put in &change.puts {
        if let UnitPut::Secret(secret) = &put.unit {
            let fingerprint = Digest::of(format!("keyed {} {}", put.name, secret.value).as_bytes());
            let former_fingerprint = Digest::of(format!("keyed {}", secret.value).as_bytes());
            let sealed = secret.value.bytes().map(|byte| byte ^ 0x55).collect();
            secrets.insert(put.name.clone(), SealedSecret { fingerprint, former_fingerprint, sealed });
        }
    }
    ChangeInput { change, secrets, actor: "ann".to_owned(), idempotency_key: None }
}

fn key_text(unit: &Unit) -> String {
    UnitKey { kind: unit.kind, name: unit.name.clone() }.to_string()
}

pub fn key(kind: UnitKind, name: &str) -> UnitKey {
    UnitKey { kind, name: name.parse().unwrap() }
}

#[track_caller]
pub fn refused<T: std::fmt::Debug>(result: Result<T, CatalogError>) -> Refusal {
    match result {
        Err(CatalogError::Refused(refusal)) => *refusal,
        other => panic!("expected a refusal, found {other:?}"),
    }
}

/// Returns the file and the root of [`Fixture::tree`].
pub fn tree_digests(text: &str) -> (Digest, Digest) {
    (Digest::of(text.as_bytes()), Digest::of(format!("directory with {text}").as_bytes()))
}

pub fn blob(digest: Digest, children: Option<Vec<Digest>>) -> NewBlob {
    NewBlob { digest, size: 100, offset: 0, children }
}
