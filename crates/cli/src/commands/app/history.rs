use clap::Args;

use super::super::shared::cell;
use crate::context::Context;
use crate::failure::Result;
use crate::output::{Table, local};

/// List the events of an app, newest first
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// Maximum number of events to list
    #[arg(long, default_value_t = 50)]
    limit: i64,
    /// Start after the previous page, at the cursor that it printed
    #[arg(long)]
    cursor: Option<String>,
}

pub async fn run(context: &Context<'_>, args: HistoryArgs) -> Result<()> {
    let page = context.client.event_list(&context.app, args.limit, args.cursor.as_deref()).await?;
    context.ui.show(
        &page.items,
        |events| events.iter().map(|event| event.id.to_string()).collect(),
        |events| {
            let mut table = Table::new(["ID", "WHEN", "WHO", "WHAT", "SUBJECT", "BEFORE", "AFTER"], "No events yet.");
            for event in events {
                let side = |value: &Option<serde_json::Value>| value.as_ref().map(short).unwrap_or_default();
                table.row([
                    event.id.to_string(),
                    local(event.at),
                    event.actor.clone(),
                    event.kind.clone(),
                    event.subject.clone(),
                    side(&event.before),
                    side(&event.after),
                ]);
            }
            table.render()
        },
    )?;
    if let Some(next) = &page.next {
        context.ui.say(&format!("There are more: --cursor {next}"));
    }
    Ok(())
}

/// The fields of one side of an event. Digests are left out; `-o json` has them.
fn short(value: &serde_json::Value) -> String {
    let Some(fields) = value.as_object() else { return cell(value) };
    let shown = fields.iter().filter(|(key, value)| !value.is_null() && *value != "" && *key != "digest");
    shown.map(|(key, value)| format!("{key} {}", cell(value))).collect::<Vec<_>>().join(", ")
}
