//! Request extractors, with a clear message for each request that cannot be parsed.

use std::convert::Infallible;
use std::marker::PhantomData;
use std::time::Duration;

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_LENGTH;
use axum::http::request::Parts;
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use milepost_catalog::Page;
use milepost_model::change::UnitKey;
use milepost_model::digest::DigestError;
use milepost_model::refusal::View;
use milepost_model::{Code, Digest, Next, Refusal, UnitKind, UnitName};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use utoipa::IntoParams;

use crate::edge::body;
use crate::edge::cursor;
use crate::edge::rule::{Body as Large, Rule};
use crate::error::ApiError;
use crate::state::{State, Store};

/// Maximum size of a JSON body. Large enough for a change of thousands of units.
const MAX_JSON: usize = 32 << 20;
/// Deadline for receiving the body. Shorter than the limit of the whole request, so that a slow
/// client gets the more specific error.
const MAX_WAIT: Duration = Duration::from_secs(50);
const MAX_PAGE: i64 = 1000;
const DEFAULT_PAGE: i64 = 50;

/// A JSON body that has not been read yet. Handlers read it after authorizing the caller.
pub(crate) struct Json<T> {
    request: Option<Request>,
    of: PhantomData<fn() -> T>,
}

impl<T> FromRequest<State> for Json<T> {
    type Rejection = Infallible;

    async fn from_request(request: Request, _: &State) -> Result<Self, Infallible> {
        Ok(Self { request: Some(request), of: PhantomData })
    }
}

impl<T: DeserializeOwned> Json<T> {
    pub(crate) async fn read(mut self) -> Result<T, Refusal> {
        let request = self.request.take().unwrap_or_default();
        if declared_length(request.headers()).is_some_and(|length| length > MAX_JSON as u64) {
            let (parts, body) = request.into_parts();
            body::hear_out_aside(&parts.headers, body);
            return Err(too_large(&parts));
        }
        let bytes = match tokio::time::timeout(MAX_WAIT, read(request)).await {
            Ok(read) => read?,
            Err(_) => return Err(too_slow()),
        };
        if holds_nul(&bytes) {
            return Err(no_nul("body"));
        }
        let bytes = if bytes.is_empty() { Bytes::from_static(b"{}") } else { bytes };
        serde_json::from_slice(&bytes).map_err(|error| {
            let reason = without_value(&error.to_string());
            Refusal::new(Code::InvalidRequest, format!("the body of the request cannot be read: {reason}"))
                .see(View::Reference)
        })
    }
}

/// Drains an unread body, so that the client still gets the response.
impl<T> Drop for Json<T> {
    fn drop(&mut self) {
        if let Some(request) = self.request.take()
            && !http_body::Body::is_end_stream(request.body())
        {
            let (parts, body) = request.into_parts();
            body::hear_out_aside(&parts.headers, body);
        }
    }
}

async fn read(request: Request) -> Result<Bytes, Refusal> {
    let (parts, body) = request.into_parts();
    let mut body = body.into_data_stream();
    let mut bytes = BytesMut::new();
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|_| {
            Refusal::new(Code::InvalidRequest, "the body of the request ended too early").next(Next::Retry)
        })?;
        if bytes.len() + chunk.len() > MAX_JSON {
            body::hear_out(&mut body).await;
            return Err(too_large(&parts));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes.freeze())
}

/// Removes the value from a serde error and keeps only its type. The value may be a secret.
fn without_value(error: &str) -> String {
    for problem in ["invalid type: ", "invalid value: "] {
        if let Some(rest) = error.strip_prefix(problem)
            && let Some((value, expected)) = rest.rsplit_once(", expected ")
        {
            let kind = value.split(['`', '"']).next().unwrap_or_default().trim_end();
            return format!("{problem}{kind}, expected {expected}");
        }
    }
    error.to_owned()
}

/// Returns whether a JSON string contains a NUL character, which databases cannot store. `\\u0000`
/// is an escaped backslash followed by text, not a NUL.
fn holds_nul(json: &[u8]) -> bool {
    let escaped = |at: usize| json[..at].iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1;
    json.windows(6).enumerate().any(|(at, window)| window == b"\\u0000" && !escaped(at))
}

fn no_nul(part: &str) -> Refusal {
    Refusal::new(Code::InvalidRequest, format!("the {part} of the request contains a NUL character"))
        .correct("remove it")
}

fn too_slow() -> Refusal {
    let message = format!("the body of the request did not arrive within {} s", MAX_WAIT.as_secs());
    Refusal::new(Code::RequestTimeout, message).correct("check the connection, and send it again")
}

