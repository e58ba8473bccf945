use milepost_model::check::CheckState;
use milepost_model::pointer::Step;
use milepost_model::refusal::{Use, User, UserKind, View};
use milepost_model::release::{LiveMode, Release, ReleaseState};
use milepost_model::{AppName, Code, Next, Refusal, UnitKind};

use crate::change::check_function_count;
use crate::change::put::check_limits;
use crate::db::Ending;
use crate::effects::Written;
use crate::error::{CatalogError, Result};
use crate::releasing;
use crate::tables::releases::ReleaseRow;
use crate::tables::{app_versions, contents, memberships, releases, tags, units, versions};
use crate::work::Work;
use crate::{Catalog, Checking, rolling};

impl Catalog {
    /// Releases an app version (again) under a new id. `None` means the current state of the app.
    pub async fn release_create(
        &self,
        app: &AppName,
        actor: &str,
        app_version: Option<String>,
        why: String,
    ) -> Result<Written<(Release, Vec<String>)>> {
        self.release_create_checked(app, actor, app_version, why, Checking::Unasked).await
    }

    /// Like [`Catalog::release_create`]; `checking` says who checks the release before it may
    /// become latest and live.
    pub async fn release_create_checked(
        &self,
        app: &AppName,
        actor: &str,
        app_version: Option<String>,
        why: String,
        checking: Checking,
    ) -> Result<Written<(Release, Vec<String>)>> {
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                work.checking = checking;
                let seq = match &app_version {
                    Some(name) => crate::read::find_app_version(work.tx, &work.app, name).await?.seq,
                    None if work.app.head_seq == 0 => {
                        let message =
                            format!("app `{}` has no version yet, so there is nothing to release", work.app.name);
                        return Err(Refusal::new(Code::AppVersionNotFound, message).next(Next::Deploy).into());
                    }
                    None => work.app.head_seq,
                };
                check_releasable(work, seq).await?;
                let why = if why.is_empty() { "released by hand".to_owned() } else { why };
                let before = work.app.live_release_id;
                let (release, expired) =
                    releasing::create(work, seq, &why).await.map_err(|error| no_room_by_hand(&work.app.name, error))?;
                // While live is pinned, a release changes neither what users get nor a version on
                // trial.
                if work.app.live_release_id != before {
                    super::install_live::live_moved(work, &why).await?;
                }
                Ok((releasing::view(work.tx, &work.app, &release).await?, expired))
            })
        })
        .await
    }

    /// Expires a release that nothing protects.
    pub async fn release_expire(
        &self,
        app: &AppName,
        actor: &str,
        name: String,
        why: String,
    ) -> Result<Written<Release>> {
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let release = releasing::find(work.tx, &work.app, &name).await?;
                if release.state == ReleaseState::Expired {
                    return Err(expired(&release.name, release.expired_at));
                }
                let tags = tags::of_release(work.tx, release.id).await?;
                let mut users: Vec<User> =
                    tags.iter().map(|tag| User::new(UserKind::Tag, tag.as_str(), Use::Protects, "")).collect();
                if work.app.live_release_id == Some(release.id) {
                    let mode = if work.app.live_mode == LiveMode::Pinned { "pinned" } else { "following" };
                    users.push(User::new(UserKind::Live, "", Use::Protects, "").because(vec![mode.to_owned()]));
                }
                users.extend(rolling::users(work, release.id).await?);
                if !users.is_empty() {
                    let message = format!("release `{}` is protected", release.name);
                    return Err(Refusal::new(Code::InUse, message)
                        .next(Next::Untag)
                        .next(Next::MakeLive { release: None, force: false })
                        .users(users)
                        .into());
                }
                releasing::expire(work, &release, if why.is_empty() { "expired by hand" } else { &why }).await?;
                releasing::settle(work, Step::Forward, "a release expired").await?;
                let release = crate::tables::releases::get(work.tx, release.id).await?;
                releasing::view(work.tx, &work.app, &release).await
            })
        })
        .await
    }
}

/// Rejects a release that failed its check or is still being checked, unless the user forces it.
pub(super) fn check_reachable(release: &ReleaseRow) -> Result<()> {
    let name = &release.name;
    let (what, next) = match release.check {
        CheckState::Failed => ("did not load", Next::Correct { how: "fix it and deploy again".to_owned() }),
        CheckState::Pending => ("is still being checked", Next::See { view: View::Release { name: name.clone() } }),
        _ => return Ok(()),
    };
    Err(Refusal::new(Code::CheckFailed, format!("release `{name}` {what}"))
        .next(next)
        .next(Next::MakeLive { release: Some(name.clone()), force: true })
        .into())
}

pub(crate) fn expired(name: &str, at: Option<milepost_model::Timestamp>) -> crate::CatalogError {
    let when = at.map_or_else(String::new, |at| format!(" at {at}"));
    let message = format!("release `{name}` expired{when}");
    Refusal::new(Code::ReleaseExpired, message).next(Next::CreateRelease { of: Some(name.to_owned()) }).into()
}

/// Replaces the step to keep a change without a release: a release or a rollback needs one.
pub(super) fn no_room_by_hand(app: &AppName, error: CatalogError) -> CatalogError {
    match error {
        CatalogError::Refused(mut refusal) if refusal.code == Code::NoRoom => {
            refusal.next = vec![Next::Untag, Next::LargerPlan { app: app.to_string() }];
            CatalogError::Refused(refusal)
        }
        other => other,
    }
}

/// Rejects an app version if a version that it needs no longer exists, or if it is not the head and
/// exceeds the current plan.
pub(crate) async fn check_releasable(work: &mut Work<'_>, seq: i64) -> Result<()> {
    let missing = releasing::missing_versions(work.tx, work.app.id, seq).await?;
    if missing.is_empty() {
        return if seq == work.app.head_seq { Ok(()) } else { check_plan(work, seq).await };
    }
    let app_version = app_versions::get(work.tx, work.app.id, seq).await?.uid;
    let release = releases::of_app_version(work.tx, work.app.id, seq).await?;
    let release = release.map(|release| format!(" (release `{}`)", release.name)).unwrap_or_default();
    let message =
        format!("app version `{app_version}`{release} cannot be released again: versions it needs were deleted");
    Err(Refusal::new(Code::VersionDeleted, message)
        .correct("choose another one")
        .see(View::AppVersions)
        .deleted(missing)
        .into())
}

async fn check_plan(work: &mut Work<'_>, seq: i64) -> Result<()> {
    let mut functions = 0;
    for member in memberships::at(work.tx, work.app.id, seq).await? {
        let unit = units::find_by_id(work.tx, member.unit_id).await?;
        if unit.kind != UnitKind::Function {
            continue;
        }
        functions += 1;
        if let Some(content_id) = versions::get(work.tx, member.version_id).await?.content_id {
            let spec = contents::get(work.tx, content_id).await?;
            check_limits(work, &unit.name, &spec)?;
        }
    }
    check_function_count(work, functions)
}
