//! Everything that can remove something runs concurrently with everything that needs it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use milepost_catalog::{CatalogError, LiveTarget, RollbackInput, VersionsToDelete};
use milepost_model::{AppName, Code, IdSource, PlanName, SeededIds, UnitKind};

use tokio::sync::Barrier;

use crate::common::*;

/// All actors begin each round together: reads on SQLite do not wait, so actors that only read
/// would otherwise finish before there is any data.
const ROUNDS: usize = 10;
const STEPS: usize = 3;
const ACTORS: u64 = 16;
const CODES: u64 = 4;

struct Actor {
    t: Arc<Fixture>,
    app: AppName,
    random: SeededIds,
    packs: Arc<AtomicU64>,
}

impl Actor {
    fn below(&self, bound: u64) -> u64 {
        let mut bytes = [0; 8];
        self.random.fill(&mut bytes);
        u64::from_le_bytes(bytes) % bound
    }

    fn function(&self) -> String {
        format!("f{}", self.below(2))
    }

    /// Uploads what is missing and deploys. If a sweep runs in between, the files are sent again.
    async fn deploy(&self, name: &str) -> bool {
        let code = format!("code {}", self.below(CODES));
        let (file, root) = tree_digests(&code);
        for _ in 0..50 {
            if !self.t.catalog.blobs_missing(vec![file, root]).await.unwrap().is_empty() {
                let pack = format!("pack {}", self.packs.fetch_add(1, Ordering::Relaxed));
                let new = vec![blob(file, None), blob(root, Some(vec![file]))];
                self.t.catalog.pack_register(&self.app, pack, 200, new).await.unwrap();
            }
            let puts = change([package(name, root), function_on(name, name)]);
            match self.t.catalog.change(&self.app, input(puts)).await {
                Err(CatalogError::Refused(refusal)) if refusal.code == Code::MissingBlobs => {}
                result => return landed(result),
            }
        }
        panic!("sweeping always won");
    }

    async fn delete(&self) -> bool {
        let kind = if self.below(3) == 0 { UnitKind::Package } else { UnitKind::Function };
        let name = self.function();
        let Some(number) = self.some_version(kind, &name).await else { return false };
        let which = VersionsToDelete::One(number.to_string().parse().unwrap());
        landed(self.t.catalog.version_delete(&self.app, "dan", key(kind, &name), which, false).await)
    }

    async fn some_version(&self, kind: UnitKind, name: &str) -> Option<i64> {
        let page = self.t.catalog.version_list(&self.app, key(kind, name), ALL).await.ok()?;
        page.items.get(self.below(page.items.len().max(1) as u64) as usize).map(|version| version.number)
    }

    async fn remove(&self) -> bool {
        let name = self.function();
        let removes = vec![key(UnitKind::Function, &name), key(UnitKind::Package, &name)];
        let change = milepost_model::change::Change { removes, ..Default::default() };
        landed(self.t.catalog.change(&self.app, input(change)).await)
    }

    async fn alias(&self) -> bool {
        let name = self.function();
        let Some(number) = self.some_version(UnitKind::Function, &name).await else { return false };
        let (function, alias) = (name.parse().unwrap(), "stable".parse().unwrap());
        let existing = self.below(2) == 0;
        let selector = number.to_string().parse().unwrap();
        let new = milepost_catalog::SetAlias { function, alias, selector, existing, why: String::new() };
        landed(self.t.catalog.alias_set(&self.app, "al", new).await)
    }

    async fn move_releases(&self) -> bool {
        let page = self.t.catalog.release_list(&self.app, false, ALL).await.unwrap();
        let Some(release) = page.items.get(self.below(page.items.len().max(1) as u64) as usize) else { return false };
        let (catalog, app, id) = (&self.t.catalog, &self.app, release.id.clone());
        match self.below(7) {
            0 => landed(catalog.tag_set(app, "tom", "beta".parse().unwrap(), id, String::new()).await),
            1 => landed(catalog.tag_delete(app, "tom", "beta".parse().unwrap()).await),
            2 => landed(catalog.release_create(app, "rob", Some(id), String::new()).await),
            3 => landed(catalog.release_expire(app, "rob", id, String::new()).await),
            4 => landed(catalog.live_set(app, "liz", LiveTarget::Release(id), String::new()).await),
            5 => landed(catalog.live_set(app, "liz", LiveTarget::Follow, String::new()).await),
            _ => {
                let input = RollbackInput { to: None, why: String::new(), dry_run: false };
                landed(catalog.rollback(app, "liz", input).await)
            }
        }
    }

    async fn sweep(&self) -> bool {
        self.t.clock.advance_ms(3_600_000);
        self.t.catalog.sweep(1_800_000).await.unwrap();
        true
    }
}

/// Returns whether the operation succeeded. A refusal is a valid outcome; any other error fails the
/// test.
#[track_caller]
fn landed<T: std::fmt::Debug>(result: Result<T, CatalogError>) -> bool {
    match result {
        Ok(_) => true,
        Err(CatalogError::Refused(_)) => false,
        Err(error) => panic!("{error:?}"),
    }
}

