//! Routes that answer the same requests. That can be meant for a moment, while one takes over from the other, so it is no
//! refusal.

use std::collections::HashSet;

use milepost_model::change::UnitAction;
use milepost_model::route_path::Overlaps;
use milepost_model::{UnitKind, UnitName};

use super::Draft;
use crate::error::Result;
use crate::tables::contents;
use crate::work::Work;

/// Warns about the routes that the change made or altered, once each. After all puts and removals.
pub(super) async fn check(work: &mut Work<'_>, draft: &mut Draft<'_>) -> Result<()> {
    let is_new = |action| matches!(action, UnitAction::Created | UnitAction::Updated);
    let routes = draft.outcomes.iter().filter(|unit| unit.kind == UnitKind::Route && is_new(unit.action));
    let put: HashSet<&UnitName> = routes.map(|unit| &unit.name).collect();
    if put.is_empty() {
        return Ok(());
    }
    let routes = contents::of_routes(work.tx, work.app.id).await?;
    let mut overlaps = Overlaps::default();
    let mut warnings = Vec::new();
    for (key, route) in &routes {
        let Some(first) = overlaps.add(route.answered(), key) else { continue };
        if put.contains(&key.name) || put.contains(&first.name) {
            warnings.push(format!(
                "{key} answers requests that {first} answers too, and only one of them is asked; remove one, or give one \
                 another path, method or host"
            ));
        }
    }
    draft.warnings.extend(warnings);
    Ok(())
}
