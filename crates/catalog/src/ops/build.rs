use std::sync::Arc;

use milepost_model::build::{Build, BuildState};
use milepost_model::{AppName, Code, Digest, Refusal, Timestamp, UnitName};

use crate::Catalog;
use crate::db::Tx;
use crate::error::{CatalogError, Result};
use crate::tables::{apps, blobs, builds};

/// Gives up after this many collisions: the id source is broken.
const TRIES: usize = 100;
/// A build that was used this recently is not marked again, so that most lookups do not write.
const TOUCH_EVERY_MS: i64 = 24 * 3600 * 1000;

/// A finished build, as reported by the server that ran it.
#[derive(Debug, Clone)]
pub struct NewBuild {
    /// The id that users were shown, from [`Catalog::build_id`].
    pub id: String,
    /// `milepost_model::build::key` of source, environment and the package's own command.
    pub key: Digest,
    pub package: UnitName,
    pub source: Digest,
    pub command: String,
    /// The resulting tree, or why there is none.
    pub result: std::result::Result<Digest, String>,
    pub log: Option<Digest>,
    pub started_at: Timestamp,
    pub duration_ms: i64,
    pub started_by: String,
}

impl Catalog {
    /// Draws an id for a build that is about to begin. Nothing is written until the build is
    /// finished.
    pub async fn build_id(&self, app: &AppName) -> Result<String> {
        let (app, ids) = (app.clone(), Arc::clone(&self.ids));
        self.db
            .read(move |tx| {
                Box::pin(async move {
                    let app = apps::get(tx, &app).await?;
                    for _ in 0..TRIES {
                        let id = ids.short_id();
                        if builds::find_by_uid(tx, app.id, &id).await?.is_none() {
                            return Ok(id);
                        }
                    }
                    Err(exhausted())
                })
            })
            .await
    }

    /// Records a finished build. Its result and its log must be uploaded already; from now on the
    /// row keeps them.
    pub async fn build_record(&self, app: &AppName, new: NewBuild) -> Result<Build> {
        let (app, ids) = (app.clone(), Arc::clone(&self.ids));
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    let app = apps::get(tx, &app).await?;
                    let blobs = find_blobs(tx, &new).await?;
                    let key = new.key;
                    let mut build = view(new);
                    for _ in 0..TRIES {
                        if builds::insert(tx, app.id, &key, &build, &blobs).await? {
                            return Ok(build);
                        }
                        // Another build took the id since it was drawn.
                        build.id = ids.short_id();
                    }
                    Err(exhausted())
                })
            })
            .await
    }

    /// Returns the successful build with a key. A lookup counts as a use.
    pub async fn build_find(&self, app: &AppName, key: Digest) -> Result<Option<Build>> {
        let name = app.clone();
        let found = self
            .db
            .read(move |tx| {
                Box::pin(async move {
                    let app = apps::get(tx, &name).await?;
                    builds::find_by_key(tx, app.id, &key).await
                })
            })
            .await?;
        let Some(row) = found else { return Ok(None) };
        let now = self.now();
        if now.as_millisecond() - row.used_at.as_millisecond() < TOUCH_EVERY_MS {
            return Ok(Some(row.build));
        }
        // A sweep may have run between the lookup and the touch.
        let still = self.db.write(move |tx| Box::pin(async move { builds::touch(tx, row.id, now).await })).await?;
        Ok(still.then_some(row.build))
    }
}

fn view(new: NewBuild) -> Build {
    let (state, deployment, reason) = match new.result {
        Ok(deployment) => (BuildState::Succeeded, Some(deployment), String::new()),
        Err(reason) => (BuildState::Failed, None, reason),
    };
    Build {
        id: new.id,
        package: new.package,
        state,
        source: new.source,
        command: new.command,
        deployment,
        log: new.log,
        reason,
        started_at: new.started_at,
        duration_ms: new.duration_ms,
        started_by: new.started_by,
    }
}

/// A directory is registered only with everything in it, so a tree whose root exists is complete.
async fn find_blobs(tx: &mut Tx, new: &NewBuild) -> Result<builds::Blobs> {
    let deployment = new.result.as_ref().ok().copied();
    let mut wanted: Vec<Digest> = deployment.into_iter().chain(new.log).collect();
    wanted.sort_unstable();
    let known = blobs::ids_for_reference(tx, &wanted).await?;
    let mut missing: Vec<String> =
        wanted.iter().filter(|digest| !known.contains_key(digest)).map(ToString::to_string).collect();
    if let Some(deployment) = deployment {
        // The same bytes may exist as a plain file, which has no children.
        let found = blobs::locate(tx, &[deployment]).await?;
        if found.iter().any(|blob| !blob.is_directory) {
            missing.push(deployment.to_string());
        }
    }
    if !missing.is_empty() {
        return Err(Refusal::new(Code::MissingBlobs, "the server does not have the result or the log of the build")
            .correct("upload the result and the log first")
            .missing(missing)
            .into());
    }
    let id = |digest: Option<Digest>| digest.and_then(|digest| known.get(&digest).copied());
    Ok(builds::Blobs { deployment: id(deployment), log: id(new.log) })
}

fn exhausted() -> CatalogError {
    CatalogError::inconsistent("the source of ids gives only ids that are taken".to_owned())
}