/// Counts references and served items that are missing. A single statement, so that it sees one
/// snapshot.
const MISSING: &str = "SELECT \
    (SELECT count(*) FROM releases r JOIN units u ON u.app_id = r.app_id JOIN memberships m ON m.unit_id = u.id \
        AND m.from_seq <= r.app_seq AND (m.until_seq IS NULL OR m.until_seq > r.app_seq) \
        JOIN versions v ON v.id = m.version_id WHERE r.state = 'active' AND v.content_id IS NULL) \
    + (SELECT count(*) FROM aliases a JOIN versions v ON v.id = a.version_id WHERE v.state <> 'active' OR v.content_id IS NULL) \
    + (SELECT count(*) FROM tags t JOIN releases r ON r.id = t.release_id WHERE r.state <> 'active') \
    + (SELECT count(*) FROM apps a JOIN releases r ON r.id = a.live_release_id WHERE r.state <> 'active') \
    + (SELECT count(*) FROM version_pins p JOIN versions v ON v.id = p.version_id JOIN versions w ON w.id = p.target_id \
        WHERE v.state <> 'deleted' AND w.content_id IS NULL) \
    + (SELECT count(*) FROM versions v JOIN contents c ON c.id = v.content_id WHERE c.kind = 'package' \
        AND NOT EXISTS (SELECT 1 FROM content_blobs b WHERE b.content_id = c.id)) \
    + (SELECT count(*) FROM blobs b WHERE b.is_directory = 1 AND NOT EXISTS (SELECT 1 FROM tree_edges e WHERE e.parent_id = b.id))";

pub async fn invariant_5_nothing_needed_is_missing_during_concurrent_changes(t: Arc<Fixture>) {
    let other: AppName = "other".parse().unwrap();
    t.catalog.app_create(&other, PlanName::Free, "ann").await.unwrap();
    let packs = Arc::new(AtomicU64::new(0));
    let mut tasks = Vec::new();
    for app in [&t.app, &other] {
        let random = SeededIds::new(ACTORS);
        let first = Actor { t: Arc::clone(&t), app: app.clone(), random, packs: Arc::clone(&packs) };
        for name in ["f0", "f1"] {
            assert!(first.deploy(name).await);
        }
    }
    let round = Arc::new(Barrier::new(ACTORS as usize));
    for seed in 0..ACTORS {
        let app = if seed % 4 == 3 { other.clone() } else { t.app.clone() };
        let actor = Actor { t: Arc::clone(&t), app, random: SeededIds::new(seed), packs: Arc::clone(&packs) };
        let round = Arc::clone(&round);
        tasks.push(tokio::spawn(async move {
            let mut done = 0;
            for step in 0..ROUNDS * STEPS {
                if step % STEPS == 0 {
                    round.wait().await;
                }
                done += usize::from(match seed {
                    0..=5 => actor.deploy(&actor.function()).await,
                    6 | 7 => actor.delete().await,
                    8 | 9 => actor.alias().await,
                    10..=12 => actor.move_releases().await,
                    // Only occasionally: it removes everything that the others work with.
                    13 if step % (2 * STEPS) == 0 => actor.remove().await,
                    13 => false,
                    _ => actor.sweep().await,
                });
            }
            (seed, done)
        }));
    }
    let done = Arc::new(AtomicBool::new(false));
    let checker = {
        let (t, done) = (Arc::clone(&t), Arc::clone(&done));
        tokio::spawn(async move {
            let mut checks = 0;
            while !done.load(Ordering::Relaxed) {
                assert_eq!(t.number(MISSING).await, 0);
                checks += 1;
                tokio::task::yield_now().await;
            }
            checks
        })
    };
    let mut all = Vec::new();
    for task in tasks {
        all.push(task.await.unwrap());
    }
    done.store(true, Ordering::Relaxed);
    assert!(checker.await.unwrap() > 0);
    // Makes sure that not all operations were rejected.
    let done = |seeds: std::ops::RangeInclusive<u64>| -> usize {
        all.iter().filter(|(seed, _)| seeds.contains(seed)).map(|(_, done)| done).sum()
    };
    assert!(
        done(0..=5) > 60 && done(6..=7) > 0 && done(8..=9) > 0 && done(10..=12) > 0 && done(13..=13) > 0,
        "{all:?}"
    );
    assert_eq!(t.number(MISSING).await, 0);
    for app in [&t.app, &other] {
        everything_served_is_there(&t, app).await;
    }
}

async fn everything_served_is_there(t: &Fixture, app: &AppName) {
    for release in t.catalog.release_list(app, true, ALL).await.unwrap().items {
        let (_, contents, gone) = t.catalog.app_version_contents(app, release.id).await.unwrap();
        assert!(gone.is_empty(), "{gone:?}");
        for (_, spec) in contents.values() {
            assert_eq!(t.catalog.blob_locate(spec.blobs()).await.unwrap().len(), spec.blobs().len());
        }
    }
    let events = t.catalog.event_list(app, ALL).await.unwrap().items;
    assert!(events.iter().rev().map(|event| event.id).eq(1..=events.len() as i64));
}
