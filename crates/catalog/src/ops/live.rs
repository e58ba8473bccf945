use milepost_model::pointer::{Step, rollback_targets};
use milepost_model::refusal::View;
use milepost_model::release::{Live, LiveMode, Release, ReleaseState};
use milepost_model::{AppName, Code, Next, Refusal};

use super::release::{check_reachable, check_releasable, expired, no_room_by_hand};
use crate::db::Ending;
use crate::effects::Written;
use crate::error::{CatalogError, Result};
use crate::ops::install_live::{live_kept, live_moved};
use crate::releasing;
use crate::tables::app_versions;
use crate::tables::pointer_moves::{self, Pointer};
use crate::tables::releases::{self, ReleaseRow};
use crate::work::Work;
use crate::{Catalog, rolling};

const HISTORY: i64 = 1000;
/// Each candidate costs queries while other writes wait.
const MOST_OFFERS: usize = 20;

#[derive(Debug, Clone)]
pub enum LiveTarget {
    /// Pins live to a release. Rejected while its check is pending or failed.
    Release(String),
    /// Pins live to a release regardless of its check.
    Forced(String),
    /// Lets live follow latest again.
    Follow,
}

#[derive(Debug, Clone)]
pub struct RollbackInput {
    /// `None` means where live was before.
    pub to: Option<String>,
    pub why: String,
    pub dry_run: bool,
}

/// The releases that a rollback moved between.
#[derive(Debug, Clone)]
pub struct Rollback {
    pub from: Option<Release>,
    pub to: Release,
    /// The release had expired and was released again under a new id.
    pub released_again: bool,
    pub expired: Vec<String>,
}

impl Catalog {
    pub async fn live_set(&self, app: &AppName, actor: &str, target: LiveTarget, why: String) -> Result<Written<Live>> {
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                rolling::refuse_open(work).await?;
                match target {
                    LiveTarget::Follow => {
                        work.app.live_mode = LiveMode::Following;
                        let told = if why.is_empty() { "live follows latest".to_owned() } else { why.clone() };
                        releasing::settle(work, Step::Forward, &told).await?;
                        releasing::tell_live_mode(work, &why).await?;
                        live_moved(work, &told).await?;
                    }
                    LiveTarget::Release(ref name) | LiveTarget::Forced(ref name) => {
                        let release = releasing::find(work.tx, &work.app, name).await?;
                        if release.state == ReleaseState::Expired {
                            return Err(expired(&release.name, release.expired_at));
                        }
                        let is_live = work.app.live_release_id == Some(release.id);
                        if matches!(target, LiveTarget::Release(_)) && !is_live {
                            check_reachable(&release)?;
                        }
                        work.app.live_mode = LiveMode::Pinned;
                        if !is_live {
                            let why = if why.is_empty() { "put live by hand".to_owned() } else { why };
                            releasing::move_live(work, Some(release.id), Step::Forward, &why).await?;
                            live_moved(work, &why).await?;
                        } else {
                            releasing::tell_live_mode(work, &why).await?;
                            live_kept(work).await?;
                        }
                    }
                }
                crate::read::live_view(work.tx, &work.app).await
            })
        })
        .await
    }

    /// Moves live back to where it was before, or to a named release, and pins it there. An expired
    /// release is released again: undoing a bad deploy must not fail because time has passed.
    pub async fn rollback(&self, app: &AppName, actor: &str, input: RollbackInput) -> Result<Written<Rollback>> {
        let ending = if input.dry_run { Ending::Forget } else { Ending::Commit };
        self.work(app, actor, ending, move |work| {
            Box::pin(async move {
                let from = match work.app.live_release_id {
                    Some(id) => Some(releases::get(work.tx, id).await?),
                    None => None,
                };
                let from_view = match &from {
                    Some(row) => Some(releasing::view(work.tx, &work.app, row).await?),
                    None => None,
                };
                let why = if input.why.is_empty() { "rollback".to_owned() } else { input.why };
                // The base is where live was before the rollout began.
                if let (true, Some(base)) = (super::rollout::roll_back(work, &why).await?, &from)
                    && input.to.is_none()
                {
                    let to = releasing::view(work.tx, &work.app, base).await?;
                    return Ok(Rollback { from: from_view, to, released_again: false, expired: Vec::new() });
                }
                let target = match &input.to {
                    Some(name) => named_target(work, name).await?,
                    None => Target::AppVersion(previous(work).await?[0]),
                };
                // Pinned first, so that releasing again does not move live by itself.
                work.app.live_mode = LiveMode::Pinned;
                let reached = match make_reachable(work, target, &why).await {
                    Err(CatalogError::Refused(refusal)) if input.to.is_none() => {
                        Err(offer_earlier(work, *refusal).await?)
                    }
                    reached => reached,
                };
                let (row, released_again, expired) = reached?;
                if work.app.live_release_id != Some(row.id) {
                    releasing::move_live(work, Some(row.id), Step::Back, &why).await?;
                    live_moved(work, &why).await?;
                } else {
                    releasing::tell_live_mode(work, &why).await?;
                    live_kept(work).await?;
                }
                let to = releasing::view(work.tx, &work.app, &row).await?;
                Ok(Rollback { from: from_view, to, released_again, expired })
            })
        })
        .await
    }
}

