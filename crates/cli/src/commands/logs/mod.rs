mod print;

use clap::Args;
use milepost_client::{ClientError, LogQuery};
use milepost_model::change::UnitKey;
use milepost_model::snapshot::Unit;
use milepost_model::{UnitKind, UnitName};

use crate::context::Context;
use crate::failure::Result;
use crate::output::parse_moment;

pub use print::{Detail, LogPrinter};

/// Default number of lines.
const LINES: u64 = 200;
/// Default number of lines with `--since` or `--request`: as many as the server returns.
const MOST_LINES: u64 = 10_000;

/// Show or follow the logs of functions
///
/// Lines are shown oldest first: standard output (`out`), standard error (`err`), and messages of
/// the runtime (`---`). The request id is in the header `milepost-request-id` of each response.
#[derive(Debug, Args)]
pub struct LogsArgs {
    /// Only lines of this function
    #[arg(long, value_name = "FUNCTION")]
    function: Option<String>,
    /// Only lines of this version of the function
    #[arg(long, value_name = "VERSION", requires = "function")]
    version: Option<String>,
    /// Only lines of this request
    #[arg(long, value_name = "ID")]
    request: Option<String>,
    /// Wait for new lines and print them
    #[arg(short, long)]
    follow: bool,
    /// Only lines newer than this: a duration (`10m`) or a time
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only the last N lines [default: 200, or 10000 with `--since` or `--request`]
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
}

pub async fn run(context: &Context<'_>, args: LogsArgs) -> Result<()> {
    let named: Option<UnitName> = args.function.as_deref().map(str::parse).transpose()?;
    let since = args.since.as_deref().map(|since| parse_moment(since, context.ui.now())).transpose()?;
    let narrowed = since.is_some() || args.request.is_some();
    let query = LogQuery {
        function: args.function,
        version: args.version,
        request: args.request,
        since,
        limit: Some(args.limit.unwrap_or(if narrowed { MOST_LINES } else { LINES })),
        follow: args.follow,
    };
    if let (true, Some(name)) = (args.follow, &named)
        && let Err(ClientError::Refused(problem)) = function(context, name).await
    {
        // Only a warning: the function may be created later, or may have logged before its removal.
        context.ui.warn(&problem.detail);
    }
    let mut stream = context.client.logs(&context.app, &query).await?;
    let mut printer = LogPrinter::new(context.ui, Detail::Full);
    let mut seen = false;
    while let Some(entry) = stream.next().await? {
        seen = true;
        if !printer.print(&entry)? {
            return Ok(());
        }
    }
    if args.follow {
        context.ui.say("The server closed the stream.");
    } else if !seen {
        if let Some(name) = &named {
            // Reports a mistyped name: fails if the function does not exist.
            function(context, name).await?;
        }
        context.ui.say(&format!("No matching log lines for app {}.", context.app));
    }
    Ok(())
}

async fn function(context: &Context<'_>, name: &UnitName) -> Result<Unit, ClientError> {
    let key = UnitKey { kind: UnitKind::Function, name: name.clone() };
    context.client.unit_get(&context.app, &key).await
}
