use milepost_model::pointer::Step;
use milepost_model::release::{Release, ReleaseState};
use milepost_model::{AppName, Code, Refusal, TagName};

use super::release::expired;
use crate::Catalog;
use crate::db::Ending;
use crate::effects::Written;
use crate::error::Result;
use crate::releasing;
use crate::tables::pointer_moves::Pointer;
use crate::tables::{releases, tags};

impl Catalog {
    /// Puts a tag on a release, moving it if it exists.
    pub async fn tag_set(
        &self,
        app: &AppName,
        actor: &str,
        tag: TagName,
        release: String,
        why: String,
    ) -> Result<Written<Release>> {
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let release = releasing::find(work.tx, &work.app, &release).await?;
                if release.state == ReleaseState::Expired {
                    return Err(expired(&release.name, release.expired_at));
                }
                check_free(work, &tag).await?;
                let from = tags::find(work.tx, work.app.id, tag.as_str()).await?;
                if from != Some(release.id) {
                    tags::set(work.tx, work.app.id, &tag, release.id).await?;
                    releasing::record_move(
                        work,
                        Pointer::Tag(tag.as_str()),
                        from,
                        Some(release.id),
                        Step::Forward,
                        &why,
                    )
                    .await?;
                }
                releasing::view(work.tx, &work.app, &release).await
            })
        })
        .await
    }

    pub async fn tag_delete(&self, app: &AppName, actor: &str, tag: TagName) -> Result<Written<()>> {
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let Some(from) = tags::find(work.tx, work.app.id, tag.as_str()).await? else {
                    return Err(crate::read::unknown_tag(work.tx, &work.app, tag.as_str()).await?.into());
                };
                tags::delete(work.tx, work.app.id, &tag).await?;
                releasing::record_move(work, Pointer::Tag(tag.as_str()), Some(from), None, Step::Forward, "untagged")
                    .await
            })
        })
        .await
    }
}

/// Tags, release ids and uids share a namespace in host names and in commands that take a release.
async fn check_free(work: &mut crate::work::Work<'_>, tag: &TagName) -> Result<()> {
    let is_release = releases::find_by_name(work.tx, work.app.id, tag.as_str()).await?.is_some();
    let is_version = crate::tables::app_versions::find_by_uid(work.tx, work.app.id, tag.as_str()).await?.is_some();
    if is_release || is_version {
        let message = format!("`{tag}` is the id of a release or an app version, so it cannot be a tag");
        return Err(Refusal::new(Code::NameTaken, message).correct("choose another tag").into());
    }
    // `{release}--{app}` is one label of a host name.
    if tag.as_str().len() + 2 + work.app.name.as_str().len() > 63 {
        let message =
            format!("`{tag}--{}` is longer than the 63 characters allowed in a part of a host name", work.app.name);
        return Err(Refusal::new(Code::InvalidName, message).correct("choose a shorter tag").into());
    }
    Ok(())
}
