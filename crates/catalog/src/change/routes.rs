//! Routes that answer the same requests. That can be meant for a moment, while one takes over from the other, so it is no
//! refusal.

use std::collections::HashMap;

use milepost_model::change::{UnitAction, UnitKey};
use milepost_model::route_path::shape;
use milepost_model::spec::RouteSpec;
use milepost_model::{UnitKind, UnitName};

use super::Draft;
use crate::error::Result;
use crate::tables::contents;
use crate::work::Work;

/// Warns about the routes that the change made or altered. After all puts and removals.
pub(super) async fn check(work: &mut Work<'_>, draft: &mut Draft<'_>) -> Result<()> {
    let is_new = |action| matches!(action, UnitAction::Created | UnitAction::Updated);
    let put: Vec<_> =
        draft.outcomes.iter().filter(|unit| unit.kind == UnitKind::Route && is_new(unit.action)).collect();
    if put.is_empty() {
        return Ok(());
    }
    let routes = contents::of_routes(work.tx, work.app.id).await?;
    let is_put = |name: &UnitName| put.iter().any(|unit| unit.name == *name);
    let mut warnings = Vec::new();
    // Only routes of one shape are compared: an app may have thousands.
    let mut by_shape: HashMap<String, Vec<&(UnitKey, RouteSpec)>> = HashMap::new();
    for known in &routes {
        let (key, route) = known;
        let alike = by_shape.entry(shape(&route.path)).or_default();
        for (other, earlier) in alike.iter().copied() {
            let told = is_put(&key.name) || is_put(&other.name);
            if told && route.answered().is_also_by(&earlier.answered()) {
                warnings.push(format!(
                    "{key} answers what {other} answers, and only one of them is asked; remove one, or give one another \
                     path, method or host"
                ));
            }
        }
        alike.push(known);
    }
    draft.warnings.extend(warnings);
    Ok(())
}
