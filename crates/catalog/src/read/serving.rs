//! Everything that a gateway needs to know about an app, in one read: pointers, active releases,
//! and the content of everything that they hold. Immutable parts are read once: the caller passes
//! what it already has.

use std::collections::{HashMap, HashSet};

use milepost_model::release::ReleaseState;
use milepost_model::spec::PinRole;
use milepost_model::split::Split;
use milepost_model::{
    AliasName, AppName, Code, Digest, Refusal, Selector, TagName, Timestamp, UnitKind, UnitName, UnitSpec,
};

use crate::Catalog;
use crate::db::Tx;
use crate::error::Result;
use crate::tables::apps::{self, AppRow};
use crate::tables::{aliases, events, memberships, releases, served_versions, splits, tags, units, versions};

/// Parameters per statement. SQLite and PostgreSQL both allow more.
const CHUNK: usize = 500;
/// Maximum number of expired releases in a first read, newest first. Older ones are not requested
/// any more.
const EXPIRED: i64 = 10_000;

/// A point in an app's history. Two reads at equal positions saw the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Distinguishes apps of one name: an app that was deleted and created again restarts its event
    /// numbers.
    pub app_id: i64,
    /// The number of the newest event.
    pub event: i64,
    /// Its digest, which covers all events before it. `None` if an earlier program wrote it.
    pub digest: Option<Digest>,
}

/// How a read relates to the caller's earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Continuity {
    /// There were none, or this one follows them. It has what is new.
    Follows,
    /// Another app has the name now. This read has all of it, and what the caller has is of no use.
    OtherApp,
    /// The history that the caller has read is not in the database any more, after a failover or a
    /// restore. This read has all of the app, and what the caller has is of no use.
    Cut,
}

/// What the caller has from earlier reads.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// Where its last read was. Without it, the rest must be empty.
    pub position: Option<Position>,
    /// App versions whose members it has.
    pub app_versions: HashSet<i64>,
    /// Versions whose content it has.
    pub versions: HashSet<i64>,
    /// Releases that were active at its last read.
    pub active: HashSet<String>,
    /// The newest release that it has seen, active or not.
    pub newest_release: i64,
}

/// One app, ready to be served.
#[derive(Debug, Clone)]
pub struct Serving {
    pub app: AppName,
    pub position: Position,
    pub continuity: Continuity,
    pub live: Option<String>,
    /// What stands beside live while a rollout is open.
    pub split: Option<Split>,
    pub latest: Option<String>,
    pub releases: Vec<ServingRelease>,
    pub newest_release: i64,
    /// Releases that expired since the caller's last read.
    pub expired: Vec<(String, Timestamp)>,
    pub aliases: Vec<ServingAlias>,
    /// Members of app versions that the caller does not have.
    pub members: HashMap<i64, Vec<i64>>,
    /// Versions that the caller does not have: members, what they are pinned to, and targets of
    /// aliases.
    pub versions: HashMap<i64, ServingVersion>,
}

#[derive(Debug, Clone)]
pub struct ServingRelease {
    pub id: String,
    pub app_version: i64,
    pub tags: Vec<TagName>,
}

#[derive(Debug, Clone)]
pub struct ServingAlias {
    pub function: UnitName,
    pub name: AliasName,
    pub version: i64,
}

/// A version with everything needed to run it.
#[derive(Debug, Clone)]
pub struct ServingVersion {
    pub id: i64,
    pub kind: UnitKind,
    pub name: UnitName,
    pub number: i64,
    pub uid: String,
    pub digest: Digest,
    pub spec: UnitSpec,
    /// The value of a secret, encrypted under the server's key.
    pub sealed: Option<Vec<u8>>,
    pub pins: Vec<(PinRole, i64)>,
}

/// One version of a function with the current app around it, for calls that name no release.
#[derive(Debug, Clone)]
pub struct ServingFunction {
    pub app: AppName,
    pub version: i64,
    /// The versions that the app has now.
    pub members: Vec<i64>,
    pub versions: HashMap<i64, ServingVersion>,
}

