//! Warns that a stricter permission does not apply to releases that were made before.

use milepost_model::UnitKind;
use milepost_model::UnitSpec;
use milepost_model::change::{UnitAction, UnitOutcome};
use milepost_model::plan::Reason;
use milepost_model::refusal::{ServedBy, Warning};
use milepost_model::spec::FunctionPermission;

use crate::error::Result;
use crate::tables::releases::{self, ReleaseRow};
use crate::tables::{contents, units, versions};
use crate::work::Work;

/// Returns a warning for each function that became stricter, and each looser permission with which
/// active releases older than `new` still serve it. `live_stays` says that live does not move to
/// `new`.
pub(super) async fn warnings(
    work: &mut Work<'_>,
    outcomes: &[UnitOutcome],
    new: &ReleaseRow,
    live_stays: bool,
) -> Result<Vec<Warning>> {
    let mut found = Vec::new();
    let updated = outcomes.iter().filter(|unit| unit.kind == UnitKind::Function && unit.action == UnitAction::Updated);
    for outcome in updated.filter(|unit| unit.reasons.iter().any(is_permission)) {
        let Some(unit) = units::find(work.tx, work.app.id, outcome.kind, &outcome.name).await? else { continue };
        let Some(now) = permission(work, unit.current_version_id).await? else { continue };
        let mut served: [Vec<ServedBy>; 2] = Default::default();
        for (version, release) in releases::names_by_version(work.tx, work.app.id, unit.id).await? {
            let Some(then) = permission(work, Some(version)).await? else { continue };
            if release == new.name || openness(then) <= openness(now) {
                continue;
            }
            let Some(row) = releases::find_by_name(work.tx, work.app.id, &release).await? else { continue };
            let routes = contents::routes_at(work.tx, work.app.id, row.app_seq).await?;
            if routes.iter().any(|route| route.target.function == outcome.name) {
                let live = live_stays && work.app.live_release_id == Some(row.id);
                served[usize::from(then == FunctionPermission::Public)].push(ServedBy { release, live });
            }
        }
        for (without_token, releases) in [false, true].into_iter().zip(served).rev() {
            if !releases.is_empty() {
                found.push(Warning::StillServed { function: outcome.name.to_string(), without_token, releases });
            }
        }
    }
    Ok(found)
}

fn is_permission(reason: &Reason) -> bool {
    matches!(reason, Reason::Field { field, .. } if field == "permission")
}

fn openness(permission: FunctionPermission) -> u8 {
    match permission {
        FunctionPermission::Internal => 0,
        FunctionPermission::Token => 1,
        FunctionPermission::Public => 2,
    }
}

async fn permission(work: &mut Work<'_>, version: Option<i64>) -> Result<Option<FunctionPermission>> {
    let Some(version) = version else { return Ok(None) };
    let Some(content) = versions::get(work.tx, version).await?.content_id else { return Ok(None) };
    match contents::get(work.tx, content).await? {
        UnitSpec::Function(function) => Ok(Some(function.permission)),
        _ => Ok(None),
    }
}
