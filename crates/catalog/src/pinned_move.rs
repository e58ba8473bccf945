//! Moves a pinned live to the release that a change on live makes. Live stays pinned.

use milepost_model::pointer::Step;

use crate::error::Result;
use crate::releasing;
use crate::tables::releases::ReleaseRow;
use crate::work::Work;

/// Moves pinned live to a release that holds live's content plus a change.
pub(crate) async fn move_to(work: &mut Work<'_>, release: &ReleaseRow, why: &str) -> Result<()> {
    if work.app.live_release_id == Some(release.id) {
        return Ok(());
    }
    releasing::move_live(work, Some(release.id), Step::Forward, why).await
}
