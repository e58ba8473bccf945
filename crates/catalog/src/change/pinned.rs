//! Warnings that live is pinned, so that users do not get a change.

use milepost_model::Warning;
use milepost_model::release::LiveMode;

use crate::error::Result;
use crate::tables::releases;
use crate::work::Work;

pub(crate) async fn pinned_warning(work: &mut Work<'_>, release: &str, dry_run: bool) -> Result<Warning> {
    Ok(Warning::LiveStaysPinned { live: live_name(work).await?, release: release.to_owned(), planned: dry_run })
}

/// A delete of versions cannot be based on live.
pub(crate) async fn pinned_after_delete(work: &mut Work<'_>, release: &str, dry_run: bool) -> Result<Warning> {
    Ok(Warning::NewReleaseNotLive { live: live_name(work).await?, release: release.to_owned(), planned: dry_run })
}

async fn live_name(work: &mut Work<'_>) -> Result<Option<String>> {
    match work.app.live_release_id {
        Some(id) => work.release_name(id).await.map(Some),
        None => Ok(None),
    }
}

/// For a change that changes nothing while live is pinned: the live release may still be older than
/// the app.
pub(crate) async fn not_live_warning(work: &mut Work<'_>) -> Result<Option<Warning>> {
    let (LiveMode::Pinned, Some(id)) = (work.app.live_mode, work.app.live_release_id) else { return Ok(None) };
    let live = releases::get(work.tx, id).await?;
    Ok((live.app_seq != work.app.head_seq).then_some(Warning::LiveIsOlder { live: live.name }))
}
