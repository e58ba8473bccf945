use milepost_model::event::EventKind;
use milepost_model::release::{LiveMode, ReleaseState};
use milepost_model::rollout::{Event, Plan, Rollout, RolloutView, Scope};
use milepost_model::split::Target;
use milepost_model::{AppName, Code, Next, Refusal};
use serde_json::json;

use super::{apply, view};
use crate::db::Ending;
use crate::error::Result;
use crate::ops::release::{check_reachable, expired};
use crate::releasing;
use crate::tables::installs;
use crate::tables::releases::{self, ReleaseRow};
use crate::tables::rollouts::{self, RolloutRow};
use crate::work::Work;
use crate::{Catalog, Written};

#[derive(Debug, Clone)]
pub struct NewRollout {
    /// The candidate: anything that names a release.
    pub release: String,
    pub plan: Plan,
    /// Takes the place of the candidate of an open rollout; its base stays.
    pub supersede: bool,
    pub why: String,
}

impl Catalog {
    /// Starts a rollout of a release over live. It has no traffic until it was loaded.
    pub async fn rollout_start(&self, app: &AppName, actor: &str, new: NewRollout) -> Result<Written<RolloutView>> {
        new.plan.check().map_err(Refusal::from)?;
        self.work(app, actor, Ending::Commit, move |work| Box::pin(async move { start(work, new).await })).await
    }
}

async fn start(work: &mut Work<'_>, new: NewRollout) -> Result<RolloutView> {
    let candidate = candidate(work, &new.release).await?;
    let mut live_mode = work.app.live_mode;
    if let Some(open) = rollouts::open(work.tx, work.app.id).await? {
        if !new.supersede {
            crate::rolling::refuse_open(work).await?;
        }
        live_mode = open.live_mode;
        apply::transition(work, open, &Event::Supersede, "a newer candidate took its place").await?;
    }
    let base = base(work, &candidate).await?;
    let name = work.fresh_id().await?;
    let target = |release: &ReleaseRow| Target::Release(release.name.clone());
    let rollout = Rollout::new(Scope::App, target(&base), target(&candidate), new.plan, work.act.at);
    let row = RolloutRow {
        id: 0,
        name: name.clone(),
        base_id: base.id,
        candidate_id: candidate.id,
        live_mode,
        rollout,
        created_at: work.act.at,
        created_by: work.act.actor.clone(),
        ended_at: None,
    };
    let row = rollouts::insert(work.tx, work.app.id, &row).await?;
    let after = json!({
        "base": base.name, "candidate": candidate.name, "plan": row.rollout.plan, "state": row.rollout.state, "why": new.why,
    });
    work.event(EventKind::RolloutStarted, &format!("rollout {name}"), None, Some(after));
    // Nothing that lets live follow moves it from now on.
    work.app.live_mode = LiveMode::Pinned;
    releasing::tell_live_mode(work, &format!("rollout {name}")).await?;
    Ok(view(row))
}

async fn candidate(work: &mut Work<'_>, name: &str) -> Result<ReleaseRow> {
    let release = releasing::find(work.tx, &work.app, name).await?;
    if release.state == ReleaseState::Expired {
        return Err(expired(&release.name, release.expired_at));
    }
    check_reachable(&release)?;
    Ok(release)
}

/// Returns the live release, from which a candidate must differ.
async fn base(work: &mut Work<'_>, candidate: &ReleaseRow) -> Result<ReleaseRow> {
    let Some(live) = work.app.live_release_id else {
        let message = format!("app `{}` has no live release to roll out from", work.app.name);
        return Err(Refusal::new(Code::NoRelease, message)
            .next(Next::MakeLive { release: Some(candidate.name.clone()), force: false })
            .into());
    };
    if live == candidate.id {
        let message = format!("release `{}` is live already", candidate.name);
        return Err(Refusal::new(Code::InvalidRequest, message).correct("name another release").into());
    }
    if let Some(install) = installs::lock(work.tx, work.app.id).await?
        && install.trial_seq.is_some()
    {
        let message = format!("an upgrade of app `{}` is being checked", work.app.name);
        return Err(Refusal::new(Code::InUse, message).next(Next::Wait).into());
    }
    releases::get(work.tx, live).await
}
