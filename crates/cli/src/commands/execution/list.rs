use clap::Args;
use milepost_model::execution::{CauseKind, ExecutionFilter, ExecutionStatus};
use milepost_model::{UnitKind, UnitName};

use super::show::{cause, length};
use crate::context::Context;
use crate::failure::Result;
use crate::output::{Table, age, parse_moment};

/// List executions, newest first
///
/// Ended ones are kept for as long, and as many, as the app's plan says.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only of this function
    #[arg(long, value_name = "FUNCTION")]
    function: Option<String>,
    /// Only of the version with this number
    #[arg(long, value_name = "NUMBER")]
    version: Option<i64>,
    /// Only with this status: queued, running, success, failed, error or cancelled
    #[arg(long, value_name = "STATUS")]
    status: Option<ExecutionStatus>,
    /// Only those started by this: api, job, timer, webhook or v1
    #[arg(long, value_name = "CAUSE")]
    cause: Option<CauseKind>,
    /// Only those of this job
    #[arg(long, value_name = "ID", conflicts_with_all = ["cause", "timer", "webhook"])]
    job: Option<String>,
    /// Only those of this timer
    #[arg(long, value_name = "NAME", conflicts_with_all = ["cause", "webhook"])]
    timer: Option<String>,
    /// Only those of this webhook
    #[arg(long, value_name = "ID", conflicts_with = "cause")]
    webhook: Option<String>,
    /// Only those since this time: RFC 3339, `2026-11-10 12:00`, or a length of time ago like `2h`
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// How many
    #[arg(long, default_value_t = 50)]
    limit: i64,
    /// Where the page before ended
    #[arg(long)]
    cursor: Option<String>,
}

pub async fn run(context: &Context<'_>, args: ListArgs) -> Result<()> {
    let now = context.ui.now();
    let (cause_kind, cause_id) = match (args.job, args.timer, args.webhook) {
        (Some(job), _, _) => (Some(CauseKind::Job), Some(job)),
        (None, Some(timer), _) => (Some(CauseKind::Timer), Some(timer)),
        (None, None, Some(webhook)) => (Some(CauseKind::Webhook), Some(webhook)),
        (None, None, None) => (args.cause, None),
    };
    let filter = ExecutionFilter {
        function: args.function.as_deref().map(|name| UnitName::for_kind(UnitKind::Function, name)).transpose()?,
        version: args.version,
        status: args.status,
        cause: cause_kind,
        cause_id,
        since: args.since.as_deref().map(|since| parse_moment(since, now)).transpose()?,
    };
    let page = context.client.execution_list(&context.app, &filter, args.limit, args.cursor.as_deref()).await?;
    let empty = format!("App {} has no such executions.", context.app);
    context.ui.show(
        &page.items,
        |executions| executions.iter().map(|execution| execution.id.clone()).collect(),
        |executions| {
            let headers = ["ID", "FUNCTION", "VERSION", "STATUS", "TOOK", "AGE", "ATTEMPTS", "CAUSE"];
            let mut table = Table::new(headers, &empty);
            for execution in executions {
                table.row([
                    execution.id.clone(),
                    execution.function.to_string(),
                    execution.version.as_ref().map(|version| version.number.to_string()).unwrap_or_default(),
                    execution.status.to_string(),
                    execution.duration_ms.map(length).unwrap_or_default(),
                    age(now, execution.created_at),
                    execution.attempts.len().to_string(),
                    cause(execution),
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