fn too_large(request: &Parts) -> Refusal {
    let hint = match request.extensions.get().map(|rule: &Rule| rule.body()) {
        Some(Large::Input) => "store the input elsewhere, and give the function its address",
        Some(Large::Document | Large::Stream) | None => "send files with the calls under `/blobs`",
    };
    let message = format!("the request is larger than {} MiB, the limit of a JSON body", MAX_JSON >> 20);
    Refusal::new(Code::RequestTooLarge, message).correct(hint)
}

pub(crate) fn declared_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

pub(crate) struct Query<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<State> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &State) -> Result<Self, ApiError> {
        if parts.uri.query().is_some_and(|query| query.contains("%00")) {
            return Err(no_nul("query").into());
        }
        match axum::extract::Query::<T>::try_from_uri(&parts.uri) {
            Ok(query) => Ok(Self(query.0)),
            Err(rejection) => Err(Refusal::new(Code::InvalidRequest, unreadable_query(&rejection.body_text()))
                .see(View::Reference)
                .into()),
        }
    }
}

/// Rewrites the library's message, `Failed to deserialize query string: FIELD: REASON`, to begin
/// with the field.
fn unreadable_query(told: &str) -> String {
    let reason = told.strip_prefix("Failed to deserialize query string: ").unwrap_or(told);
    match reason.split_once(": ") {
        Some((field, problem)) if problem.contains("digit") || problem.contains("number too") => {
            format!("`{field}` in the query must be a whole number")
        }
        Some((field, problem)) => format!("`{field}` in the query cannot be read: {}", problem.trim_end_matches('.')),
        None => format!("the query cannot be read: {}", reason.trim_end_matches('.')),
    }
}

/// The parameters of a path. Rejects bytes that are not UTF-8.
pub(crate) struct Path<T>(pub T);

impl<T: DeserializeOwned + Send> FromRequestParts<State> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, ApiError> {
        if parts.uri.path().contains("%00") {
            return Err(no_nul("path").into());
        }
        match axum::extract::Path::<T>::from_request_parts(parts, state).await {
            Ok(path) => Ok(Self(path.0)),
            Err(rejection) => {
                let message = format!("the path cannot be read: {}", rejection.body_text().trim_end_matches('.'));
                Err(Refusal::new(Code::InvalidRequest, message)
                    .correct("names in a path are percent-encoded UTF-8")
                    .into())
            }
        }
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Paging {
    /// Maximum number of items. Defaults to 50, at most 1000.
    pub limit: Option<i64>,
    /// The cursor that the previous page returned.
    pub cursor: Option<String>,
}

impl Paging {
    pub(crate) fn limit(&self) -> Result<i64, Refusal> {
        match self.limit {
            Some(limit) if limit < 1 => Err(Refusal::new(Code::InvalidRequest, format!("`limit` is {limit}"))
                .correct(format!("give a limit from 1 to {MAX_PAGE}"))),
            limit => Ok(limit.unwrap_or(DEFAULT_PAGE).min(MAX_PAGE)),
        }
    }

    pub(crate) fn text(&self, list: &str, store: &Store) -> Result<Option<String>, Refusal> {
        self.cursor.as_deref().map(|cursor| cursor::read(list, cursor, store.catalog.now())).transpose()
    }

    /// For lists ordered by number.
    pub(crate) fn page(&self, list: &str, store: &Store) -> Result<Page, Refusal> {
        let below = match self.text(list, store)? {
            Some(text) => Some(text.parse().map_err(|_| cursor::unknown())?),
            None => None,
        };
        Ok(Page { below, limit: self.limit()? })
    }
}

pub(crate) fn unit_key(kind: &str, name: &str) -> Result<UnitKey, Refusal> {
    let kind = kind.parse::<UnitKind>().map_err(|error| {
        Refusal::new(Code::InvalidRequest, error.to_string()).correct("write one of them in the path")
    })?;
    Ok(UnitKey { kind, name: UnitName::for_kind(kind, name)? })
}

pub(crate) fn digest(text: &str) -> Result<Digest, Refusal> {
    text.parse()
        .map_err(|error: DigestError| Refusal::new(Code::InvalidRequest, error.sentence()).correct(DigestError::HINT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::rule::{CHANGE_CODE, INVOKE};

    #[test]
    fn too_large_hint_depends_on_the_rule() {
        let hint = |rule: Rule| {
            let (mut parts, ()) = axum::http::Request::new(()).into_parts();
            parts.extensions.insert(rule);
            crate::phrase::hint(&too_large(&parts)).unwrap_or_default()
        };
        assert!(hint(INVOKE.input()).contains("give the function its address"));
        assert!(hint(CHANGE_CODE).contains("blobs"));
    }
}
