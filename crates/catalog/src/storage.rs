//! Locations of stored bytes, what keeps them, and the sweep of what nothing keeps.

use std::collections::{BTreeSet, HashMap};

use milepost_model::{AppName, Code, Digest, Next, Refusal};

use crate::Catalog;
use crate::error::Result;
use crate::tables::apps;
use crate::tables::blobs::{self, BlobRow, NewBlob};
use crate::tables::{builds, contents, idempotency, server_facts, versions};

/// Maximum number of rows per transaction of a sweep, so that other writes get through in between.
const BATCH: i64 = 500;
/// A blob that was touched this recently is not touched again, so that most queries do not write.
const TOUCH_EVERY_MS: i64 = 10 * 60 * 1000;
const IDEMPOTENCY_MS: i64 = 24 * 3600 * 1000;
/// How long a build is kept after its last use, or after it failed.
const BUILD_MS: i64 = 30 * 24 * 3600 * 1000;

/// What a sweep removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SweepReport {
    pub executions: u64,
    pub versions: u64,
    pub builds: u64,
    pub contents: u64,
    pub blobs: u64,
    pub bytes: u64,
    /// Stored objects that nothing refers to any more. The caller deletes them.
    pub packs: Vec<String>,
}

/// Name of the server fact that a restore replaces. The migration makes it.
const INCARNATION: &str = "incarnation";

impl Catalog {
    /// Returns which of these blobs the server does not have. Present ones are kept for the grace
    /// time, so that the change that follows finds them.
    pub async fn blobs_missing(&self, digests: Vec<Digest>) -> Result<Vec<Digest>> {
        let now = self.now();
        let not_since = milepost_model::clock::from_millis(now.as_millisecond() - TOUCH_EVERY_MS);
        let asked = digests.clone();
        let known = self.db.read(move |tx| Box::pin(async move { blobs::ids(tx, &asked).await })).await?;
        let mut present: Vec<Digest> = digests.iter().filter(|digest| known.contains_key(*digest)).copied().collect();
        present.sort_unstable();
        let mut missing: Vec<Digest> = digests.into_iter().filter(|digest| !known.contains_key(digest)).collect();
        if !present.is_empty() {
            let swept = self
                .db
                .write(move |tx| {
                    Box::pin(async move {
                        blobs::touch(tx, &present, now, not_since).await?;
                        // A sweep may have run between the lookup and the touch.
                        let still = blobs::ids(tx, &present).await?;
                        Ok(present.into_iter().filter(|digest| !still.contains_key(digest)).collect::<Vec<_>>())
                    })
                })
                .await?;
            missing.extend(swept);
        }
        Ok(missing)
    }

