use std::collections::BTreeMap;

use milepost_model::install::Install;
use milepost_model::{AppName, UnitKind};

use super::{PageOf, cut};
use crate::Catalog;
use crate::db::Tx;
use crate::error::Result;
use crate::ops::install::{app_version_uid, not_installed};
use crate::tables::apps::{self, AppRow};
use crate::tables::installs::{self, InstallRow};
use crate::tables::{memberships, releases, units};

impl Catalog {
    pub async fn install_get(&self, app: &AppName) -> Result<Install> {
        self.look(app, |tx, app| {
            Box::pin(async move {
                match installs::find(tx, app.id).await? {
                    Some(row) => install_view(tx, &app, row).await,
                    None => Err(not_installed(&app.name).into()),
                }
            })
        })
        .await
    }

    /// Like [`Catalog::install_get`], with the highest serial of its channel that was seen.
    pub async fn install_with_serial(&self, app: &AppName) -> Result<(Install, u64)> {
        self.look(app, |tx, app| {
            Box::pin(async move {
                match installs::find(tx, app.id).await? {
                    Some(row) => {
                        let serial = row.serial;
                        Ok((install_view(tx, &app, row).await?, serial))
                    }
                    None => Err(not_installed(&app.name).into()),
                }
            })
        })
        .await
    }

    /// Sorted by app name, after `after`.
    pub async fn install_list(&self, after: Option<String>, limit: i64) -> Result<PageOf<Install, String>> {
        self.db
            .read(move |tx| {
                Box::pin(async move {
                    let mut rows = installs::list(tx, after.as_deref(), limit.saturating_add(1)).await?;
                    let next = cut(&mut rows, limit, |(name, _)| name.clone());
                    let mut items = Vec::with_capacity(rows.len());
                    for (_, row) in rows {
                        let Some(name) = apps::name_of(tx, row.app_id).await? else { continue };
                        let app = apps::get(tx, &name).await?;
                        items.push(install_view(tx, &app, row).await?);
                    }
                    Ok(PageOf { items, next })
                })
            })
            .await
    }
}

pub(crate) async fn install_view(tx: &mut Tx, app: &AppRow, row: InstallRow) -> Result<Install> {
    let live = match app.live_release_id {
        Some(id) => {
            let seq = releases::get(tx, id).await?.app_seq;
            installs::version_at(tx, app.id, seq).await?.map(|(_, entry)| entry.version)
        }
        None => None,
    };
    Ok(Install {
        app: app.name.clone(),
        app_version: app_version_uid(tx, app.id, row.app_seq).await?,
        changed_by_hand: changed_by_hand(tx, app).await?,
        live,
        package: row.package,
        channel: row.channel,
        mode: row.mode,
        place: row.place,
        entry: row.entry,
        installed_at: row.installed_at,
        installed_by: row.installed_by,
        settings: row.settings,
        brakes: row.brakes,
        last_check: row.last_check,
        last_failure: row.failed,
        plan: row.plan,
        next_check_at: row.next_check_at,
        on_trial: row.trial_seq.is_some(),
        confined: row.confined,
    })
}

/// Lists the units, apart from secrets, that differ between the app and its newest published
/// version.
pub(crate) async fn changed_by_hand(tx: &mut Tx, app: &AppRow) -> Result<Vec<String>> {
    let Some((first, _)) = installs::version_at(tx, app.id, app.head_seq).await? else { return Ok(Vec::new()) };
    if first == app.head_seq {
        return Ok(Vec::new());
    }
    let then: BTreeMap<i64, i64> = versions_at(tx, app.id, first).await?;
    let now: BTreeMap<i64, i64> = versions_at(tx, app.id, app.head_seq).await?;
    let differing = then.keys().chain(now.keys()).filter(|unit| then.get(unit) != now.get(unit));
    let ids: std::collections::BTreeSet<i64> = differing.copied().collect();
    let mut found = Vec::new();
    for id in ids {
        let unit = units::find_by_id(tx, id).await?;
        if unit.kind != UnitKind::Secret {
            found.push(unit.key().to_string());
        }
    }
    found.sort();
    Ok(found)
}

async fn versions_at(tx: &mut Tx, app_id: i64, seq: i64) -> Result<BTreeMap<i64, i64>> {
    let members = memberships::at(tx, app_id, seq).await?;
    Ok(members.into_iter().map(|member| (member.unit_id, member.version_id)).collect())
}
