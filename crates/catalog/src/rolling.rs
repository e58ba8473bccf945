//! What an open rollout keeps others from doing.

use milepost_model::refusal::{Use, User, UserKind};
use milepost_model::{Code, Refusal};

use crate::error::Result;
use crate::tables::rollouts;
use crate::work::Work;

/// Refuses what would move live while a rollout is open.
pub(crate) async fn refuse_open(work: &mut Work<'_>) -> Result<()> {
    let Some(open) = rollouts::open(work.tx, work.app.id).await? else { return Ok(()) };
    let message = format!("rollout `{}` of app `{}` is open, and only its end moves live", open.name, work.app.name);
    let user = User::new(UserKind::Rollout, open.name, Use::TakesLive, "");
    Err(Refusal::new(Code::InUse, message).correct("promote or abort the rollout first").users(vec![user]).into())
}

/// Returns why a release is protected by the open rollout. Its base is live and protected as such.
pub(crate) async fn protecting(work: &mut Work<'_>, release_id: i64) -> Result<Option<String>> {
    let open = rollouts::open(work.tx, work.app.id).await?;
    Ok(open.filter(|open| open.candidate_id == release_id).map(|open| format!("candidate of rollout {}", open.name)))
}

/// Returns the rollout that protects a release, as a user of it.
pub(crate) async fn users(work: &mut Work<'_>, release_id: i64) -> Result<Option<User>> {
    let open = rollouts::open(work.tx, work.app.id).await?;
    let open = open.filter(|open| [open.base_id, open.candidate_id].contains(&release_id));
    Ok(open.map(|open| User::new(UserKind::Rollout, open.name, Use::Protects, "")))
}