    /// Registers the blobs of a stored pack. Rejects a directory unless everything in it is
    /// registered.
    pub async fn pack_register(&self, app: &AppName, pack: String, size: u64, new: Vec<NewBlob>) -> Result<()> {
        let app = app.clone();
        let now = self.now();
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    let app = apps::get(tx, &app).await?;
                    let pack_id = blobs::insert_pack(tx, &pack, size, now).await?;
                    let mut unique: HashMap<Digest, &NewBlob> = HashMap::new();
                    for blob in &new {
                        // One upload may contain the same bytes twice, also once as a file and once
                        // as a directory.
                        let known = unique.entry(blob.digest).or_insert(blob);
                        if known.children.is_none() && blob.children.is_some() {
                            *known = blob;
                        }
                    }
                    let mut sorted: Vec<&NewBlob> = unique.into_values().collect();
                    sorted.sort_by_key(|blob| blob.digest);
                    let ids = blobs::insert(tx, app.id, pack_id, &sorted, now).await?;
                    register_edges(tx, &sorted, &ids).await?;
                    check_quota(tx, &app).await
                })
            })
            .await
    }

    pub async fn blob_locate(&self, digests: Vec<Digest>) -> Result<Vec<BlobRow>> {
        self.db.read(move |tx| Box::pin(async move { blobs::locate(tx, &digests).await })).await
    }

    /// Returns how many more bytes the app's plan allows; `None` means no limit.
    pub async fn quota_left(&self, app: &AppName) -> Result<Option<u64>> {
        let app = app.clone();
        self.db
            .read(move |tx| {
                Box::pin(async move {
                    let app = apps::get(tx, &app).await?;
                    let Some(bound) = app.plan.limits().stored_bytes else { return Ok(None) };
                    Ok(Some(bound.saturating_sub(blobs::stored_bytes(tx, app.id).await?)))
                })
            })
            .await
    }

    /// Lists what keeps a blob: the versions and builds that hold it, directly or through
    /// directories.
    pub async fn storage_why(&self, digest: Digest) -> Result<Vec<String>> {
        const MOST: i64 = 100;
        self.db
            .read(move |tx| {
                Box::pin(async move {
                    let Some(id) = blobs::ids(tx, &[digest]).await?.remove(&digest) else {
                        let message = format!("the server does not have the blob `{digest}`");
                        return Err(Refusal::new(Code::BlobNotFound, message)
                            .correct("upload it: it never was, or it was not in use and was swept")
                            .into());
                    };
                    let mut found = BTreeSet::new();
                    let mut seen = BTreeSet::from([id]);
                    let mut open = vec![id];
                    while let Some(id) = open.pop() {
                        found.extend(blobs::holders(tx, id, MOST).await?);
                        found.extend(builds::holders(tx, id, MOST).await?);
                        for parent in blobs::parents(tx, id, MOST).await? {
                            if seen.insert(parent) && (seen.len() as i64) < MOST * 100 {
                                open.push(parent);
                            }
                        }
                    }
                    Ok(found.into_iter().collect())
                })
            })
            .await
    }

    /// Removes executions that ended long ago, retired versions that no active release serves,
    /// builds that were not used for long, content that no version holds, and blobs that nothing
    /// refers to and that were not touched within the grace time.
    pub async fn sweep(&self, grace_ms: i64) -> Result<SweepReport> {
        let now = self.now();
        let cutoff = milepost_model::clock::from_millis(now.as_millisecond() - grace_ms);
        let forget = milepost_model::clock::from_millis(now.as_millisecond() - IDEMPOTENCY_MS);
        self.db.write(move |tx| Box::pin(async move { idempotency::forget_before(tx, forget).await })).await?;
        let executions = self.sweep_executions().await?;
        let mut report = SweepReport { executions, versions: self.sweep_retired().await?, ..SweepReport::default() };
        let unused = milepost_model::clock::from_millis(now.as_millisecond() - BUILD_MS);
        loop {
            let swept =
                self.db.write(move |tx| Box::pin(async move { builds::sweep(tx, unused, BATCH).await })).await?;
            report.builds += swept;
            if swept == 0 {
                break;
            }
        }
        loop {
            let swept = self.db.write(|tx| Box::pin(async move { contents::sweep(tx, BATCH).await })).await?;
            report.contents += swept;
            if swept == 0 {
                break;
            }
        }
        loop {
            let (count, bytes) =
                self.db.write(move |tx| Box::pin(async move { blobs::sweep(tx, cutoff, BATCH).await })).await?;
            report.blobs += count;
            report.bytes += bytes;
            if count == 0 {
                break;
            }
        }
        report.packs = self.db.write(|tx| Box::pin(async move { blobs::sweep_packs(tx).await })).await?;
        Ok(report)
    }

    async fn sweep_retired(&self) -> Result<u64> {
        let ids = self.db.read(|tx| Box::pin(async move { versions::apps_with_retired(tx).await })).await?;
        let mut swept = 0;
        for app_id in ids {
            self.drop_left_over_aliases(app_id).await?;
            // Sweeping a version can free what it was pinned to, so this repeats until nothing
            // goes.
            loop {
                let gone = self.db.write(move |tx| Box::pin(async move { forget_retired(tx, app_id).await })).await?;
                swept += gone;
                if gone == 0 {
                    break;
                }
            }
        }
        Ok(swept)
    }

    async fn drop_left_over_aliases(&self, app_id: i64) -> Result<()> {
        let name = self.db.read(move |tx| Box::pin(async move { apps::name_of(tx, app_id).await })).await?;
        let Some(name) = name else { return Ok(()) };
        let work = self.work(&name, "milepost", crate::db::Ending::Commit, |work| {
            Box::pin(async move { crate::change::remove::drop_left_over_aliases(work).await })
        });
        // Nothing that is served follows these aliases.
        work.await.map(crate::Written::unapplied)
    }

    /// Returns the names of all packs in the catalog. An old stored pack that is not among them was
    /// orphaned by a crash.
    pub async fn known_packs(&self) -> Result<BTreeSet<String>> {
        self.db.read(|tx| Box::pin(async move { Ok(blobs::pack_names(tx).await?.into_iter().collect()) })).await
    }

    /// Identifies the database. Another value means that it is another one than before, or that it
    /// went back in time: what was read or claimed must be proved again.
    pub async fn incarnation(&self) -> Result<String> {
        self.db.read(|tx| Box::pin(async move { server_facts::incarnation(tx, INCARNATION).await })).await
    }

    /// Stores a value that all servers over this database must agree on, unless there is one, and
    /// returns the stored value.
    pub async fn agree(&self, name: &str, value: &str) -> Result<String> {
        let (name, value) = (name.to_owned(), value.to_owned());
        self.db.write(move |tx| Box::pin(async move { server_facts::agree(tx, &name, &value).await })).await
    }
}

