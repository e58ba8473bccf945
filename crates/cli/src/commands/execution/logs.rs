use clap::Args;
use serde_json::json;

use crate::context::Context;
use crate::failure::Result;
use crate::output::{harmless, print_data};

/// Show the output of an execution
///
/// The output is stored when the execution ends. Until then, use `milepost logs --request ID`.
#[derive(Debug, Args)]
pub struct LogsArgs {
    /// Execution id, from `execution list`
    #[arg(value_name = "ID")]
    id: String,
}

pub async fn run(context: &Context<'_>, args: LogsArgs) -> Result<()> {
    let log = context.client.execution_log(&context.app, &args.id).await?;
    if log.is_empty() && !context.client.execution_get(&context.app, &args.id).await?.status.is_ended() {
        context.ui.say(&format!("Not ended yet. Run `milepost logs --request {}` to see its output so far.", args.id));
    }
    if context.ui.is_table() {
        return print_data(&harmless(&log));
    }
    context.ui.show(&json!({ "execution": args.id, "log": log }), |_| vec![args.id.clone()], |_| String::new())
}
