use clap::Args;
use milepost_model::UnitKind;

use crate::commands::shared::{self, cell};
use crate::context::Context;
use crate::failure::Result;

/// List the timers
#[derive(Debug, Args)]
pub struct ListArgs {}

pub async fn run(context: &Context<'_>, _args: ListArgs) -> Result<()> {
    shared::list(context, UnitKind::Timer, "SCHEDULE", schedule).await
}

fn schedule(spec: &serde_json::Value) -> String {
    let zone = spec["zone"].as_str().unwrap_or("UTC");
    format!("{} {zone}, {}", cell(&spec["cron"]), crate::commands::route::target(spec))
}
