use clap::Args;
use serde_json::json;

use crate::context::Context;
use crate::failure::Result;
use crate::output::{harmless, print_data};

/// Show what an execution wrote
///
/// It is kept with the execution when that has ended. While it runs, `milepost logs --request ID` has its lines.
#[derive(Debug, Args)]
pub struct LogsArgs {
    /// Its id, as `execution list` has it
    #[arg(value_name = "ID")]
    id: String,
}

pub async fn run(context: &Context<'_>, args: LogsArgs) -> Result<()> {
    let log = context.client.execution_log(&context.app, &args.id).await?;
    if log.is_empty() && !context.client.execution_get(&context.app, &args.id).await?.status.is_ended() {
        context.ui.say(&format!("It has not ended. `milepost logs --request {}` has its lines so far.", args.id));
    }
    if context.ui.is_table() {
        return print_data(&harmless(&log));
    }
    context.ui.show(&json!({ "execution": args.id, "log": log }), |_| vec![args.id.clone()], |_| String::new())
}
