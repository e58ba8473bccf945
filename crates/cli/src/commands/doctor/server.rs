//! Checks that use the facts a running server reports about itself.

use milepost_client::ClientError;
use milepost_client::api::{Problem, RuntimeFacts, SystemFacts};
use milepost_model::UnitKind;
use milepost_model::refusal::Failing;

use super::check::Check;
use super::{machine, programs};
use crate::args::Global;
use crate::commands::shared;
use crate::context::Context;
use crate::output::Ui;

const DATABASE: &str = "database";
const DATABASE_AWAY: &str =
    "start the database, or stop the process that locks its file; until then apps are served, but changes fail";

pub enum Found<'a> {
    /// No server. The check says why; that may be fine.
    None(Check),
    /// A server responds, but refuses to report its facts.
    Unwell(Check),
    Some {
        context: Box<Context<'a>>,
        facts: Box<SystemFacts>,
    },
}

pub async fn find<'a>(ui: &'a Ui, global: &Global) -> Found<'a> {
    const NAME: &str = "server";
    let context = match Context::new(ui, global) {
        Ok(context) => context,
        Err(_) if global.server.is_none() => {
            return Found::None(Check::ok(NAME, "not running; start one with `milepost up` or `milepost serve`"));
        }
        Err(failure) => {
            return Found::None(Check::bad(NAME, failure.message(), "pass `--token`, or set MILEPOST_TOKEN"));
        }
    };
    let at = context.client.server().origin().ascii_serialization();
    match context.client.system().await {
        Ok(facts) => Found::Some { context: Box::new(context), facts: Box::new(facts) },
        Err(ClientError::Unreachable { .. }) if global.server.is_none() => {
            let detail = format!("the server at {at} is not running, and was not shut down cleanly");
            Found::None(Check::warn(NAME, detail, "start it again with `milepost serve`"))
        }
        Err(error @ ClientError::Unreachable { .. }) => {
            let fix = "start it with `milepost serve`, or pass another `--server`";
            Found::None(Check::bad(NAME, error.to_string(), fix))
        }
        Err(ClientError::Refused(problem)) => Found::Unwell(refused(NAME, &at, &problem)),
        Err(error) => Found::None(Check::bad(NAME, format!("{at}: {error}"), "check `--server` and `--token`")),
    }
}

fn refused(name: &str, at: &str, problem: &Problem) -> Check {
    let detail = format!("{at}: {}", problem.detail);
    match problem.status {
        // The server needs the database to authenticate the request, before it can report facts.
        503 if problem.facts.failing == Some(Failing::Database) => Check::bad(DATABASE, detail, DATABASE_AWAY),
        401 | 403 => Check::bad(name, detail, "check `--token`, or MILEPOST_TOKEN"),
        _ => Check::bad(name, detail, "try again; the cause is in the server's standard error"),
    }
}

pub async fn checks(context: &Context<'_>, facts: &SystemFacts) -> Vec<Check> {
    let at = context.client.server().origin().ascii_serialization();
    let mut checks = vec![server(&at, facts)];
    if let Some(free) = facts.data_free {
        let mut space = machine::space(free, false);
        space.name = "server disk".to_owned();
        checks.push(space);
    }
    let message = |message: &Option<String>| message.clone().unwrap_or_else(|| "it does not respond".to_owned());
    checks.push(if facts.database.ok {
        Check::ok(DATABASE, format!("{} responds", facts.database.engine))
    } else {
        let detail = format!("{}: {}", facts.database.engine, message(&facts.database.message));
        Check::bad(DATABASE, detail, DATABASE_AWAY)
    });
    checks.push(if facts.blobs.ok {
        Check::ok("files", "the file store responds")
    } else {
        Check::bad("files", message(&facts.blobs.message), "check the server's `--blobs` and its access to it")
    });
    let needed = runtimes_of_app(context).await;
    checks.extend(facts.runtimes.iter().map(|runtime| interpreter(runtime, &needed)));
    checks.extend(facts.runtimes.iter().filter(|runtime| runtime.problem.is_none()).map(installer));
    checks.extend(facts.sandbox.iter().map(|fact| {
        let name = format!("sandbox: {}", fact.name);
        if fact.in_force {
            Check::ok(&name, fact.detail.clone())
        } else {
            Check::warn(&name, fact.detail.clone(), "functions are less isolated: do not run untrusted code")
        }
    }));
    checks
}

fn server(at: &str, facts: &SystemFacts) -> Check {
    let own = env!("CARGO_PKG_VERSION");
    let detail = format!("{at} responds, Milepost {}", facts.version);
    if facts.version == own {
        return Check::ok("server", detail);
    }
    Check::warn("server", format!("{detail}; this command is {own}"), "use the same version for both")
}

fn interpreter(facts: &RuntimeFacts, needed: &[String]) -> Check {
    match &facts.problem {
        Some(problem) => {
            programs::missing(&facts.runtime, problem.trim_end_matches('.'), needed.contains(&facts.runtime))
        }
        None => {
            let version = facts.version.as_deref().unwrap_or("ready");
            let place = facts.program.as_deref().map(|program| format!(" ({program})")).unwrap_or_default();
            Check::ok(&facts.runtime, format!("{version}{place}"))
        }
    }
}

/// Without pip or npm, a server builds only packages that have no dependencies.
fn installer(facts: &RuntimeFacts) -> Check {
    let (name, package) = if facts.runtime == "python" { ("pip", "python3-pip") } else { ("npm", "npm") };
    match &facts.installer {
        Some(installer) => Check::ok(name, format!("{installer}, for builds")),
        None => Check::warn(
            name,
            format!("{} packages with dependencies cannot be built", facts.runtime),
            format!("on Debian, `apt-get install {package}` on the server's machine"),
        ),
    }
}

/// The runtimes that the app's environments use.
async fn runtimes_of_app(context: &Context<'_>) -> Vec<String> {
    let units = shared::units(context, UnitKind::Environment).await.unwrap_or_default();
    units.iter().filter_map(|unit| unit.current.spec["runtime"].as_str().map(str::to_owned)).collect()
}
