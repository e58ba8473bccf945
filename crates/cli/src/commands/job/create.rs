use clap::Args;
use milepost_model::job::NewJob;
use milepost_model::schedule::Schedule;

use super::moment::parse_coming;
use super::show;
use crate::commands::execution::read_input;
use crate::commands::shared::TargetArgs;
use crate::context::Context;
use crate::failure::{Failure, Result};

/// Run a function at times
///
/// With a pattern, a first time, or both. `latest` and an alias are resolved at each firing; any other version is the one that
/// it names now.
#[derive(Debug, Args)]
pub struct CreateArgs {
    /// A name for people
    #[arg(long, value_name = "NAME", default_value = "")]
    name: String,
    #[command(flatten)]
    target: TargetArgs,
    /// The pattern: five fields, six with seconds, or `@every 5m`
    #[arg(long, value_name = "CRON")]
    cron: Option<String>,
    /// The time zone of the pattern and of `--first-at`, like `Europe/Berlin` [default: UTC, and for `--first-at` that of this machine]
    #[arg(long, value_name = "ZONE", default_value = "")]
    zone: String,
    /// How many executions in all [default: without end]
    #[arg(long, value_name = "N")]
    count: Option<i64>,
    /// The first execution, with a pattern the earliest one: RFC 3339, `2026-11-10 12:00`, or `in 2h`
    #[arg(long, visible_alias = "first", value_name = "TIME")]
    first_at: Option<String>,
    /// The input of each: JSON, `@FILE`, or `-` for stdin
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
}

fn check(args: &CreateArgs) -> Result<()> {
    if args.cron.is_none() && args.first_at.is_none() {
        return Err(Failure::usage("a job needs a pattern or a first execution time")
            .hint("give `--cron`, for example `--cron '0 3 * * *'`, or `--first-at TIME`"));
    }
    Schedule::parse(args.cron.as_deref().unwrap_or("@daily"), &args.zone)?;
    Ok(())
}

pub async fn run(context: &Context<'_>, args: CreateArgs) -> Result<()> {
    let target = args.target.target()?;
    // What is wrong wherever it is sent is told before anything is.
    check(&args)?;
    let now = context.ui.now();
    let first_at = args.first_at.as_deref().map(|first| parse_coming(first, &args.zone, now)).transpose()?;
    let new = NewJob {
        name: args.name,
        function: target.function,
        version: target.version,
        cron: args.cron,
        zone: args.zone,
        first_at,
        count: args.count,
        input: read_input(args.input.as_deref())?,
    };
    show::one(context, &context.client.job_create(&context.app, &new).await?)
}
