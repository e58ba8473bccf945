use clap::Args;
use milepost_model::job::NewJob;
use milepost_model::schedule::Schedule;

use super::moment::parse_coming;
use super::show;
use crate::args::slots::JobNameArgs;
use crate::commands::execution::read_input;
use crate::commands::shared::TargetArgs;
use crate::context::Context;
use crate::failure::{Failure, Result};

/// Schedule runs of a function
///
/// Give a cron pattern, a first time, or both. `latest` and an alias are resolved at each run. Any
/// other version is resolved now and does not change.
#[derive(Debug, Args)]
pub struct CreateArgs {
    #[command(flatten)]
    name: JobNameArgs,
    #[command(flatten)]
    target: TargetArgs,
    /// The cron pattern: five fields, six with seconds, or `@every 5m`
    #[arg(long, value_name = "CRON")]
    cron: Option<String>,
    /// Time zone of `--cron` and `--first-at`, like `Europe/Berlin`
    ///
    /// Defaults to UTC for `--cron`, and to this machine's zone for `--first-at`.
    #[arg(long, value_name = "ZONE", default_value = "", hide_default_value = true)]
    zone: String,
    /// End the job after this many executions [default: unlimited]
    #[arg(long, value_name = "N")]
    count: Option<i64>,
    /// Time of the first execution: RFC 3339, `2026-11-10 12:00`, or `in 2h`
    ///
    /// With `--cron`, the job follows the pattern from this time on.
    #[arg(long, visible_alias = "first", value_name = "TIME")]
    first_at: Option<String>,
    /// The input of each execution: JSON, `@FILE`, or `-` for stdin
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
}

fn check(args: &CreateArgs) -> Result<()> {
    if args.cron.is_none() && args.first_at.is_none() {
        return Err(Failure::usage("a job needs a cron pattern or a first execution time")
            .hint("give `--cron`, like `--cron '0 3 * * *'`, or `--first-at TIME`"));
    }
    Schedule::parse(args.cron.as_deref().unwrap_or("@daily"), &args.zone)?;
    Ok(())
}

pub async fn run(context: &Context<'_>, args: CreateArgs) -> Result<()> {
    let target = args.target.target()?;
    // Reports mistakes that need no server before it sends anything.
    check(&args)?;
    let now = context.ui.now();
    let first_at = args.first_at.as_deref().map(|first| parse_coming(first, &args.zone, now)).transpose()?;
    let new = NewJob {
        name: args.name.name().to_owned(),
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
