//! Conditional requests (RFC 9110, section 13). Only ETags are supported, not dates: files have
//! digests.

use http::{HeaderMap, header};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Go,
    NotModified,
    Failed,
}

/// Evaluates `If-Match` and `If-None-Match` for a file with this ETag.
pub(crate) fn judge(headers: &HeaderMap, etag: &[u8]) -> Verdict {
    let mut wanted = headers.get_all(header::IF_MATCH).iter().peekable();
    if wanted.peek().is_some() && !wanted.any(|list| lists(list.as_bytes(), etag, Comparison::Strong)) {
        return Verdict::Failed;
    }
    if headers.get_all(header::IF_NONE_MATCH).iter().any(|list| lists(list.as_bytes(), etag, Comparison::Weak)) {
        return Verdict::NotModified;
    }
    Verdict::Go
}

/// Whether a range request is for the version that the client has. A date never matches.
pub(crate) fn range_holds(headers: &HeaderMap, etag: &[u8]) -> bool {
    headers.get(header::IF_RANGE).is_none_or(|tag| tag.as_bytes().trim_ascii() == etag)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Strong,
    Weak,
}

fn lists(list: &[u8], etag: &[u8], comparison: Comparison) -> bool {
    if list == etag {
        return true;
    }
    let mut rest = list.trim_ascii();
    if rest == b"*" {
        return true;
    }
    while !rest.is_empty() {
        let (weak, tag) = rest.strip_prefix(b"W/").map_or((false, rest), |tag| (true, tag));
        // An ETag may contain commas: it ends at its quote.
        let Some(close) = tag.strip_prefix(b"\"").and_then(|inner| inner.iter().position(|byte| *byte == b'"')) else {
            return false;
        };
        if &tag[..close + 2] == etag && (comparison == Comparison::Weak || !weak) {
            return true;
        }
        rest = tag[close + 2..].trim_ascii_start();
        rest = rest.strip_prefix(b",").unwrap_or(rest).trim_ascii_start();
    }
    false
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn verdict(name: header::HeaderName, value: &'static str) -> Verdict {
        let headers = HeaderMap::from_iter([(name, HeaderValue::from_static(value))]);
        judge(&headers, b"\"abc\"")
    }

    #[test]
    fn if_none_match_compares_weakly_and_parses_lists() {
        for value in
            ["\"abc\"", "W/\"abc\"", "*", " \"x\" , W/\"abc\"", "\"a,b\",\"abc\"", "\"x\",\"abc\",", "\"x\"\"abc\""]
        {
            assert_eq!(verdict(header::IF_NONE_MATCH, value), Verdict::NotModified, "{value}");
        }
        for value in ["\"abd\"", "abc", "\"abc", "", "\"abc-br\"", "\"x\", junk, \"abc\"", "w/\"abc\""] {
            assert_eq!(verdict(header::IF_NONE_MATCH, value), Verdict::Go, "{value}");
        }
    }

    #[test]
    fn if_match_compares_strongly() {
        for value in ["\"abc\"", "*", "\"x\", \"abc\""] {
            assert_eq!(verdict(header::IF_MATCH, value), Verdict::Go, "{value}");
        }
        for value in ["W/\"abc\"", "\"x\"", ""] {
            assert_eq!(verdict(header::IF_MATCH, value), Verdict::Failed, "{value}");
        }
    }

    #[test]
    fn if_range_requires_the_same_etag() {
        let holds =
            |value| range_holds(&HeaderMap::from_iter([(header::IF_RANGE, HeaderValue::from_static(value))]), b"\"a\"");
        assert!(holds("\"a\""));
        assert!(!holds("W/\"a\""));
        assert!(!holds("Wed, 21 Oct 2015 07:28:00 GMT"));
        assert!(range_holds(&HeaderMap::new(), b"\"a\""));
    }
}
