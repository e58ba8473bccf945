//! One attempt of an execution, from the claim to the recorded result.

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Method, header};
use futures::FutureExt;
use milepost_catalog::{Claimed, Finish};
use milepost_model::{Backoff, Code};
use milepost_runtime::CallError;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::began::Began;
use super::binding::{self, Binding};
use super::outcome::{self, Outcome};
use super::{Registered, worker};
use crate::state::State;

/// Header that passes the execution's id to the function.
const HEADER: &str = "milepost-execution";
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
/// How long a stopping server waits for the database to release an attempt.
const LETTING_GO: Duration = Duration::from_secs(5);

/// Delay before re-claiming an execution that found all instances busy.
const POSTPONED: Duration = Duration::from_secs(1);

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    Ended,
    /// The server is stopping, and the attempt was given back.
    LetGo,
    /// All instances were busy, so the execution is queued again.
    Postponed,
    /// This node could not start it, so it is queued again.
    Unstarted,
}

enum Called {
    Outcome(Outcome),
    Busy,
    /// This node could not start it.
    Unstarted(String),
    /// The server stopped before the function answered.
    Stopping,
}

/// Runs an attempt in a separate task, which continues if the caller disconnects. The attempt is
/// registered on this node before this returns, not only when the task first runs.
pub(crate) fn start(state: &State, claimed: Claimed, place: Option<OwnedSemaphorePermit>) -> JoinHandle<Over> {
    let registered = Registered::new(state, &claimed);
    let state = state.clone();
    state.executions.tasks.clone().spawn(async move {
        let over = Box::pin(run(&state, &claimed, &registered.token)).await;
        drop((registered, place));
        state.executions.freed.notify_one();
        if over == Over::Postponed {
            let state = state.clone();
            tokio::spawn(async move {
                tokio::time::sleep(POSTPONED).await;
                state.executions.wake_worker();
            });
        }
        over
    })
}

async fn run(state: &State, claimed: &Claimed, cancelled: &CancellationToken) -> Over {
    let tap = state.logs.tap(&claimed.execution.id);
    let began = Began::default();
    let calling = AssertUnwindSafe(call(state, claimed, &began)).catch_unwind();
    let outcome = tokio::select! {
        biased;
        () = state.executions.cut.cancelled() => return let_go(state, claimed).await,
        () = cancelled.cancelled() => Outcome::cancelled(),
        called = calling => match called {
            Ok(Called::Outcome(outcome)) => outcome,
            Ok(Called::Stopping) => return let_go(state, claimed).await,
            Ok(Called::Busy) => return postpone(state, claimed).await,
            Ok(Called::Unstarted(why)) => return unstarted(state, claimed, &why).await,
            Err(_) => Outcome::error("Something went wrong inside the server; its log has the cause."),
        },
    };
    if began.at().is_some() {
        state.executions.able.started();
    }
    let finish = Finish {
        status: outcome.status,
        result: outcome.result,
        failure: outcome.failure,
        log: tap.take(),
        // Excludes the wait for an instance. 0 if no instance was reached.
        duration_ms: i64::try_from(began.at().map_or(0, |at| at.elapsed().as_millis())).unwrap_or(i64::MAX),
    };
    end(state, claimed, finish).await
}

/// Gives an attempt back because the server is stopping. If that fails, the next start or another
/// node recovers it.
async fn let_go(state: &State, claimed: &Claimed) -> Over {
    let id = &claimed.execution.id;
    let stopped = state.catalog.execution_stop(id.clone(), state.executions.node(), claimed.attempt);
    match tokio::time::timeout(LETTING_GO, stopped).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, execution = id, "an execution could not be given back; it counts as an attempt");
        }
        Err(_) => tracing::warn!(execution = id, "an execution could not be given back in time"),
    }
    Over::LetGo
}

/// Queues the execution again, so that others can use its place meanwhile. If that fails, the
/// attempt is no longer registered here and orphan detection recovers it.
async fn postpone(state: &State, claimed: &Claimed) -> Over {
    let id = &claimed.execution.id;
    let by_ms = i64::try_from(POSTPONED.as_millis()).unwrap_or_default();
    let node = state.executions.node();
    if let Err(error) = state.catalog.execution_postpone(id.clone(), node, claimed.attempt, by_ms).await {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(error, execution = id, "an execution that found every instance busy could not be queued again");
    }
    Over::Postponed
}

