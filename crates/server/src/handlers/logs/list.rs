use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::{StreamExt, stream};
use milepost_client::api::LogEntry;
use milepost_model::{AppName, Code, Refusal, Selector, Timestamp, UnitKind};
use serde::Deserialize;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use utoipa::IntoParams;

use crate::auth::Caller;
use crate::edge::extract::{Path, Query, unit_key};
use crate::error::{ApiResult, internal};
use crate::logs::{Filter, News};
use crate::state::Shared;

const DEFAULT_LINES: usize = 200;
const MOST_LINES: usize = 10_000;
/// Interval of empty lines, so that proxies do not close the connection as idle.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Wanted {
    /// Only lines of this function.
    function: Option<String>,
    /// Only lines of this version of the function. Any selector.
    version: Option<String>,
    /// Only lines of the request with this id.
    request: Option<String>,
    /// Only lines since this time.
    #[param(value_type = Option<String>, format = DateTime)]
    since: Option<Timestamp>,
    /// Maximum number of lines; the newest are returned. Defaults to 200.
    limit: Option<usize>,
    /// Keep the connection open and send new lines.
    #[serde(default)]
    follow: bool,
}

/// Get the logs of an app's functions on this node, one JSON object per line
#[utoipa::path(get, path = "/apps/{app}/logs", tag = "functions", params(("app" = String, Path, description = "Name of the app"), Wanted), responses((status = 200, description = "Lines, oldest first", content_type = "application/x-ndjson", body = LogEntry)))]
pub(crate) async fn logs_list(
    caller: Caller,
    state: Shared,
    Path(app): Path<String>,
    Query(wanted): Query<Wanted>,
) -> ApiResult<Response> {
    let app = caller.on(&app)?;
    state.catalog.app_get(&app).await?;
    let number = match (&wanted.function, &wanted.version) {
        (Some(function), Some(version)) => {
            let selector: Selector = version.parse().map_err(Refusal::from)?;
            let key = unit_key(UnitKind::Function.as_str(), function)?;
            Some(state.catalog.version_get(&app, key, selector).await?.number)
        }
        (None, Some(_)) => {
            return Err(Refusal::new(Code::InvalidRequest, "a version needs its function")
                .correct("name the function too")
                .into());
        }
        (_, None) => None,
    };
    let filter = Filter {
        function: wanted.function,
        number,
        request: wanted.request,
        since: wanted.since,
        limit: wanted.limit.unwrap_or(DEFAULT_LINES).min(MOST_LINES),
    };
    // Subscribes before reading, so that no line is lost between the two.
    let news = wanted.follow.then(|| state.logs.follow());
    let found = state.logs.find(app.clone(), filter.clone()).await.map_err(|error| internal(&error))?;
    let last = found.last().cloned();
    let past = stream::iter(found).map(|entry| line(&entry));
    let body = match news {
        Some(news) => Body::from_stream(past.chain(follow(news, app, filter, last)).map(Ok::<_, Infallible>)),
        None => Body::from_stream(past.map(Ok::<_, Infallible>)),
    };
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], body).into_response())
}

/// New lines, without those that were already read.
fn follow(
    news: Receiver<Arc<News>>,
    app: AppName,
    filter: Filter,
    last: Option<LogEntry>,
) -> impl futures::Stream<Item = Bytes> {
    stream::unfold((news, app, filter, last), |(mut news, app, filter, mut last)| async move {
        loop {
            match tokio::time::timeout(KEEP_ALIVE, news.recv()).await {
                Err(_) => return Some((Bytes::from_static(b"\n"), (news, app, filter, last))),
                Ok(Ok(fresh)) if fresh.app == app && filter.takes(&fresh.entry) => {
                    let seen = last.as_ref().is_some_and(|last| fresh.entry.at <= last.at && fresh.entry == *last);
                    let old = last.as_ref().is_some_and(|last| fresh.entry.at < last.at);
                    if seen {
                        last = None;
                    }
                    if !seen && !old {
                        return Some((line(&fresh.entry), (news, app, filter, last)));
                    }
                }
                Ok(Ok(_) | Err(RecvError::Lagged(_))) => {}
                Ok(Err(RecvError::Closed)) => return None,
            }
        }
    })
}

fn line(entry: &LogEntry) -> Bytes {
    let mut bytes = serde_json::to_vec(entry).unwrap_or_default();
    bytes.push(b'\n');
    bytes.into()
}
