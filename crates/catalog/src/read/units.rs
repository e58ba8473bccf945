use milepost_model::change::{Deployment, UnitKey};
use milepost_model::pointer::Alias;
use milepost_model::refusal::{Use, User, UserKind};
use milepost_model::snapshot::{Group, Unit, Version};
use milepost_model::{AliasName, AppName, GroupName, Refusal, Selector, UnitKind, UnitName};

use super::views::spec_of;
use super::{Page, PageOf, alias_view, cut, object_view, version_view};
use crate::db::Tx;
use crate::error::Result;
use crate::ops::group;
use crate::tables::apps::AppRow;
use crate::tables::units::Only;
use crate::tables::{aliases, contents, deployments, groups, memberships, releases, units, versions};
use crate::{Catalog, resolve};

/// A deployment, with the number of units that it owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeploymentUnits {
    pub deployment: Deployment,
    pub units: i64,
}

impl Catalog {
    /// Returns the units that the app has now, optionally of one kind or of one deployment.
    pub async fn unit_list(
        &self,
        app: &AppName,
        kind: Option<UnitKind>,
        deployment: Option<String>,
        after: Option<UnitKey>,
        limit: i64,
    ) -> Result<PageOf<Unit, UnitKey>> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                let only = Only { kind, deployment: deployment.as_deref() };
                let mut rows = units::list_present(tx, app.id, only, after.as_ref(), limit.saturating_add(1)).await?;
                let next = cut(&mut rows, limit, units::UnitRow::key);
                let mut items = Vec::with_capacity(rows.len());
                for unit in &rows {
                    items.push(unit_view(tx, &app, unit).await?);
                }
                Ok(PageOf { items, next })
            })
        })
        .await
    }

    pub async fn unit_get(&self, app: &AppName, key: UnitKey) -> Result<Unit> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                let unit = units::get_present(tx, &app, key.kind, &key.name).await?;
                unit_view(tx, &app, &unit).await
            })
        })
        .await
    }

    /// Returns the deployments that own units of the app, by name.
    pub async fn deployment_list(&self, app: &AppName) -> Result<Vec<DeploymentUnits>> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                let found = deployments::list(tx, app.id).await?;
                Ok(found.into_iter().map(|(deployment, units)| DeploymentUnits { deployment, units }).collect())
            })
        })
        .await
    }

    /// Newest first.
    pub async fn version_list(&self, app: &AppName, key: UnitKey, page: Page) -> Result<PageOf<Version>> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                let unit = units::get_present(tx, &app, key.kind, &key.name).await?;
                let mut rows = versions::list(tx, unit.id, page.below, page.fetch()).await?;
                let next = cut(&mut rows, page.limit, |version| version.number);
                let mut items = Vec::with_capacity(rows.len());
                for version in &rows {
                    items.push(version_view(tx, &app, &unit, version).await?);
                }
                Ok(PageOf { items, next })
            })
        })
        .await
    }

    pub async fn version_get(&self, app: &AppName, key: UnitKey, selector: Selector) -> Result<Version> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                let unit = units::get_present(tx, &app, key.kind, &key.name).await?;
                let version = resolve::version(tx, &unit, &selector).await?;
                version_view(tx, &app, &unit, &version).await
            })
        })
        .await
    }

    /// Returns the sealed value of a secret's version, for callers that may run functions.
    pub async fn secret_sealed(&self, app: &AppName, name: UnitName, selector: Selector) -> Result<Option<Vec<u8>>> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                let unit = units::get_present(tx, &app, UnitKind::Secret, &name).await?;
                let version = resolve::version(tx, &unit, &selector).await?;
                match version.content_id {
                    Some(id) => contents::sealed(tx, id).await,
                    None => Ok(None),
                }
            })
        })
        .await
    }

    pub async fn alias_list(&self, app: &AppName, function: UnitName) -> Result<Vec<Alias>> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                let unit = units::get_present(tx, &app, UnitKind::Function, &function).await?;
                let mut found = Vec::new();
                for row in aliases::list(tx, unit.id).await? {
                    found.push(alias_view(tx, &unit, &row.name).await?);
                }
                Ok(found)
            })
        })
        .await
    }

    pub async fn alias_get(&self, app: &AppName, function: UnitName, alias: AliasName) -> Result<Alias> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                let unit = units::get_present(tx, &app, UnitKind::Function, &function).await?;
                alias_view(tx, &unit, &alias).await
            })
        })
        .await
    }

    pub async fn group_list(&self, app: &AppName) -> Result<Vec<Group>> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                let mut found = Vec::new();
                for (id, name, created_at) in groups::list(tx, app.id).await? {
                    let mut members = Vec::new();
                    for version_id in groups::members(tx, id).await? {
                        members.push(object_view(tx, version_id).await?);
                    }
                    found.push(Group { name, created_at, members });
                }
                Ok(found)
            })
        })
        .await
    }

    pub async fn group_get(&self, app: &AppName, name: GroupName) -> Result<Group> {
        let groups = self.group_list(app).await?;
        let names: Vec<String> = groups.iter().map(|group| group.name.to_string()).collect();
        match groups.into_iter().find(|group| group.name == name) {
            Some(group) => Ok(group),
            None => Err(group::unknown(app, name.as_str(), &names).into()),
        }
    }
}

