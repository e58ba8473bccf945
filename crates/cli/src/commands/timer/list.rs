use clap::Args;
use milepost_model::UnitKind;
use serde_json::{Value, json};

use super::live;
use crate::commands::shared::{self, cell};
use crate::context::Context;
use crate::failure::Result;
use crate::output::{Table, age};

/// List timers and their next runs
///
/// Only timers of the live release run. LIVE shows which version that is, if it is not the app's
/// current one. Timers that only the live release has are listed, too.
#[derive(Debug, Args)]
pub struct ListArgs {}

pub async fn run(context: &Context<'_>, _args: ListArgs) -> Result<()> {
    let units = shared::units(context, UnitKind::Timer).await?;
    let mut live = live::timers(context).await?;
    let now = context.ui.now();
    let empty = format!("App {} has no timer.", context.app);
    let headers = ["NAME", "VERSION", "UID", "VERSIONS", "AGE", "SCHEDULE", "NEXT", "LIVE"];
    let mut table = Table::new(headers, &empty);
    let mut all: Vec<Value> = Vec::with_capacity(units.len());
    let mut names = Vec::with_capacity(units.len());
    for unit in &units {
        let fires = live.remove(unit.name.as_str());
        table.row([
            unit.name.to_string(),
            unit.current.number.to_string(),
            unit.current.uid.clone(),
            unit.versions.to_string(),
            age(now, unit.current.created_at),
            schedule(&unit.current.spec),
            live::next(fires.as_ref()),
            live::told(unit.current.number, fires.as_ref()),
        ]);
        names.push(unit.name.to_string());
        all.push(live::with_live(unit, fires.as_ref()));
    }
    for (name, fires) in live {
        let (number, next) = (fires.number.to_string(), live::next(Some(&fires)));
        let none = String::new;
        table.row([
            name.clone(),
            number,
            none(),
            none(),
            none(),
            live::schedule(&fires),
            next,
            "only in live".to_owned(),
        ]);
        all.push(json!({ "kind": "timer", "name": name, "live": fires }));
        names.push(name);
    }
    context.ui.show(&all, |_| names, |_| table.render())
}

fn schedule(spec: &Value) -> String {
    let zone = spec["zone"].as_str().unwrap_or("UTC");
    format!("{} {zone}, {}", cell(&spec["cron"]), crate::commands::route::target(spec))
}
