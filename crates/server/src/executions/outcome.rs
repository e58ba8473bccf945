//! Maps a function's response, or a failed call, to the outcome of an execution.

use std::pin::Pin;

use axum::http::header::CONTENT_TYPE;
use bytes::BytesMut;
use http::response::Parts;
use http_body::{Body as _, Frame};
use milepost_model::RawJson;
use milepost_model::execution::{ExecutionStatus, Failure, MAX_DEPTH, MAX_RESULT};
use milepost_runtime::{BodyError, CallError, Ended, ResponseBody, Thrown};
use serde_json::json;

/// Maximum characters of a failed response that are included in the result.
const TOLD: usize = 4 << 10;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outcome {
    pub status: ExecutionStatus,
    pub result: Option<RawJson>,
    /// What went wrong in the function, unless only the result says it.
    pub failure: Option<Failure>,
}

impl Outcome {
    pub fn cancelled() -> Self {
        Self { status: ExecutionStatus::Cancelled, result: None, failure: None }
    }

    /// The server failed.
    pub fn error(why: &str) -> Self {
        Self { status: ExecutionStatus::Error, result: Some(why.into()), failure: None }
    }

    /// The function failed.
    pub fn failed(why: &str) -> Self {
        Self { status: ExecutionStatus::Failed, result: Some(why.into()), failure: None }
    }

    fn because(self, failure: Failure) -> Self {
        Self { failure: Some(failure), ..self }
    }
}

pub(super) fn of_error(error: &CallError) -> Outcome {
    let why = sentence(&error.to_string());
    match error {
        CallError::TimedOut { .. } => Outcome::failed(&why).because(Failure::TimedOut),
        CallError::Crashed { how } => Outcome::failed(&why).because(crashed(how, false)),
        CallError::Threw(thrown) => Outcome::failed(&why).because(threw(thrown)),
        CallError::Malformed { .. } | CallError::RequestBody { .. } => Outcome::failed(&why),
        CallError::Busy { .. }
        | CallError::NotReady { .. }
        | CallError::NotFetched { .. }
        | CallError::NotStarted { .. }
        | CallError::Stopping => Outcome::error(&why),
    }
}

/// A response that was cut off.
fn of_body_error(error: &BodyError) -> Outcome {
    let outcome = Outcome::failed(&sentence(&error.to_string()));
    match error {
        BodyError::TimedOut { .. } => outcome.because(Failure::TimedOut),
        BodyError::Crashed { how } => outcome.because(crashed(how, true)),
        BodyError::Threw(_) | BodyError::Malformed { .. } => outcome,
    }
}

fn crashed(how: &Ended, begun: bool) -> Failure {
    if how.killed { Failure::Exhausted } else { Failure::Crashed { begun, how: how.to_string() } }
}

fn threw(thrown: &Thrown) -> Failure {
    if thrown.exhausted { Failure::Exhausted } else { Failure::Threw { text: thrown.text.clone() } }
}

pub(super) async fn of_response(parts: &Parts, mut body: ResponseBody) -> Outcome {
    let mut bytes = BytesMut::new();
    while let Some(frame) = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        match frame.map(Frame::into_data) {
            Ok(Ok(chunk)) => bytes.extend_from_slice(&chunk),
            // Trailers.
            Ok(Err(_)) => {}
            Err(error) => return of_body_error(&error),
        }
        if bytes.len() > MAX_RESULT {
            return too_large();
        }
    }
    let kind = parts.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if parts.status.as_u16() >= 400 {
        return Outcome::failed(&refused(parts.status.as_u16(), &bytes));
    }
    let result = result(kind, &bytes);
    if result.as_ref().is_some_and(|result| result.as_str().len() > MAX_RESULT) {
        return too_large();
    }
    Outcome { status: ExecutionStatus::Success, result, failure: None }
}

fn too_large() -> Outcome {
    Outcome::failed(&format!("The result is larger than the {} MiB that one may have.", MAX_RESULT >> 20))
}

/// JSON stays as it is, text becomes a string, and everything else becomes base64 with its content
/// type.
fn result(kind: &str, bytes: &[u8]) -> Option<RawJson> {
    if bytes.is_empty() {
        return None;
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Some(json!({ "contentType": kind, "base64": data_encoding::BASE64.encode(bytes) }).into());
    };
    if is_json(kind)
        && let Ok(value) = RawJson::parse(text.to_owned())
        && value.depth() <= MAX_DEPTH
    {
        return Some(value);
    }
    Some(text.into())
}

fn is_json(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || kind.ends_with("+json")
}

fn refused(status: u16, body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let text = text.trim();
    if text.is_empty() {
        return format!("The function answered {status}.");
    }
    match text.char_indices().nth(TOLD) {
        Some((end, _)) => format!("The function answered {status}: {}…", &text[..end]),
        None => format!("The function answered {status}: {text}"),
    }
}

/// Turns an error message into a sentence: errors are written to be embedded in one.
fn sentence(error: &str) -> String {
    let mut letters = error.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let end = if error.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_json_and_wrap_text_and_binary() {
        let told = |kind, bytes| result(kind, bytes).expect("something").to_string();
        let odd = r#"{"z": 123456789012345678901, "a": 1e400}"#;
        assert_eq!(told("application/json; charset=utf-8", odd.as_bytes()), odd, "letter by letter");
        assert_eq!(told("text/html", b"12"), r#""12""#);
        assert_eq!(told("application/json", b"{broken"), r#""{broken""#);
        let deep = "[".repeat(MAX_DEPTH + 1) + &"]".repeat(MAX_DEPTH + 1);
        assert_eq!(told("application/json", deep.as_bytes()), format!("\"{deep}\""), "who could read that?");
        assert_eq!(result("text/plain", b""), None);
        assert_eq!(told("image/png", &[0xff, 0xd8]), r#"{"base64":"/9g=","contentType":"image/png"}"#);
    }

    #[test]
    fn function_and_server_failures_have_different_statuses() {
        let thrown = Thrown { message: "ValueError: x".to_owned(), text: "x".to_owned(), exhausted: false };
        let threw = of_error(&CallError::Threw(thrown.clone()));
        let failure = Failure::Threw { text: "x".to_owned() };
        assert_eq!(threw, Outcome::failed("The function threw: ValueError: x.").because(failure));
        let exhausted = of_error(&CallError::Threw(Thrown { exhausted: true, ..thrown }));
        assert_eq!(exhausted.failure, Some(Failure::Exhausted));
        let exited = Ended { how: "exit code 3".to_owned(), killed: false };
        let killed = CallError::Crashed { how: Ended { killed: true, ..exited.clone() } };
        assert_eq!(of_error(&killed).failure, Some(Failure::Exhausted));
        let crashed = Failure::Crashed { begun: true, how: "exit code 3".to_owned() };
        assert_eq!(of_body_error(&BodyError::Crashed { how: exited }).failure, Some(crashed));
        let not_ready = of_error(&CallError::NotReady { reason: "no secret".to_owned() });
        assert_eq!(not_ready.status, ExecutionStatus::Error);
        assert_eq!(refused(404, b" no such order\n"), "The function answered 404: no such order");
    }
}
