use milepost_model::change::UnitKey;
use milepost_model::diff::Contents;
use milepost_model::refusal::View;
use milepost_model::release::Release;
use milepost_model::snapshot::AppVersion;
use milepost_model::{AppName, Code, Next, Refusal};

use super::views::spec_of;
use super::{Page, PageOf, cut, object_view};
use crate::db::Tx;
use crate::error::{CatalogError, Result};
use crate::tables::app_versions::{self, AppVersionRow};
use crate::tables::apps::AppRow;
use crate::tables::{memberships, releases, tags, units, versions};
use crate::{Catalog, releasing};

/// Names that every app has as soon as they point at something.
const POINTERS: [&str; 3] = ["live", "latest", "head"];

/// Finds an app version by its uid, its number, or the release, tag or pointer that holds it.
pub(crate) async fn find_app_version(tx: &mut Tx, app: &AppRow, name: &str) -> Result<AppVersionRow> {
    if let Some(found) = app_versions::find_by_uid(tx, app.id, name).await? {
        return Ok(found);
    }
    if let Ok(seq) = name.parse::<i64>()
        && let Some(found) = app_versions::find_by_seq(tx, app.id, seq).await?
    {
        return Ok(found);
    }
    if name == "head" && app.head_seq > 0 {
        return app_versions::get(tx, app.id, app.head_seq).await;
    }
    match releasing::find(tx, app, name).await {
        Ok(release) => app_versions::get(tx, app.id, release.app_seq).await,
        Err(CatalogError::Refused(_)) if POINTERS.contains(&name) => {
            let message = match name {
                "head" => format!("app `{}` has no version yet", app.name),
                "live" => format!("nothing of app `{}` is live yet", app.name),
                _ => format!("app `{}` has no release yet", app.name),
            };
            Err(Refusal::new(Code::AppVersionNotFound, message).next(Next::Deploy).see(View::AppVersions).into())
        }
        Err(CatalogError::Refused(_)) => {
            let recent = app_versions::list(tx, app.id, None, 100).await?;
            let mut names: Vec<String> = recent.iter().map(|row| row.uid.clone()).collect();
            names.extend(releases::list(tx, app.id, false, None, 100).await?.into_iter().map(|release| release.name));
            names.extend(tags::list(tx, app.id).await?.into_iter().map(|(tag, _)| tag.to_string()));
            names.extend(POINTERS.map(str::to_owned));
            let message = format!("app `{}` has no app version or release `{name}`", app.name);
            Err(Refusal::not_found(
                Code::AppVersionNotFound,
                message,
                name,
                &names,
                [Next::See { view: View::AppVersions }],
            )
            .into())
        }
        Err(error) => Err(error),
    }
}

async fn view(tx: &mut Tx, app: &AppRow, row: AppVersionRow, with_objects: bool) -> Result<AppVersion> {
    let release: Option<Release> = match releases::of_app_version(tx, app.id, row.seq).await? {
        Some(release) => Some(releasing::view(tx, app, &release).await?),
        None => None,
    };
    let mut objects = Vec::new();
    if with_objects {
        for member in memberships::at(tx, app.id, row.seq).await? {
            objects.push(object_view(tx, member.version_id).await?);
        }
    }
    Ok(AppVersion {
        id: row.uid,
        number: row.seq,
        created_at: row.created_at,
        created_by: row.created_by,
        message: row.message,
        git: row.git,
        objects,
        release,
    })
}

impl Catalog {
    /// Newest first, without their units.
    pub async fn app_version_list(&self, app: &AppName, page: Page) -> Result<PageOf<AppVersion>> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                let mut rows = app_versions::list(tx, app.id, page.below, page.fetch()).await?;
                let next = cut(&mut rows, page.limit, |row| row.seq);
                let mut items = Vec::with_capacity(rows.len());
                for row in rows {
                    items.push(view(tx, &app, row, false).await?);
                }
                Ok(PageOf { items, next })
            })
        })
        .await
    }

    /// Returns one app version with all of its units.
    pub async fn app_version_get(&self, app: &AppName, name: String) -> Result<AppVersion> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                let row = find_app_version(tx, &app, &name).await?;
                view(tx, &app, row, true).await
            })
        })
        .await
    }

    /// Returns an app version with the content of each unit, for a diff. Units whose version was
    /// deleted since are left out and listed with the number of that version.
    pub async fn app_version_contents(
        &self,
        app: &AppName,
        name: String,
    ) -> Result<(AppVersion, Contents, Vec<(UnitKey, i64)>)> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                let row = find_app_version(tx, &app, &name).await?;
                let seq = row.seq;
                let mut contents = Contents::new();
                let mut gone = Vec::new();
                for member in memberships::at(tx, app.id, seq).await? {
                    let unit = units::find_by_id(tx, member.unit_id).await?;
                    let version = versions::get(tx, member.version_id).await?;
                    let key: UnitKey = unit.key();
                    if version.content_id.is_none() {
                        gone.push((key, version.number));
                        continue;
                    }
                    let spec = spec_of(tx, &version).await?;
                    contents.insert(key, (version.number, spec));
                }
                Ok((view(tx, &app, row, false).await?, contents, gone))
            })
        })
        .await
    }

    pub async fn release_list(&self, app: &AppName, active_only: bool, page: Page) -> Result<PageOf<Release>> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                let mut rows = releases::list(tx, app.id, active_only, page.below, page.fetch()).await?;
                let next = cut(&mut rows, page.limit, |row| row.id);
                let mut items = Vec::with_capacity(rows.len());
                for row in &rows {
                    items.push(releasing::view(tx, &app, row).await?);
                }
                Ok(PageOf { items, next })
            })
        })
        .await
    }

    pub async fn release_get(&self, app: &AppName, name: String) -> Result<Release> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                let row = releasing::find(tx, &app, &name).await?;
                releasing::view(tx, &app, &row).await
            })
        })
        .await
    }
}