/// Function versions with the app version that a release binds them to.
#[derive(Debug, Clone)]
pub struct ServingFunctions {
    pub app: AppName,
    pub functions: Vec<i64>,
    pub members: Vec<i64>,
    pub versions: HashMap<i64, ServingVersion>,
}

impl Catalog {
    /// Returns `None` if there is no such app.
    pub async fn serving(&self, app: &AppName, known: Known) -> Result<Option<Serving>> {
        let app = app.clone();
        self.db
            .read(move |tx| {
                Box::pin(async move {
                    let Some(app) = apps::find(tx, &app).await? else { return Ok(None) };
                    let continuity = continuity(tx, &app, known.position).await?;
                    let known = if continuity == Continuity::Follows { known } else { Known::default() };
                    let serving = look(tx, app, &known).await?;
                    Ok(Some(Serving { continuity, ..serving }))
                })
            })
            .await
    }

    /// Returns a version of a function by any selector.
    pub async fn serving_function(
        &self,
        app: &AppName,
        function: UnitName,
        selector: Selector,
    ) -> Result<ServingFunction> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                let unit = units::get_present(tx, &app, UnitKind::Function, &function).await?;
                let version = crate::resolve::version(tx, &unit, &selector).await?.id;
                around(tx, app, version).await
            })
        })
        .await
    }

    /// Returns the version that an execution runs, even if its function was removed since. Rejected
    /// if the app was deleted: a new app with its name has other secrets.
    pub async fn serving_version(&self, app: &AppName, version_id: i64) -> Result<ServingFunction> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                if !versions::is_of_app(tx, version_id, app.id).await? {
                    let message = format!("app `{}` does not have the version", app.name);
                    return Err(Refusal::new(Code::VersionNotFound, message)
                        .correct("run the function of the current app: the earlier app of this name was deleted")
                        .into());
                }
                around(tx, app, version_id).await
            })
        })
        .await
    }

    /// Returns every app with its position, to find stale views.
    pub async fn serving_marks(&self) -> Result<Vec<(AppName, Position)>> {
        self.db.read(|tx| Box::pin(async move { apps::marks(tx).await })).await
    }
}

/// Compares the caller's position with the history in the snapshot that is read.
async fn continuity(tx: &mut Tx, app: &AppRow, known: Option<Position>) -> Result<Continuity> {
    let Some(known) = known else { return Ok(Continuity::Follows) };
    if known.app_id != app.id {
        return Ok(Continuity::OtherApp);
    }
    let follows = match known.event == app.event_seq {
        true => known.digest == app.digest(),
        false => events::is_at(tx, app.id, known.event, known.digest).await?,
    };
    Ok(if follows { Continuity::Follows } else { Continuity::Cut })
}

async fn around(tx: &mut Tx, app: AppRow, version: i64) -> Result<ServingFunction> {
    let members = memberships::at(tx, app.id, app.head_seq).await?;
    let members: Vec<i64> = members.into_iter().map(|member| member.version_id).collect();
    let wanted = members.iter().copied().chain([version]).collect();
    let versions = load(tx, wanted, &HashSet::new()).await?;
    Ok(ServingFunction { app: app.name, version, members, versions })
}

pub(crate) async fn functions_at(tx: &mut Tx, app: AppRow, seq: i64, functions: Vec<i64>) -> Result<ServingFunctions> {
    let members = memberships::at(tx, app.id, seq).await?;
    let members: Vec<i64> = members.into_iter().map(|member| member.version_id).collect();
    let versions = load(tx, members.iter().copied().collect(), &HashSet::new()).await?;
    Ok(ServingFunctions { app: app.name, functions, members, versions })
}

