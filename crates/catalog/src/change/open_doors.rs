//! Warns that a stricter permission does not apply to releases that were made before.

use milepost_model::UnitKind;
use milepost_model::UnitSpec;
use milepost_model::change::{UnitAction, UnitOutcome};
use milepost_model::plan::Reason;
use milepost_model::spec::FunctionPermission;

use crate::error::Result;
use crate::tables::releases::{self, ReleaseRow};
use crate::tables::{contents, units, versions};
use crate::work::Work;

/// Maximum number of releases that a warning names.
const NAMED: usize = 5;

/// Returns a warning for each function that became stricter but that active releases older than
/// `new` still serve with the old permission. `live_stays` says that live does not move to `new`.
pub(super) async fn warnings(
    work: &mut Work<'_>,
    outcomes: &[UnitOutcome],
    new: &ReleaseRow,
    live_stays: bool,
) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let updated = outcomes.iter().filter(|unit| unit.kind == UnitKind::Function && unit.action == UnitAction::Updated);
    for outcome in updated.filter(|unit| unit.reasons.iter().any(is_permission)) {
        let Some(unit) = units::find(work.tx, work.app.id, outcome.kind, &outcome.name).await? else { continue };
        let Some(now) = permission(work, unit.current_version_id).await? else { continue };
        let (mut names, mut loosest) = (Vec::new(), now);
        for (version, release) in releases::names_by_version(work.tx, work.app.id, unit.id).await? {
            let Some(then) = permission(work, Some(version)).await? else { continue };
            if release == new.name || openness(then) <= openness(now) {
                continue;
            }
            let Some(row) = releases::find_by_name(work.tx, work.app.id, &release).await? else { continue };
            let routes = contents::routes_at(work.tx, work.app.id, row.app_seq).await?;
            if routes.iter().any(|route| route.target.function == outcome.name) {
                names.push(if live_stays && work.app.live_release_id == Some(row.id) {
                    format!("{release} (live)")
                } else {
                    release
                });
                loosest = if openness(then) > openness(loosest) { then } else { loosest };
            }
        }
        if !names.is_empty() {
            found.push(warning(outcome, loosest, &names));
        }
    }
    Ok(found)
}

fn warning(outcome: &UnitOutcome, loosest: FunctionPermission, names: &[String]) -> String {
    let (releases, serve) = if names.len() == 1 { ("1 older release", "serves") } else { ("older releases", "serve") };
    let count = if names.len() == 1 { String::new() } else { format!("{} ", names.len()) };
    let how = if loosest == FunctionPermission::Public { "without a token" } else { "to callers with a token" };
    let more = names.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let named = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    format!(
        "function {} is less open now, but {count}{releases} still {serve} it {how}: {named}{more}. Expire each with \
         `milepost release expire RELEASE`",
        outcome.name
    )
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
