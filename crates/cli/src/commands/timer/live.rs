//! How a timer of the app stands to the one of the live release, which is the one that fires.

use std::collections::BTreeMap;

use milepost_model::snapshot::Unit;
use milepost_model::timer::LiveTimer;
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::Result;
use crate::output::local;

/// The timers that fire, by name.
pub async fn timers(context: &Context<'_>) -> Result<BTreeMap<String, LiveTimer>> {
    let live = context.client.timers(&context.app).await?;
    Ok(live.items.into_iter().map(|timer| (timer.name.to_string(), timer)).collect())
}

/// `yes`, `no`, or what fires instead.
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

/// The unit as JSON, with the timer that fires beside it, or null.
pub fn with_live(unit: &Unit, live: Option<&LiveTimer>) -> Value {
    let mut value = json!(unit);
    value["live"] = json!(live);
    value
}
