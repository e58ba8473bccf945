//! Database rows in the form that callers see.

use milepost_model::pointer::Alias;
use milepost_model::release::Live;
use milepost_model::snapshot::{AppObject, Version};
use milepost_model::spec::PinRole;
use milepost_model::{AliasName, UnitKind, UnitSpec};

use crate::db::Tx;
use crate::error::{CatalogError, Result};
use crate::releasing;
use crate::tables::apps::AppRow;
use crate::tables::units::{self, UnitRow};
use crate::tables::versions::{self, VersionRow};
use crate::tables::{aliases, contents, groups, releases};

/// Adds the numbers of the pinned versions to the content of a version.
pub(crate) async fn with_pin_numbers(tx: &mut Tx, version: &VersionRow, mut spec: UnitSpec) -> Result<UnitSpec> {
    if spec.pins().is_empty() {
        return Ok(spec);
    }
    let numbers = versions::pins(tx, version.id).await?;
    let roles: Vec<PinRole> = spec.pins().into_iter().map(|(role, _)| role).collect();
    for (role, pin) in roles.into_iter().zip(spec.pins_mut()) {
        pin.number = numbers.iter().find(|(name, _)| name == role.as_str()).map(|(_, number)| *number);
    }
    Ok(spec)
}

pub(crate) async fn spec_of(tx: &mut Tx, version: &VersionRow) -> Result<UnitSpec> {
    let id = version
        .content_id
        .ok_or_else(|| CatalogError::inconsistent(format!("version {} has no content", version.id)))?;
    let spec = contents::get(tx, id).await?;
    with_pin_numbers(tx, version, spec).await
}

pub(crate) async fn version_view(tx: &mut Tx, app: &AppRow, unit: &UnitRow, version: &VersionRow) -> Result<Version> {
    let spec = spec_of(tx, version).await?;
    let releases = holding(tx, app, unit, version).await?;
    Ok(Version {
        kind: unit.kind,
        name: unit.name.clone(),
        number: version.number,
        uid: version.uid.clone(),
        label: version.label.clone(),
        digest: version.digest,
        description: version.description.clone(),
        created_at: version.created_at,
        created_by: version.created_by.clone(),
        latest: unit.current_version_id == Some(version.id),
        aliases: aliases::of_version(tx, version.id).await?.into_iter().map(|alias| alias.name).collect(),
        releases,
        groups: groups::of_version(tx, version.id).await?,
        spec: match &spec {
            // Fingerprints stay inside the catalog.
            UnitSpec::Secret(_) => serde_json::json!({}),
            spec => serde_json::to_value(spec).map_err(|error| CatalogError::inconsistent(error.to_string()))?,
        },
    })
}

/// Returns the active releases that hold a version, newest first. Functions hold the package that
/// they run from, and routes the function version that they are pinned to, even if the app has a
/// newer one.
async fn holding(tx: &mut Tx, app: &AppRow, unit: &UnitRow, version: &VersionRow) -> Result<Vec<String>> {
    if matches!(unit.kind, UnitKind::Package | UnitKind::Function) {
        let held = releases::holding(tx, app.id, version.id).await?;
        return Ok(held.into_iter().rev().map(|release| release.name).collect());
    }
    let held = releases::names_by_version(tx, app.id, unit.id).await?;
    Ok(held.into_iter().filter(|(id, _)| *id == version.id).map(|(_, name)| name).collect())
}

/// Returns a version as a member of a group or an app version. Works for deleted versions too.
pub(crate) async fn object_view(tx: &mut Tx, version_id: i64) -> Result<AppObject> {
    let version = versions::get(tx, version_id).await?;
    let unit = units::find_by_id(tx, version.unit_id).await?;
    Ok(AppObject {
        kind: unit.kind,
        name: unit.name,
        version: version.uid,
        number: version.number,
        label: version.label,
        digest: version.digest,
    })
}

pub(crate) async fn alias_view(tx: &mut Tx, unit: &UnitRow, name: &AliasName) -> Result<Alias> {
    match aliases::find(tx, unit.id, name).await? {
        Some(row) => {
            let version = versions::get(tx, row.version_id).await?;
            Ok(Alias {
                name: row.name,
                function: unit.name.clone(),
                number: version.number,
                version: version.uid,
                label: version.label,
                moved_at: row.moved_at,
                moved_by: row.moved_by,
            })
        }
        None => Err(crate::resolve::unknown_alias(tx, unit, name.as_str()).await?.into()),
    }
}

pub(crate) async fn live_view(tx: &mut Tx, app: &AppRow) -> Result<Live> {
    let release = match app.live_release_id {
        Some(id) => {
            let row = releases::get(tx, id).await?;
            Some(releasing::view(tx, app, &row).await?)
        }
        None => None,
    };
    Ok(Live { mode: app.live_mode, release })
}