/// Target of a rollback: an active release, or an app version through any release it has.
pub(super) enum Target {
    Release(ReleaseRow),
    AppVersion(i64),
}

async fn named_target(work: &mut Work<'_>, name: &str) -> Result<Target> {
    match releasing::find(work.tx, &work.app, name).await {
        Ok(release) if release.state == ReleaseState::Active => Ok(Target::Release(release)),
        Ok(release) => Ok(Target::AppVersion(release.app_seq)),
        Err(crate::CatalogError::Refused(_)) => {
            Ok(Target::AppVersion(crate::read::find_app_version(work.tx, &work.app, name).await?.seq))
        }
        Err(error) => Err(error),
    }
}

/// Returns the app versions that were live before the current one, along the path of deploys and
/// rollbacks: at least one, nearest first.
async fn previous(work: &mut Work<'_>) -> Result<Vec<i64>> {
    let moves = pointer_moves::list(work.tx, work.app.id, Pointer::Live, None, HISTORY).await?;
    let mut steps = Vec::new();
    for step in moves.iter().rev() {
        let Some(id) = step.to_id else { continue };
        let row = releases::get(work.tx, id).await?;
        // Two releases of one app version count as one place: moving between them would undo
        // nothing.
        steps.push((row.app_seq, step.step));
    }
    let earlier = rollback_targets(&steps);
    if earlier.is_empty() {
        let message = format!("live of app `{}` was at no earlier release", work.app.name);
        return Err(Refusal::new(Code::NothingToRollBackTo, message)
            .see(View::ReleaseHistory)
            .next(Next::MakeLive { release: None, force: false })
            .into());
    }
    Ok(earlier)
}

/// If the user named no target, suggests the nearest earlier one that can be reached.
async fn offer_earlier(work: &mut Work<'_>, mut refusal: Refusal) -> Result<CatalogError> {
    if refusal.code != Code::VersionDeleted {
        return Ok(refusal.into());
    }
    for seq in previous(work).await?.into_iter().skip(1).take(MOST_OFFERS) {
        let release = releases::of_app_version(work.tx, work.app.id, seq).await?;
        let active = release.is_some_and(|release| release.state == ReleaseState::Active);
        if active || releasing::missing_versions(work.tx, work.app.id, seq).await?.is_empty() {
            let target = app_versions::get(work.tx, work.app.id, seq).await?.uid;
            refusal.next = vec![Next::RollBackTo { target }];
            return Ok(refusal.into());
        }
    }
    Ok(refusal.into())
}

pub(super) async fn make_reachable(
    work: &mut Work<'_>,
    target: Target,
    why: &str,
) -> Result<(ReleaseRow, bool, Vec<String>)> {
    let seq = match target {
        Target::Release(release) => return Ok((release, false, Vec::new())),
        Target::AppVersion(seq) => seq,
    };
    if let Some(release) = releases::of_app_version(work.tx, work.app.id, seq).await?
        && release.state == ReleaseState::Active
    {
        return Ok((release, false, Vec::new()));
    }
    check_releasable(work, seq).await?;
    let (row, expired) =
        releasing::create(work, seq, why).await.map_err(|error| no_room_by_hand(&work.app.name, error))?;
    Ok((row, true, expired))
}
