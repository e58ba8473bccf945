use clap::Args;
use milepost_model::UnitKind;
use serde_json::json;

use super::live;
use crate::commands::shared::NameArgs;
use crate::commands::version;
use crate::context::Context;
use crate::failure::Result;

/// Show a timer and its next run
#[derive(Debug, Args)]
pub struct GetArgs {
    #[command(flatten)]
    name: NameArgs,
}

pub async fn run(context: &Context<'_>, args: GetArgs) -> Result<()> {
    let unit = context.client.unit_get(&context.app, &args.name.key(UnitKind::Timer)?).await?;
    let live = live::timers(context).await?.remove(unit.name.as_str());
    let mut shown = json!(unit.current);
    shown["live"] = json!(live);
    context.ui.show(
        &shown,
        |_| vec![unit.name.to_string()],
        |_| {
            let mut text = version::get::text(&unit.current);
            text.push_str(&format!("\nLive:        {}", live::told(unit.current.number, live.as_ref())));
            let next = live::next(live.as_ref());
            if !next.is_empty() {
                text.push_str(&format!("\nNext:        {next}"));
            }
            text
        },
    )
}
