use std::time::Duration;

use clap::Args;
use milepost_model::execution::{Execution, ExecutionStatus, NewExecution};
use milepost_model::{Selector, UnitKind, UnitName};

use super::{read_input, show};
use crate::context::Context;
use crate::failure::{Failure, Result};

/// Polling interval of `--wait`.
const ASK: Duration = Duration::from_millis(200);

/// Run a function with an input
///
/// Waits for the execution to end, and fails if it fails. With `--async`, the execution is queued
/// instead: it survives a restart of the server and runs at least once.
#[derive(Debug, Args)]
pub struct CreateArgs {
    /// Function to run
    #[arg(value_name = "FUNCTION")]
    function: String,
    /// Version to run: `latest`, a number, a uid, a label, `@alias` or `sha256:…`
    #[arg(long, value_name = "VERSION", default_value = "latest")]
    version: String,
    /// Input: JSON, `@FILE`, or `-` for stdin
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// Queue the execution and do not wait for it
    #[arg(long = "async")]
    queued: bool,
    /// With `--async`: wait for the execution to end
    #[arg(long, requires = "queued")]
    wait: bool,
    /// Description, kept with the execution
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    description: String,
}

pub async fn run(context: &Context<'_>, args: CreateArgs) -> Result<()> {
    let new = NewExecution {
        function: UnitName::for_kind(UnitKind::Function, &args.function)?,
        version: args.version.parse::<Selector>()?,
        input: read_input(args.input.as_deref())?,
        sync: !args.queued,
        description: args.description,
    };
    let mut execution = context.client.execution_create(&context.app, &new).await?;
    while args.wait && !execution.status.is_ended() {
        tokio::time::sleep(ASK).await;
        execution = context.client.execution_get(&context.app, &execution.id).await?;
    }
    show::one(context, &execution)?;
    if execution.status.is_ended() && execution.status != ExecutionStatus::Success {
        return Err(not_a_success(&execution));
    }
    Ok(())
}

fn not_a_success(execution: &Execution) -> Failure {
    let message = match execution.status {
        ExecutionStatus::Failed => "the function failed",
        ExecutionStatus::Cancelled => "the execution was cancelled",
        _ => "the execution could not run",
    };
    Failure::new(message).hint(format!("run `milepost execution logs {}` to see its output", execution.id))
}