async fn unit_view(tx: &mut Tx, app: &AppRow, unit: &units::UnitRow) -> Result<Unit> {
    let current = resolve::version(tx, unit, &Selector::Latest).await?;
    Ok(Unit {
        kind: unit.kind,
        name: unit.name.clone(),
        versions: versions::count(tx, unit.id).await?,
        deployment: match unit.deployment_id {
            Some(id) => Some(deployments::get(tx, id).await?),
            None => None,
        },
        current: version_view(tx, app, unit, &current).await?,
    })
}

pub(crate) async fn unknown_group(tx: &mut Tx, app: &AppRow, name: &str) -> Result<Refusal> {
    let names: Vec<String> = groups::list(tx, app.id).await?.into_iter().map(|(_, name, _)| name.to_string()).collect();
    Ok(group::unknown(&app.name, name, &names))
}

/// Lists the routes and timers that follow an alias, in the app as it is and in every active
/// release.
pub(crate) async fn triggers_following(
    tx: &mut Tx,
    app: &AppRow,
    function: &UnitName,
    alias: &AliasName,
) -> Result<Vec<User>> {
    let mut found = following_in(tx, app, app.head_seq, "", function, alias).await?;
    found.extend(release_triggers_following(tx, app, function, alias).await?);
    Ok(found)
}

/// Like [`triggers_following`], but only in active releases: these must keep working after the
/// function is removed from the app.
pub(crate) async fn release_triggers_following(
    tx: &mut Tx,
    app: &AppRow,
    function: &UnitName,
    alias: &AliasName,
) -> Result<Vec<User>> {
    let mut found = Vec::new();
    for release in releases::active(tx, app.id).await? {
        found.extend(following_in(tx, app, release.app_seq, &release.name, function, alias).await?);
    }
    Ok(found)
}

async fn following_in(
    tx: &mut Tx,
    app: &AppRow,
    seq: i64,
    release: &str,
    function: &UnitName,
    alias: &AliasName,
) -> Result<Vec<User>> {
    let mut found = Vec::new();
    for member in memberships::at(tx, app.id, seq).await? {
        let unit = units::find_by_id(tx, member.unit_id).await?;
        if !matches!(unit.kind, UnitKind::Route | UnitKind::Timer) {
            continue;
        }
        let version = versions::get(tx, member.version_id).await?;
        if version.content_id.is_none() {
            continue;
        }
        let spec = spec_of(tx, &version).await?;
        if spec.target().is_some_and(|target| target.function == *function && target.alias.as_ref() == Some(alias)) {
            found.push(User::new(UserKind::Unit, unit.key().to_string(), Use::Follows, "").in_release(release));
        }
    }
    Ok(found)
}
