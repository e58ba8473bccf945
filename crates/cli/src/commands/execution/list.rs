use clap::Args;
use milepost_client::ClientError;
use milepost_model::change::UnitKey;
use milepost_model::execution::{CauseKind, ExecutionFilter, ExecutionStatus};
use milepost_model::{Code, UnitKind, UnitName};

use super::show::{cause, length};
use crate::commands::paged::{self, PageArgs};
use crate::context::Context;
use crate::failure::Result;
use crate::output::{age, parse_moment};

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
    /// Only those of this job: its id or its name
    #[arg(long, value_name = "JOB", conflicts_with_all = ["cause", "timer", "webhook"])]
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
    #[command(flatten)]
    page: PageArgs,
}

pub async fn run(context: &Context<'_>, args: ListArgs) -> Result<()> {
    let now = context.ui.now();
    let (cause_kind, cause_id) = match (args.job, args.timer, args.webhook) {
        (Some(job), _, _) => (Some(CauseKind::Job), Some(job_id(context, job).await?)),
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
    let page =
        context.client.execution_list(&context.app, &filter, args.page.limit, args.page.cursor.as_deref()).await?;
    if let (true, Some(kind), Some(id)) = (page.items.is_empty(), filter.cause, &filter.cause_id) {
        check_cause(context, kind, id).await?;
    }
    let headers = ["ID", "FUNCTION", "VERSION", "STATUS", "TOOK", "AGE", "ATTEMPTS", "CAUSE"];
    paged::show(
        context,
        &page,
        "such executions",
        headers,
        |execution| execution.id.clone(),
        |execution| {
            [
                execution.id.clone(),
                execution.function.to_string(),
                execution.version.as_ref().map(|version| version.number.to_string()).unwrap_or_default(),
                execution.status.to_string(),
                execution.duration_ms.map(length).unwrap_or_default(),
                age(now, execution.created_at),
                execution.attempts.len().to_string(),
                cause(execution),
            ]
        },
    )
}

/// The id of a job that is given by its id or its name. One that is gone has left executions all the same, so what is not
/// known is taken for an id.
async fn job_id(context: &Context<'_>, given: String) -> Result<String> {
    match context.client.job_get(&context.app, &given).await {
        Ok(job) => Ok(job.id),
        Err(ClientError::Refused(problem)) if problem.code == Code::JobNotFound.as_str() => Ok(given),
        Err(error) => Err(error.into()),
    }
}

/// Nothing was found: then it may be because there is no such job, timer or webhook. One that is gone is not asked about as
/// long as its executions are there.
async fn check_cause(context: &Context<'_>, kind: CauseKind, id: &str) -> Result<()> {
    let (client, app) = (&context.client, &context.app);
    let looked = match kind {
        CauseKind::Job => client.job_get(app, id).await.map(drop),
        CauseKind::Webhook => client.webhook_get(app, id).await.map(drop),
        CauseKind::Timer => {
            let name = UnitName::for_kind(UnitKind::Timer, id)?;
            client.unit_get(app, &UnitKey { kind: UnitKind::Timer, name }).await.map(drop)
        }
        CauseKind::Api | CauseKind::V1 => Ok(()),
    };
    let unknown = [Code::JobNotFound, Code::WebhookNotFound, Code::UnitNotFound].map(Code::as_str);
    match looked {
        Err(ClientError::Refused(problem)) if unknown.contains(&problem.code.as_str()) => {
            Err(ClientError::Refused(problem).into())
        }
        // Who may see executions may not see every webhook.
        _ => Ok(()),
    }
}