async fn look(tx: &mut Tx, app: AppRow, known: &Known) -> Result<Serving> {
    let mut tags_of: HashMap<i64, Vec<TagName>> = HashMap::new();
    for (tag, release) in tags::list(tx, app.id).await? {
        tags_of.entry(release).or_default().push(tag);
    }
    let active = releases::active(tx, app.id).await?;
    let name_of =
        |id: Option<i64>| id.and_then(|id| active.iter().find(|row| row.id == id)).map(|row| row.name.clone());
    let split = match app.live_split_id {
        Some(id) => Some(splits::get(tx, id).await?),
        None => None,
    };
    let mut serving = Serving {
        position: Position { app_id: app.id, event: app.event_seq, digest: app.digest() },
        continuity: Continuity::Follows,
        live: name_of(app.live_release_id),
        split,
        latest: name_of(app.latest_release_id),
        newest_release: known.newest_release,
        expired: Vec::new(),
        aliases: aliases_of(tx, app.id).await?,
        members: HashMap::new(),
        versions: HashMap::new(),
        releases: Vec::with_capacity(active.len()),
        app: app.name.clone(),
    };
    expired_since(tx, &app, known, &active, &mut serving).await?;
    let mut wanted: HashSet<i64> = serving.aliases.iter().map(|alias| alias.version).collect();
    for row in active {
        if !known.app_versions.contains(&row.app_seq) && !serving.members.contains_key(&row.app_seq) {
            let members = memberships::at(tx, app.id, row.app_seq).await?;
            let members: Vec<i64> = members.into_iter().map(|member| member.version_id).collect();
            wanted.extend(&members);
            serving.members.insert(row.app_seq, members);
        }
        serving.newest_release = serving.newest_release.max(row.id);
        let tags = tags_of.remove(&row.id).unwrap_or_default();
        serving.releases.push(ServingRelease { id: row.name, app_version: row.app_seq, tags });
    }
    serving.versions = load(tx, wanted, &known.versions).await?;
    Ok(serving)
}

async fn aliases_of(tx: &mut Tx, app_id: i64) -> Result<Vec<ServingAlias>> {
    let all = aliases::of_app(tx, app_id).await?.into_iter();
    Ok(all.map(|(function, name, version)| ServingAlias { function, name, version }).collect())
}

/// Adds releases that expired since the last read, including those that were also created since.
async fn expired_since(
    tx: &mut Tx,
    app: &AppRow,
    known: &Known,
    active: &[releases::ReleaseRow],
    serving: &mut Serving,
) -> Result<()> {
    let still: HashSet<&str> = active.iter().map(|row| row.name.as_str()).collect();
    for gone in known.active.iter().filter(|name| !still.contains(name.as_str())) {
        let row = releases::find_by_name(tx, app.id, gone).await?;
        serving.expired.extend(row.and_then(|row| Some((row.name, row.expired_at?))));
    }
    for row in releases::above(tx, app.id, known.newest_release, EXPIRED).await? {
        serving.newest_release = serving.newest_release.max(row.id);
        if row.state == ReleaseState::Expired
            && let Some(at) = row.expired_at
        {
            serving.expired.push((row.name, at));
        }
    }
    Ok(())
}

/// Loads versions and, transitively, everything that they are pinned to.
async fn load(tx: &mut Tx, mut wanted: HashSet<i64>, known: &HashSet<i64>) -> Result<HashMap<i64, ServingVersion>> {
    let mut found: HashMap<i64, ServingVersion> = HashMap::new();
    loop {
        let missing: Vec<i64> = wanted.drain().filter(|id| !known.contains(id) && !found.contains_key(id)).collect();
        if missing.is_empty() {
            return Ok(found);
        }
        for chunk in missing.chunks(CHUNK) {
            for version in served_versions::get_many(tx, chunk).await? {
                found.insert(version.id, version);
            }
            for (id, role, target) in versions::pins_of(tx, chunk).await? {
                if let Some(version) = found.get_mut(&id) {
                    version.pins.push((role, target));
                    wanted.insert(target);
                }
            }
        }
    }
}
