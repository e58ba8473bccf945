//! Rejects routes that can never respond, and warns about routes that match the same requests. An
//! overlap may be temporary and intended, while one route replaces another, so it is not an error.

use std::collections::HashSet;

use milepost_model::change::{UnitAction, UnitKey};
use milepost_model::route_path::Overlaps;
use milepost_model::{Code, Refusal, UnitKind, UnitName, Warning};

use super::Draft;
use crate::error::Result;
use crate::tables::contents;
use crate::work::Work;

/// Checks only the routes that the change made or altered: an older route with a foreign host must
/// not block other work. Warns once about each of them that overlaps. Call after all puts and
/// removals.
pub(super) async fn check(work: &mut Work<'_>, draft: &mut Draft<'_>) -> Result<()> {
    let is_new = |action| matches!(action, UnitAction::Created | UnitAction::Updated);
    let routes = draft.outcomes.iter().filter(|unit| unit.kind == UnitKind::Route && is_new(unit.action));
    let put: HashSet<&UnitName> = routes.map(|unit| &unit.name).collect();
    if put.is_empty() {
        return Ok(());
    }
    let routes = contents::of_routes(work.tx, work.app.id).await?;
    for (key, route) in routes.iter().filter(|(key, _)| put.contains(&key.name)) {
        check_host(work, key, &route.host)?;
    }
    let mut overlaps = Overlaps::default();
    let mut notices = Vec::new();
    for (key, route) in &routes {
        let Some(first) = overlaps.add(route.answered(), key) else { continue };
        if put.contains(&key.name) || put.contains(&first.name) {
            notices.push(Warning::RoutesOverlap { route: key.to_string(), other: first.to_string() });
        }
    }
    draft.notices.extend(notices);
    Ok(())
}

fn check_host(work: &Work<'_>, key: &UnitKey, host: &str) -> Result<()> {
    let (app, domain) = (work.app.name.as_str(), &*work.domain);
    if host.is_empty() || domain.is_empty() || milepost_model::host::leads_to(host, app, domain) {
        return Ok(());
    }
    let message = format!("{key}: `host`: `{host}` does not lead to app `{app}`, so the route would never match");
    let how = format!(
        "use `{app}.{domain}`, `{app}.TAG.{domain}` or `TAG--{app}.{domain}`, or leave out the host to match all of them"
    );
    Err(Refusal::new(Code::InvalidSpec, message).correct(how).into())
}
