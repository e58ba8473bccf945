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
/// The app's plan limits how many ended executions are kept, and for how long.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// List only executions of this function
    #[arg(long, value_name = "FUNCTION")]
    function: Option<String>,
    /// List only executions of the version with this number
    #[arg(long, value_name = "NUMBER")]
    version: Option<i64>,
    /// List only this status: queued, running, success, failed, error or cancelled
    #[arg(long, value_name = "STATUS")]
    status: Option<ExecutionStatus>,
    /// List only executions with this cause: api, job, timer, webhook or v1
    #[arg(long, value_name = "CAUSE")]
    cause: Option<CauseKind>,
    /// List only executions of this job, by id or name
    #[arg(long, value_name = "JOB", conflicts_with_all = ["cause", "timer", "webhook"])]
    job: Option<String>,
    /// List only executions of this timer
    #[arg(long, value_name = "NAME", conflicts_with_all = ["cause", "webhook"])]
    timer: Option<String>,
    /// List only executions of this webhook
    #[arg(long, value_name = "ID", conflicts_with = "cause")]
    webhook: Option<String>,
    /// List only executions since a duration ago (`2h`) or a time (`2026-11-10 12:00`)
    ///
    /// A time may also be in RFC 3339 format.
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
        "matching executions",
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

/// Resolves a job name to its id. An unknown value is taken as an id: the executions of a deleted
/// job are still there.
async fn job_id(context: &Context<'_>, given: String) -> Result<String> {
    match context.client.job_get(&context.app, &given).await {
        Ok(job) => Ok(job.id),
        Err(ClientError::Refused(problem)) if problem.code == Code::JobNotFound.as_str() => Ok(given),
        Err(error) => Err(error.into()),
    }
}

/// Fails if the job, timer or webhook does not exist. Called only for an empty result: a deleted
/// one may still have executions.
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
        // A caller that may read executions may not be allowed to read webhooks.
        _ => Ok(()),
    }
}
