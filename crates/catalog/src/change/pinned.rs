//! Warnings that live is pinned, so that users do not get a change.

use milepost_model::release::LiveMode;

use crate::error::Result;
use crate::tables::releases;
use crate::work::Work;

pub(crate) async fn pinned_warning(work: &mut Work<'_>, release: &str, dry_run: bool) -> Result<String> {
    let live = live_name(work).await?;
    if dry_run {
        return Ok(format!(
            "live stays pinned to release {live}, so users would not get this change. `--on live` adds it to what is live \
             instead"
        ));
    }
    Ok(format!(
        "live stays pinned to release {live}, so users do not get this change. Repeat the command with `--on live` to add \
         it to what is live. `milepost release live {release}` and `milepost release live --follow` would also bring back \
         everything else that is newer than release {live}, such as code that was rolled back"
    ))
}

/// Deleting versions has no `--on live`.
pub(crate) async fn pinned_after_delete(work: &mut Work<'_>, release: &str, dry_run: bool) -> Result<String> {
    let live = live_name(work).await?;
    if dry_run {
        return Ok(format!("live stays pinned to release {live}; the new release would not be live"));
    }
    Ok(format!(
        "live stays pinned to release {live}; release {release} is not live. `milepost release live {release}` puts it live, \
         `milepost release live --follow` lets live follow new releases again"
    ))
}

async fn live_name(work: &mut Work<'_>) -> Result<String> {
    match work.app.live_release_id {
        Some(id) => work.release_name(id).await,
        None => Ok("nothing".to_owned()),
    }
}

/// For a change that changes nothing while live is pinned: the live release may still be older than
/// the app.
pub(crate) async fn not_live_warning(work: &mut Work<'_>) -> Result<Option<String>> {
    let (LiveMode::Pinned, Some(id)) = (work.app.live_mode, work.app.live_release_id) else { return Ok(None) };
    let live = releases::get(work.tx, id).await?;
    Ok((live.app_seq != work.app.head_seq).then(|| {
        format!(
            "live is pinned to release {0}, which is older than what the app has now. Repeat the command with `--on live` to \
             add the change to what is live; `milepost release live --follow` brings back everything that is newer than \
             release {0}",
            live.name
        )
    }))
}
