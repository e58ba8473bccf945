//! Rejects requests by their head alone, whatever they ask for.

use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version, header};

use crate::problem::Problem;

/// hyper enforces the same limit for HTTP/1, but not for HTTP/2.
const MAX_HEADERS: usize = 100;

pub(crate) fn check(head: &Parts) -> Result<(), Problem> {
    if head.headers.len() > MAX_HEADERS {
        let detail = format!("The request has more than {MAX_HEADERS} headers.");
        let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
        return Err(Problem::new(status, "too_many_headers", detail).hint("send fewer headers"));
    }
    if head.method == Method::CONNECT {
        if head.extensions.get::<hyper::ext::Protocol>().is_some() {
            return Err(no_sockets());
        }
        let detail = "The gateway is not a proxy to other hosts.";
        return Err(Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail));
    }
    if names(&head.headers, header::UPGRADE, "websocket") {
        return Err(no_sockets());
    }
    if head.version < Version::HTTP_2 && !is_plainly_chunked(&head.headers) {
        let detail = "The request has a transfer coding other than `chunked`.";
        return Err(Problem::new(StatusCode::NOT_IMPLEMENTED, "transfer_coding", detail)
            .hint("send the body without it; `content-encoding` is passed on")
            .header(header::CONNECTION, HeaderValue::from_static("close")));
    }
    match head.headers.get(header::EXPECT) {
        Some(expected) if !expected.as_bytes().eq_ignore_ascii_case(b"100-continue") => {
            let detail = "The request expects something other than `100-continue`.";
            Err(Problem::new(StatusCode::EXPECTATION_FAILED, "unknown_expectation", detail)
                .hint("leave out the `expect` header"))
        }
        _ => Ok(()),
    }
}

fn no_sockets() -> Problem {
    let detail = "This server does not support WebSockets.";
    Problem::new(StatusCode::NOT_IMPLEMENTED, "websocket_unsupported", detail)
        .hint("stream the response of a function, for example as server-sent events, or poll")
}

/// Whether a comma-separated header contains this token.
fn names(headers: &HeaderMap, name: HeaderName, word: &str) -> bool {
    let mut words = headers.get_all(name).iter().flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    words.any(|found| {
        // A version may follow: `websocket/13`.
        let found = found.split(|byte| *byte == b'/').next().unwrap_or_default();
        found.trim_ascii().eq_ignore_ascii_case(word.as_bytes())
    })
}

/// hyper rejects codings that do not end in `chunked`, but accepts `gzip, chunked`.
fn is_plainly_chunked(headers: &HeaderMap) -> bool {
    let mut all = headers.get_all(header::TRANSFER_ENCODING).iter();
    match (all.next(), all.next()) {
        (None, _) => true,
        (Some(only), None) => only.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked"),
        (Some(_), Some(_)) => false,
    }
}
