use milepost_model::event::Event;
use milepost_model::pointer::{Alias, PointerMove};
use milepost_model::refusal::View;
use milepost_model::release::Release;
use milepost_model::snapshot::AppObject;
use milepost_model::{AliasName, AppName, Code, Next, Refusal, TagName, Timestamp, UnitKind, UnitName};

use super::{Page, PageOf, cut, object_view};
use crate::db::Tx;
use crate::error::Result;
use crate::tables::app_versions;
use crate::tables::apps::{self, AppRow};
use crate::tables::pointer_moves::{self, MoveRow, Pointer};
use crate::tables::{events, memberships, releases, splits, tags, units, versions};
use crate::{Catalog, releasing};

/// What was live at one moment.
#[derive(Debug, Clone)]
pub struct AtMoment {
    pub at: Timestamp,
    pub release: Release,
    pub app_version: milepost_model::snapshot::AppVersion,
    pub live_since: Timestamp,
    pub objects: Vec<AppObject>,
    /// Where each alias pointed.
    pub aliases: Vec<Alias>,
}

impl Catalog {
    /// Returns the app's events, newest first.
    pub async fn event_list(&self, app: &AppName, page: Page) -> Result<PageOf<Event>> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                let mut items = events::list(tx, app.id, page.below, page.fetch()).await?;
                items.iter_mut().for_each(without_digest_of_secret);
                let next = cut(&mut items, page.limit, |event| event.id);
                Ok(PageOf { items, next })
            })
        })
        .await
    }

    pub async fn alias_history(
        &self,
        app: &AppName,
        function: UnitName,
        alias: AliasName,
        page: Page,
    ) -> Result<PageOf<PointerMove>> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                let unit = units::get_present(tx, &app, UnitKind::Function, &function).await?;
                let pointer = Pointer::Alias { unit_id: unit.id, name: alias.as_str() };
                let found = history(tx, &app, pointer, page).await?;
                if found.items.is_empty() && page.below.is_none() {
                    return Err(crate::resolve::unknown_alias(tx, &unit, alias.as_str()).await?.into());
                }
                Ok(found)
            })
        })
        .await
    }

    pub async fn tag_history(&self, app: &AppName, tag: TagName, page: Page) -> Result<PageOf<PointerMove>> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                let found = history(tx, &app, Pointer::Tag(tag.as_str()), page).await?;
                if found.items.is_empty() && page.below.is_none() {
                    return Err(unknown_tag(tx, &app, tag.as_str()).await?.into());
                }
                Ok(found)
            })
        })
        .await
    }

    pub async fn live_history(&self, app: &AppName, page: Page) -> Result<PageOf<PointerMove>> {
        self.look(app, move |tx, app| Box::pin(async move { history(tx, &app, Pointer::Live, page).await })).await
    }

    pub async fn latest_history(&self, app: &AppName, page: Page) -> Result<PageOf<PointerMove>> {
        self.look(app, move |tx, app| Box::pin(async move { history(tx, &app, Pointer::Latest, page).await })).await
    }

    /// Returns the exact versions that were live at a moment.
    pub async fn at(&self, app: &AppName, at: Timestamp) -> Result<AtMoment> {
        if at > self.now() {
            let message = format!("{at} is in the future");
            return Err(Refusal::new(Code::InvalidTime, message).correct("give a time in the past").into());
        }
        let app = app.clone();
        self.db.read(move |tx| Box::pin(async move { at_moment(tx, &app, at).await })).await
    }

    pub async fn tag_list(&self, app: &AppName) -> Result<Vec<(TagName, Release)>> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                let mut found = Vec::new();
                for (tag, release_id) in tags::list(tx, app.id).await? {
                    let row = releases::get(tx, release_id).await?;
                    found.push((tag, releasing::view(tx, &app, &row).await?));
                }
                Ok(found)
            })
        })
        .await
    }
}

/// Removes digests from events of older programs, which would allow comparing secrets across apps.
fn without_digest_of_secret(event: &mut Event) {
    if event.subject.starts_with("secret ") {
        for side in [&mut event.before, &mut event.after].into_iter().flatten() {
            side.as_object_mut().and_then(|fields| fields.remove("digest"));
        }
    }
}

