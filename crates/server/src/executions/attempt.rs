//! One attempt of one execution, from the claim to the end that is written down.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{HeaderValue, Method, header};
use futures::FutureExt;
use milepost_catalog::{Claimed, Finish};
use milepost_model::Code;
use milepost_runtime::{CallError, Function};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::Registered;
use super::binding::{self, Binding};
use super::outcome::{self, Outcome};
use crate::state::State;

/// What the function knows the execution by.
const HEADER: &str = "milepost-execution";
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Whether an attempt was brought to its end, or the server stops and it is given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    Ended,
    LetGo,
}

/// Runs an attempt as a task of its own: it goes on when whoever waits for it leaves. The node has it from this call on,
/// not only from when the task gets its turn.
pub(crate) fn start(state: &State, claimed: Claimed, place: Option<OwnedSemaphorePermit>) -> JoinHandle<Over> {
    let registered = Registered::new(state, &claimed);
    let state = state.clone();
    state.executions.tasks.clone().spawn(async move {
        let over = Box::pin(run(&state, &claimed, &registered.token)).await;
        drop((registered, place));
        state.executions.freed.notify_one();
        over
    })
}

async fn run(state: &State, claimed: &Claimed, cancelled: &CancellationToken) -> Over {
    let tap = state.logs.tap(&claimed.execution.id);
    let started = Instant::now();
    let calling = AssertUnwindSafe(call(state, claimed)).catch_unwind();
    let outcome = tokio::select! {
        biased;
        () = state.executions.cut.cancelled() => return Over::LetGo,
        () = cancelled.cancelled() => Outcome::cancelled(),
        outcome = calling => match outcome {
            Ok(Some(outcome)) => outcome,
            Ok(None) => return Over::LetGo,
            Err(_) => Outcome::error("Something went wrong inside the server; its log has the cause."),
        },
    };
    let finish = Finish {
        status: outcome.status,
        result: outcome.result,
        log: tap.take(),
        duration_ms: i64::try_from(started.elapsed().as_millis()).unwrap_or(i64::MAX),
    };
    end(state, claimed, finish).await
}

/// Accepted means that it ends: a database that is away is waited for.
async fn end(state: &State, claimed: &Claimed, finish: Finish) -> Over {
    let (id, node) = (&claimed.execution.id, state.executions.node());
    let mut pause = FIRST_PAUSE;
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
            () = state.executions.cut.cancelled() => return Over::LetGo,
            () = tokio::time::sleep(pause) => pause = (pause * 2).min(LONGEST_PAUSE),
        }
    }
}

/// None when the server stops before there is an answer.
async fn call(state: &State, claimed: &Claimed) -> Option<Outcome> {
    // Nobody waits for those of the queue, so what is in the way is waited for; somebody who waits is told.
    let patient = !claimed.execution.sync;
    let mut pause = FIRST_PAUSE;
    loop {
        match binding::of(state, claimed).await {
            Ok(bound) => match once(state, claimed, bound).await {
                Err(CallError::Stopping) if state.executions.is_stopping() => return None,
                // A pool may stop for itself, and then there is another one.
                Err(CallError::Busy { .. } | CallError::Stopping) if patient => {}
                Err(error) => return Some(outcome::of_error(&error)),
                Ok(outcome) => return Some(outcome),
            },
            Err(error) if patient && error.0.code == Code::Unavailable => {}
            Err(error) => return Some(Outcome::error(&error.0.message)),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

async fn once(state: &State, claimed: &Claimed, bound: Binding) -> Result<Outcome, CallError> {
    let Binding { function, context } = bound;
    let response = state.plane.runtime.call(&function, request(claimed), context).await?;
    let (parts, body) = response.into_parts();
    Ok(answered(&function, parts, body).await)
}

/// A function that answers in pieces has its time for all of them.
async fn answered(
    function: &Arc<Function>,
    parts: http::response::Parts,
    body: milepost_runtime::ResponseBody,
) -> Outcome {
    match tokio::time::timeout(function.timeout, outcome::of_response(&parts, body)).await {
        Ok(outcome) => outcome,
        Err(_) => outcome::of_error(&CallError::TimedOut { after: function.timeout }),
    }
}

fn request(claimed: &Claimed) -> http::Request<Body> {
    let input = claimed.execution.input.as_ref().map(ToString::to_string);
    let length = input.as_ref().map_or(0, String::len);
    let mut request = http::Request::new(input.map_or_else(Body::empty, Body::from));
    *request.method_mut() = Method::POST;
    let headers = request.headers_mut();
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
