use milepost_model::pointer::{Step, rollback_target};
use milepost_model::release::{Live, LiveMode, Release, ReleaseState};
use milepost_model::{AppName, Code, Refusal};

use super::release::{check_releasable, expired};
use crate::Catalog;
use crate::db::Ending;
use crate::error::Result;
use crate::releasing;
use crate::tables::pointer_moves::{self, Pointer};
use crate::tables::releases::{self, ReleaseRow};
use crate::work::Work;

const HISTORY: i64 = 1000;

#[derive(Debug, Clone)]
pub enum LiveTarget {
    /// Pins live to a release.
    Release(String),
    /// Lets live follow latest again.
    Follow,
}

#[derive(Debug, Clone)]
pub struct RollbackInput {
    /// None means where live was before.
    pub to: Option<String>,
    pub why: String,
    pub dry_run: bool,
}

/// Where a rollback went, and from where.
#[derive(Debug, Clone)]
pub struct Rollback {
    pub from: Option<Release>,
    pub to: Release,
    /// The release was expired and has been released again under a new id.
    pub released_again: bool,
    pub expired: Vec<String>,
}

impl Catalog {
    pub async fn live_set(&self, app: &AppName, actor: &str, target: LiveTarget, why: String) -> Result<Live> {
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                match target {
                    LiveTarget::Follow => {
                        work.app.live_mode = LiveMode::Following;
                        let why = if why.is_empty() { "live follows latest".to_owned() } else { why };
                        releasing::settle(work, Step::Forward, &why).await?;
                    }
                    LiveTarget::Release(name) => {
                        let release = releasing::find(work.tx, &work.app, &name).await?;
                        if release.state == ReleaseState::Expired {
                            return Err(expired(&release.name, release.expired_at));
                        }
                        work.app.live_mode = LiveMode::Pinned;
                        let why = if why.is_empty() { "put live by hand".to_owned() } else { why };
                        if work.app.live_release_id != Some(release.id) {
                            releasing::move_live(work, Some(release.id), Step::Forward, &why).await?;
                        }
                    }
                }
                crate::read::live_view(work.tx, &work.app).await
            })
        })
        .await
    }

    /// Puts live back to what it was before, or to a named release, and pins it there. A release that has expired
    /// meanwhile is released again: undoing a bad deploy must not fail because time has passed.
    pub async fn rollback(&self, app: &AppName, actor: &str, input: RollbackInput) -> Result<Rollback> {
        let ending = if input.dry_run { Ending::Forget } else { Ending::Commit };
        self.work(app, actor, ending, move |work| {
            Box::pin(async move {
                let from = match work.app.live_release_id {
                    Some(id) => Some(releases::get(work.tx, id).await?),
                    None => None,
                };
                let target = match &input.to {
                    Some(name) => find_target(work, name).await?,
                    None => Found { seq: None, release: previous(work).await? },
                };
                let from_view = match &from {
                    Some(row) => Some(releasing::view(work.tx, &work.app, row).await?),
                    None => None,
                };
                let why = if input.why.is_empty() { "rollback".to_owned() } else { input.why };
                // Pinned first, so that releasing again does not take live along by itself.
                work.app.live_mode = LiveMode::Pinned;
                let (row, released_again, expired) = make_reachable(work, target, &why).await?;
                if work.app.live_release_id != Some(row.id) {
                    releasing::move_live(work, Some(row.id), Step::Back, &why).await?;
                }
                let to = releasing::view(work.tx, &work.app, &row).await?;
                Ok(Rollback { from: from_view, to, released_again, expired })
            })
        })
        .await
    }
}

/// A release, or an app version that was never released.
struct Found {
    seq: Option<i64>,
    release: Option<ReleaseRow>,
}

async fn find_target(work: &mut Work<'_>, name: &str) -> Result<Found> {
    match releasing::find(work.tx, &work.app, name).await {
        Ok(release) => Ok(Found { seq: None, release: Some(release) }),
        Err(crate::CatalogError::Refused(refusal)) if refusal.code == Code::NoRelease => {
            let app_version = crate::read::find_app_version(work.tx, &work.app, name).await?;
            Ok(Found { seq: Some(app_version.seq), release: None })
        }
        Err(error) => Err(error),
    }
}

/// The release that was live before the present one, on the path that deploys and rollbacks have drawn.
async fn previous(work: &mut Work<'_>) -> Result<Option<ReleaseRow>> {
    let moves = pointer_moves::list(work.tx, work.app.id, Pointer::Live, None, HISTORY).await?;
    let mut steps = Vec::new();
    for step in moves.iter().rev() {
        let Some(id) = step.to_id else { continue };
        let row = releases::get(work.tx, id).await?;
        // Two releases of one app version are one place on the path: going from one to the other would undo nothing.
        steps.push((row.app_seq, step.step));
    }
    let Some(seq) = rollback_target(&steps) else {
        let message =
            format!("App `{}` was never live with anything else, so there is nothing to go back to.", work.app.name);
        let hint = "`milepost release list` shows what can be put live with `milepost release live RELEASE`";
        return Err(Refusal::new(Code::NothingToRollBackTo, message).hint(hint).into());
    };
    releases::of_app_version(work.tx, work.app.id, seq).await
}

async fn make_reachable(work: &mut Work<'_>, target: Found, why: &str) -> Result<(ReleaseRow, bool, Vec<String>)> {
    if let Some(release) = &target.release
        && release.state == ReleaseState::Active
    {
        return Ok((release.clone(), false, Vec::new()));
    }
    let seq = target.seq.or(target.release.map(|release| release.app_seq)).unwrap_or(work.app.head_seq);
    check_releasable(work, seq).await?;
    let (row, expired) = releasing::create(work, seq, why).await?;
    Ok((row, true, expired))
}