async fn forget_retired(tx: &mut crate::db::Tx, app_id: i64) -> Result<u64> {
    // Takes the lock that every change takes, so that no release can begin to hold a version
    // meanwhile.
    apps::lock_by_id(tx, app_id).await?;
    let gone = versions::retired_and_unserved(tx, app_id, BATCH).await?;
    for id in &gone {
        versions::mark_deleted(tx, *id).await?;
    }
    Ok(gone.len() as u64)
}

async fn register_edges(tx: &mut crate::db::Tx, new: &[&NewBlob], ids: &HashMap<Digest, i64>) -> Result<()> {
    let wanted: BTreeSet<Digest> = new.iter().filter_map(|blob| blob.children.as_ref()).flatten().copied().collect();
    let wanted: Vec<Digest> = wanted.into_iter().collect();
    let known = blobs::ids_for_reference(tx, &wanted).await?;
    let missing: Vec<String> =
        wanted.iter().filter(|digest| !known.contains_key(digest)).map(ToString::to_string).collect();
    if !missing.is_empty() {
        return Err(Refusal::new(Code::MissingBlobs, "a directory refers to files that were not uploaded")
            .correct("ask which files are missing, and send them before or together with the directory")
            .missing(missing.into_iter().take(20).collect())
            .into());
    }
    let mut edges = Vec::new();
    for blob in new {
        // Also for known bytes: they may have been uploaded as a file before, which has no
        // children.
        let (Some(children), Some(parent)) = (&blob.children, ids.get(&blob.digest)) else { continue };
        let children: BTreeSet<i64> = children.iter().filter_map(|child| known.get(child)).copied().collect();
        edges.extend(children.into_iter().map(|child| (*parent, child)));
    }
    blobs::insert_edges(tx, &edges).await
}

async fn check_quota(tx: &mut crate::db::Tx, app: &apps::AppRow) -> Result<()> {
    let Some(bound) = app.plan.limits().stored_bytes else { return Ok(()) };
    let stored = blobs::stored_bytes(tx, app.id).await?;
    if stored <= bound {
        return Ok(());
    }
    let message = format!("app `{}` would store {stored} bytes, but its plan `{}` allows {bound}", app.name, app.plan);
    Err(Refusal::new(Code::PlanLimit, message)
        .correct("delete versions that are not needed")
        .next(Next::LargerPlan { app: app.name.to_string() })
        .limit(bound, stored)
        .into())
}
