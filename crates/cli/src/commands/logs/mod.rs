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

/// How many lines are shown when nothing else is said.
const LINES: u64 = 200;
/// Who says what is wanted gets all of it, as far as the server gives it.
const MOST_LINES: u64 = 10_000;

/// Show what functions wrote
///
/// Oldest first: what functions print (`out`), what they write to standard error (`err`), and what the runtime says about
/// them (`---`). The id of a request is in the header `milepost-request-id` of its answer.
#[derive(Debug, Args)]
pub struct LogsArgs {
    /// Only of this function
    #[arg(long, value_name = "FUNCTION")]
    function: Option<String>,
    /// Only of this version of the function
    #[arg(long, value_name = "VERSION", requires = "function")]
    version: Option<String>,
    /// Only of this request
    #[arg(long, value_name = "ID")]
    request: Option<String>,
    /// Stay, and show what comes
    #[arg(short, long)]
    follow: bool,
    /// Only what is younger: a length of time like `10m`, or a moment
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// The newest so many [default: 200, or 10000 with `--since` or `--request`]
    #[arg(long, value_name = "COUNT")]
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
        // It may come, or have left lines before it was removed.
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
            // Nothing, because there is no such function, is a mistake in the name.
            function(context, name).await?;
        }
        context.ui.say(&format!("Nothing was written by app {} that matches.", context.app));
    }
    Ok(())
}

async fn function(context: &Context<'_>, name: &UnitName) -> Result<Unit, ClientError> {
    let key = UnitKey { kind: UnitKind::Function, name: name.clone() };
    context.client.unit_get(&context.app, &key).await
}
