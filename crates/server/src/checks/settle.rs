//! Waits for a check on behalf of a request.

use std::time::Duration;

use milepost_catalog::{Checked, Effects};
use milepost_model::check::CheckState;
use milepost_model::refusal::View;
use milepost_model::release::Release;
use milepost_model::{AppName, ChangeOutcome, Code, Refusal};

use super::LEASE_MS;
use super::run::{self, Run};
use crate::effects;
use crate::error::{ApiResult, internal};
use crate::state::State;

/// How often to poll a check that runs on another node.
const LOOK: Duration = Duration::from_millis(250);

/// Waits until the check of a release has ended, and returns the release. Runs the check here
/// unless another request or node holds it. It continues if the caller disconnects. `holder` holds
/// the lease that the release was created under.
pub(crate) async fn settled(state: &State, app: &AppName, release: &str, holder: Option<String>) -> ApiResult<Checked> {
    let holder = holder.unwrap_or_else(|| state.checks.holder());
    let mut ended_here = false;
    loop {
        let ended = state.checks.ended.notified();
        let mut ended = std::pin::pin!(ended);
        ended.as_mut().enable();
        let found = state.catalog.check_get(app, release).await?;
        if !found.is_pending() {
            if !ended_here {
                effects::apply(state, Effects::seen(app.clone())).await;
            }
            return Ok(found);
        }
        if state.checks.stop.is_cancelled() {
            return Err(stopping(release).into());
        }
        if let Some(lease) = state.catalog.check_take(app, release, &holder, LEASE_MS).await? {
            let state_of_task = state.clone();
            let checking = state.checks.tasks.spawn(async move { run::run(&state_of_task, &lease).await });
            match checking.await.map_err(|error| internal(&error))?? {
                Run::Unable(why) => return Err(unable(release, &why).into()),
                Run::Ended => ended_here = true,
                Run::Left => {}
            }
            continue;
        }
        tokio::select! {
            () = &mut ended => {}
            () = state.checks.stop.cancelled() => {}
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}

fn unable(release: &str, why: &str) -> Refusal {
    Refusal::new(
        Code::Unavailable,
        format!("release `{release}` could not be checked yet: {why}; the check is repeated"),
    )
    .see(View::Release { name: release.to_owned() })
}

fn stopping(release: &str) -> Refusal {
    Refusal::new(Code::Unavailable, format!("the server is stopping; it checks release `{release}` after its restart"))
        .see(View::Release { name: release.to_owned() })
}

/// Updates the outcome of a change when the check of its release has ended. Also applies to a
/// change that was sent before.
pub(crate) async fn changed(
    state: &State,
    app: &AppName,
    outcome: &mut ChangeOutcome,
    holder: String,
) -> ApiResult<()> {
    let Some(release) = &outcome.release else { return Ok(()) };
    if outcome.dry_run || release.check.state != CheckState::Pending {
        return Ok(());
    }
    let done = settled(state, app, &release.id, Some(holder)).await?;
    outcome.check = done.release.check.clone();
    outcome.expired = done.expired;
    outcome.release = Some(done.release);
    outcome.notices.extend(done.notices);
    Ok(())
}

/// Like [`changed`], for a release that was created manually.
pub(crate) async fn released(
    state: &State,
    app: &AppName,
    release: Release,
    expired: Vec<String>,
    holder: String,
) -> ApiResult<(Release, Vec<String>)> {
    if release.check.state != CheckState::Pending {
        return Ok((release, expired));
    }
    let done = settled(state, app, &release.id, Some(holder)).await?;
    Ok((done.release, done.expired))
}