async fn at_moment(tx: &mut Tx, name: &AppName, at: Timestamp) -> Result<AtMoment> {
    let app = apps::get(tx, name).await?;
    let live = pointer_moves::at(tx, app.id, Pointer::Live, at).await?;
    let Some((moved, release_id)) = live.and_then(|moved| moved.to_id.map(|id| (moved, id))) else {
        let message = format!("nothing of app `{name}`, created at {}, was live at {at}", app.created_at);
        return Err(Refusal::new(Code::NothingThen, message).see(View::AppHistory).into());
    };
    let release = releases::get(tx, release_id).await?;
    let row = app_versions::get(tx, app.id, release.app_seq).await?;
    let mut objects = Vec::new();
    let mut aliases = Vec::new();
    for member in memberships::at(tx, app.id, release.app_seq).await? {
        let object = object_view(tx, member.version_id).await?;
        if object.kind == UnitKind::Function {
            aliases.extend(aliases_at(tx, &app, member.unit_id, &object.name, at).await?);
        }
        objects.push(object);
    }
    let release = releasing::view(tx, &app, &release).await?;
    let app_version = milepost_model::snapshot::AppVersion {
        id: row.uid,
        number: row.seq,
        created_at: row.created_at,
        created_by: row.created_by,
        message: row.message,
        git: row.git,
        objects: Vec::new(),
        release: None,
    };
    Ok(AtMoment { at, release, app_version, live_since: moved.at, objects, aliases })
}

async fn aliases_at(tx: &mut Tx, app: &AppRow, unit_id: i64, function: &UnitName, at: Timestamp) -> Result<Vec<Alias>> {
    let mut found = Vec::new();
    for name in pointer_moves::alias_names(tx, app.id, unit_id).await? {
        let pointer = Pointer::Alias { unit_id, name: name.as_str() };
        let Some(moved) = pointer_moves::at(tx, app.id, pointer, at).await? else { continue };
        let Some(version_id) = moved.to_id else { continue };
        let version = versions::get(tx, version_id).await?;
        found.push(Alias {
            name,
            function: function.clone(),
            number: version.number,
            version: version.uid,
            label: version.label,
            moved_at: moved.at,
            moved_by: moved.by,
        });
    }
    Ok(found)
}

async fn history(tx: &mut Tx, app: &AppRow, pointer: Pointer<'_>, page: Page) -> Result<PageOf<PointerMove>> {
    let mut rows = pointer_moves::list(tx, app.id, pointer, page.below, page.fetch()).await?;
    let next = cut(&mut rows, page.limit, |row| row.id);
    let mut items = Vec::with_capacity(rows.len());
    for row in rows {
        items.push(move_view(tx, pointer, row).await?);
    }
    Ok(PageOf { items, next })
}

async fn move_view(tx: &mut Tx, pointer: Pointer<'_>, row: MoveRow) -> Result<PointerMove> {
    let mut names = [None, None];
    for (name, id) in names.iter_mut().zip([row.from_id, row.to_id]) {
        let Some(id) = id else { continue };
        *name = Some(match pointer {
            Pointer::Alias { .. } => versions::get(tx, id).await?.number.to_string(),
            _ => releases::get(tx, id).await?.name,
        });
    }
    let [from, to] = names;
    let split = match row.to_split_id {
        Some(id) => splits::get(tx, id).await?.arms().to_vec(),
        None => Vec::new(),
    };
    Ok(PointerMove { from, to, by: row.by, at: row.at, why: row.why, split })
}

pub(crate) async fn unknown_tag(tx: &mut Tx, app: &AppRow, name: &str) -> Result<Refusal> {
    let names: Vec<String> = tags::list(tx, app.id).await?.into_iter().map(|(tag, _)| tag.to_string()).collect();
    let message = format!("app `{}` has no tag `{name}`", app.name);
    Ok(Refusal::not_found(Code::TagNotFound, message, name, &names, [Next::See { view: View::Releases }]))
}
