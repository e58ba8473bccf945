//! Loads functions and reports why they fail.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use milepost_catalog::ServingFunctions;
use milepost_model::check::{FunctionCheck, LoadState};
use milepost_model::refusal::{Field, Part};
use milepost_model::{Code, Next, Refusal};
use milepost_runtime::{CallError, Function};
use tokio::time::Instant;

use crate::error::{ApiError, ApiResult};
use crate::logs::Filter;
use crate::serving::bind_all;
use crate::state::State;

/// Functions of one release that are loaded concurrently.
const AT_ONCE: usize = 4;
/// Time limit for loading one function.
const LOAD: Duration = Duration::from_secs(30);
/// The runtime enforces the same limit and reports a more precise reason, so this server waits
/// slightly longer.
const MARGIN: Duration = Duration::from_secs(2);
/// How long a function waits for others to load before the check starts another round.
const ALL: Duration = Duration::from_secs(300);
/// The last lines of a program may arrive after its exit was reported.
const LAST_WORDS: Duration = Duration::from_millis(100);
/// Maximum log lines included in a failure.
const LINES: usize = 50;
/// With more new functions than this, their instances stop right after the check instead of staying
/// warm for the first request.
const KEPT_WARM: usize = 8;

/// Why a function could not be tested.
#[derive(Debug)]
pub(super) enum Untried {
    /// Other functions were loading the whole time.
    NoPlace,
    /// The server itself could not load it.
    Unable(String),
}

/// Loads the functions that are not in `found` yet. Returns `Err` if some could not be tried; the
/// results of the others are in `found`.
pub(super) async fn load_all(
    state: &State,
    wanted: ServingFunctions,
    found: &mut HashMap<i64, FunctionCheck>,
) -> Result<(), Untried> {
    let until = Instant::now() + ALL;
    let bound = bind_all(wanted);
    let keep = bound.len() <= KEPT_WARM;
    let missing: Vec<_> = bound.into_iter().filter(|(id, _, _)| !found.contains_key(id)).collect();
    let loads = futures::stream::iter(missing).map(|(id, name, function)| async move {
        let check = match function {
            Ok(function) => load(state, &Arc::new(function), keep, until).await,
            Err((name_of, number)) => Ok(FunctionCheck {
                name: name_of,
                number,
                state: LoadState::Failed,
                reason: format!("function `{name}` has no package that can run"),
                log: Vec::new(),
            }),
        };
        (id, check)
    });
    let mut loads = loads.buffer_unordered(AT_ONCE);
    let mut untried = Ok(());
    while let Some((id, check)) = loads.next().await {
        match check {
            Ok(check) => drop(found.insert(id, check)),
            // A failure of the server takes precedence, because another round does not fix it.
            Err(reason @ Untried::Unable(_)) => untried = Err(reason),
            Err(reason) => untried = untried.and(Err(reason)),
        }
    }
    untried
}

async fn load(state: &State, function: &Arc<Function>, keep: bool, until: Instant) -> Result<FunctionCheck, Untried> {
    // Waiting for a permit does not count towards the function's time limit.
    let place = tokio::time::timeout_at(until, state.checks.places.acquire()).await;
    let _place = place.map_err(|_| Untried::NoPlace)?;
    let began = state.catalog.now();
    let runtime = &state.plane.runtime;
    let failed = match tokio::time::timeout(LOAD + MARGIN, runtime.load(function)).await {
        Ok(Ok(())) => None,
        Ok(Err(CallError::NotReady { reason })) => Some(reason),
        Ok(Err(
            error @ (CallError::NotFetched { .. }
            | CallError::NotStarted { .. }
            | CallError::Busy { .. }
            | CallError::Stopping),
        )) => {
            return Err(Untried::Unable(format!("function {} version {}: {error}", function.name, function.number)));
        }
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some(format!("it was not ready within {} s", LOAD.as_secs())),
    };
    if !keep {
        runtime.let_go(&function.app, &function.name, function.number, 1, 0);
    }
    let (name, number) = (function.name.clone(), function.number);
    let Some(reason) = failed else {
        return Ok(FunctionCheck { name, number, state: LoadState::Ok, reason: String::new(), log: Vec::new() });
    };
    tokio::time::sleep(LAST_WORDS).await;
    let filter = Filter {
        function: Some(name.to_string()),
        number: Some(number),
        since: Some(began),
        limit: LINES,
        ..Filter::default()
    };
    // The reason is known even if the log cannot be read.
    let lines = state.logs.find(function.app.clone(), filter).await.unwrap_or_default();
    let said = |line: &milepost_client::api::LogEntry| line.source != milepost_client::api::LogSource::Runtime;
    let log = lines.into_iter().filter(said).map(|line| line.text).collect();
    Ok(FunctionCheck { name, number, state: LoadState::Failed, reason, log })
}

/// Loads functions before a write makes them live immediately. Refuses the write if one fails to
/// load. The results are added to `found`.
pub(crate) async fn load_before(
    state: &State,
    wanted: ServingFunctions,
    found: &mut HashMap<i64, FunctionCheck>,
    what: &str,
) -> ApiResult<()> {
    let untried = load_all(state, wanted, found).await.err();
    let mut failed: Vec<&FunctionCheck> =
        found.values().filter(|function| function.state == LoadState::Failed).collect();
    if failed.is_empty() {
        return match untried {
            None => Ok(()),
            Some(untried) => Err(unable(what, &untried).into()),
        };
    }
    failed.sort_by(|one, other| one.name.cmp(&other.name));
    let part = |function: &&FunctionCheck| {
        Part::new(format!("function {} version {}", function.name, function.number), &function.reason)
    };
    let message = format!("{what} would make functions live that do not load, so nothing was changed");
    Err(ApiError::from(
        Refusal::new(Code::CheckFailed, message)
            .correct("deploy code that loads first")
            .give(Field::NoCheck)
            .parts(failed.iter().map(part).collect()),
    ))
}

fn unable(what: &str, untried: &Untried) -> Refusal {
    let why = match untried {
        Untried::NoPlace => "the server is loading other functions",
        Untried::Unable(why) => why,
    };
    Refusal::new(
        Code::Unavailable,
        format!("{what} needs functions to be loaded first, which was not possible: {why}; nothing was changed"),
    )
    .next(Next::Wait)
}
