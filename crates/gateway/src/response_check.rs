//! Checks a function's response: its head must be within the limits and its length valid.

use http::{HeaderMap, StatusCode, header};

use crate::problem::Problem;
use crate::settings::Limits;

/// Checks the head of a function's response.
pub(crate) fn check(status: StatusCode, headers: &HeaderMap, most_bytes: usize) -> Result<(), Problem> {
    if !(200..600).contains(&status.as_u16()) {
        return Err(bad(format!(
            "The function answered with the status {}, which is not a final one.",
            status.as_u16()
        )));
    }
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if bytes > most_bytes {
        return Err(bad(format!("The headers of the function's answer are larger than {} KiB.", most_bytes >> 10)));
    }
    Ok(())
}

/// The same check for callers that respond for a function outside of the gateway. Returns why the
/// head cannot be sent.
pub fn check_response_head(status: StatusCode, headers: &HeaderMap) -> Result<(), String> {
    check(status, headers, Limits::default().head_bytes).map_err(|problem| problem.detail)
}

/// The `content-length` that a function set for a streamed body. Several count as none and are
/// dropped later.
pub(crate) fn length(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let mut all = headers.get_all(header::CONTENT_LENGTH).iter();
    let (Some(only), None) = (all.next(), all.next()) else { return Ok(None) };
    let digits = only.to_str().ok().filter(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()));
    let length = digits.and_then(|text| text.parse().ok());
    length.map(Some).ok_or_else(|| bad("The `content-length` of the function's answer is not a number.".to_owned()))
}

pub(crate) fn wrong_length() -> Problem {
    bad("The `content-length` of the function's answer is not the length of its body.".to_owned())
}

fn bad(detail: String) -> Problem {
    Problem::new(StatusCode::BAD_GATEWAY, "bad_answer", detail)
}
