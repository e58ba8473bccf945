//! Compares a timer of the app with the one of the live release, which is the one that runs.

use std::collections::BTreeMap;

use milepost_model::snapshot::Unit;
use milepost_model::timer::LiveTimer;
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::Result;
use crate::output::local;

/// Returns the timers of the live release by name.
pub async fn timers(context: &Context<'_>) -> Result<BTreeMap<String, LiveTimer>> {
    let live = context.client.timers(&context.app).await?;
    Ok(live.items.into_iter().map(|timer| (timer.name.to_string(), timer)).collect())
}

/// `yes` if the live release has this version, `no` if it has none, or else the version that it
/// has.
pub fn told(number: i64, live: Option<&LiveTimer>) -> String {
    match live {
        None => "no".to_owned(),
        Some(live) if live.number == number => "yes".to_owned(),
        Some(live) => format!("version {}: {}", live.number, schedule(live)),
    }
}

pub fn next(live: Option<&LiveTimer>) -> String {
    live.and_then(|live| live.next_at).map(local).unwrap_or_default()
}

/// `0 3 * * * Europe/Berlin, hello @stable`
pub fn schedule(live: &LiveTimer) -> String {
    let zone = if live.zone.is_empty() { "UTC" } else { &live.zone };
    let selector = live.selector.to_string();
    let runs = if selector == "latest" { live.function.to_string() } else { format!("{} {selector}", live.function) };
    format!("{} {zone}, {runs}", live.cron)
}

/// The unit as JSON, with the live release's timer, or null, in `live`.
pub fn with_live(unit: &Unit, live: Option<&LiveTimer>) -> Value {
    let mut value = json!(unit);
    value["live"] = json!(live);
    value
}