/// Queues the execution again after a delay, for another node if there is one: an attempt that
/// could not start is no attempt.
async fn unstarted(state: &State, claimed: &Claimed, why: &str) -> Over {
    let id = &claimed.execution.id;
    state.executions.able.failed(why, Instant::now());
    let given_back = state.catalog.execution_unstarted(id.clone(), state.executions.node(), claimed.attempt, why);
    match given_back.await {
        Ok(Some(delay)) => {
            tracing::warn!(execution = id, why, "an execution could not be started and is queued again");
            let state = state.clone();
            tokio::spawn(async move {
                tokio::time::sleep(delay).await;
                // Others first.
                worker::tell(&state).await;
                state.executions.wake_worker();
            });
        }
        Ok(None) => {}
        Err(error) => {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, execution = id, "an execution that could not be started could not be queued again");
        }
    }
    Over::Unstarted
}

/// Retries until the result is recorded: an accepted execution must end, even if the database is
/// down for a while.
async fn end(state: &State, claimed: &Claimed, finish: Finish) -> Over {
    let (id, node) = (&claimed.execution.id, state.executions.node());
    let mut backoff = BACKOFF;
    loop {
        match state.catalog.execution_finish(id.clone(), node, claimed.attempt, finish.clone()).await {
            Ok(true) => return Over::Ended,
            Ok(false) => {
                tracing::info!(execution = id, "an attempt ended after it was given up; its result does not count");
                return Over::Ended;
            }
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, execution = id, "the end of an execution could not be written; trying again");
            }
        }
        tokio::select! {
            () = state.executions.cut.cancelled() => return let_go(state, claimed).await,
            () = tokio::time::sleep(backoff.next_delay()) => {}
        }
    }
}

async fn call(state: &State, claimed: &Claimed, began: &Began) -> Called {
    // Queued executions wait for obstacles to pass. A caller that waits for a synchronous one gets
    // the error instead.
    let patient = !claimed.execution.sync;
    let mut backoff = BACKOFF;
    loop {
        match binding::of(state, claimed).await {
            Ok(bound) => match once(state, claimed, bound, began).await {
                Err(CallError::Stopping) if state.executions.is_stopping() => return Called::Stopping,
                Err(CallError::Busy { .. }) if patient => return Called::Busy,
                Err(error @ (CallError::NotFetched { .. } | CallError::NotStarted { .. })) if patient => {
                    return Called::Unstarted(error.to_string());
                }
                // A pool may stop on its own; another one replaces it.
                Err(CallError::Stopping) if patient => {}
                Err(error) => return Called::Outcome(outcome::of_error(&error)),
                Ok(outcome) => return Called::Outcome(outcome),
            },
            Err(error) if patient && error.0.code == Code::Unavailable => {}
            Err(error) => return Called::Outcome(Outcome::error(&error.0.message)),
        }
        tokio::time::sleep(backoff.next_delay()).await;
    }
}

async fn once(state: &State, claimed: &Claimed, bound: Binding, began: &Began) -> Result<Outcome, CallError> {
    let Binding { function, context } = bound;
    began.forget();
    let calling = async {
        let response = state.plane.runtime.call(&function, request(claimed, began), context).await?;
        let (parts, body) = response.into_parts();
        // One deadline covers the head and the whole streamed body.
        let deadline = began.at().unwrap_or_else(Instant::now) + function.timeout;
        match tokio::time::timeout_at(deadline.into(), outcome::of_response(&parts, body)).await {
            Ok(outcome) => Ok(outcome),
            Err(_) => Err(CallError::TimedOut { after: function.timeout }),
        }
    };
    // Whether a first attempt has begun is never checked, which spares most executions this write.
    if claimed.attempt == 1 {
        return calling.await;
    }
    tokio::pin!(calling);
    tokio::select! {
        biased;
        outcome = &mut calling => outcome,
        () = note_begin(state, claimed, began) => calling.await,
    }
}

/// Records that an instance received the attempt. Runs concurrently with the function.
async fn note_begin(state: &State, claimed: &Claimed, began: &Began) {
    began.wait().await;
    let id = &claimed.execution.id;
    if let Err(error) = state.catalog.execution_begin(id.clone(), state.executions.node(), claimed.attempt).await {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(error, execution = id, "an attempt has begun and that could not be written; it may not count");
    }
}

fn request(claimed: &Claimed, began: &Began) -> http::Request<Body> {
    let input = claimed.execution.input.as_ref().map(ToString::to_string);
    let length = input.as_ref().map_or(0, String::len);
    let mut request = http::Request::new(began.body(input));
    *request.method_mut() = Method::POST;
    let headers = request.headers_mut();
    for (name, value) in &claimed.execution.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            headers.insert(name, value);
        }
    }
    headers.insert(header::HOST, HeaderValue::from_static("localhost"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    if length > 0 {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    if let Ok(id) = HeaderValue::from_str(&claimed.execution.id) {
        headers.insert(HEADER, id);
    }
    request
}
