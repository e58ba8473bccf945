use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use axum::Json;
use axum::http::StatusCode;
use milepost_catalog::Accept;
use milepost_model::execution::{Cause, NewExecution};
use milepost_model::{AppName, Backoff, Code, Next, Refusal};
use serde_json::{Map, Value};

use super::show;
use crate::compat::qinling::fault::V1Result;
use crate::compat::qinling::project::Project;
use crate::compat::qinling::targets::{self, Names};
use crate::compat::qinling::unread::Unread;
use crate::error::{ApiResult, internal};
use crate::executions::{self, Accepted, Over};
use crate::state::{Shared, State};

/// How long a synchronous execution waits while the project runs as many as its plan allows.
const PATIENCE: Duration = Duration::from_secs(10);
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(1));

pub(crate) async fn create(
    project: Project,
    state: Shared,
    body: Unread,
) -> V1Result<(StatusCode, Json<Map<String, Value>>)> {
    let app = project.may()?;
    let fields = body.fields().await?;
    let target = targets::read(&state, &project, &fields).await?;
    let input = targets::input(fields.text("input")?)?;
    let description = fields.short_text("description")?.unwrap_or_default();
    let new = NewExecution {
        function: target.function,
        version: target.selector,
        input,
        sync: fields.flag("sync")?.unwrap_or(true),
        description,
    };
    let node = state.executions.node().to_owned();
    let accept = Accept {
        new,
        headers: BTreeMap::new(),
        cause: Cause::V1,
        started_by: project.actor().to_owned(),
        node,
        key: None,
    };
    let execution = match accept_soon(&state, app, accept).await? {
        Accepted::Queued(execution) => *execution,
        Accepted::Ran(id, Over::Ended) => state.catalog.execution_get(app, id).await?,
        Accepted::Ran(id, _) => {
            let message = format!("the server is stopping, and execution {id} has not ended");
            return Err(Refusal::new(Code::Unavailable, message).next(Next::Retry).into());
        }
    };
    let names = Names::of_one(&state, app, &execution.function).await?;
    Ok((StatusCode::CREATED, Json(show(app, &names, &execution))))
}

/// Retries when the limit is reached. Other interfaces refuse at once, but v1 clients neither
/// expect that nor retry.
async fn accept_soon(state: &State, app: &AppName, accept: Accept) -> ApiResult<Accepted> {
    let (since, mut backoff) = (Instant::now(), BACKOFF);
    loop {
        let accepted =
            executions::accept(state, app.clone(), accept.clone()).await.map_err(|error| internal(&error))?;
        match accepted {
            Err(error) if error.0.code == Code::TooManyRunning && since.elapsed() < PATIENCE => {}
            accepted => return accepted,
        }
        tokio::time::sleep(backoff.next_delay()).await;
    }
}
