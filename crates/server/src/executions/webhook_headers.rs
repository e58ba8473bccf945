//! Selects the headers of a webhook call that the function receives. They are stored with the
//! execution, so credentials are excluded and the size is limited.

use std::collections::BTreeMap;

use axum::http::{HeaderMap, HeaderName};
use milepost_gateway::is_reserved_header;

const MOST: usize = 32;
const MOST_VALUE: usize = 1 << 10;
/// Total size of names and values.
const MOST_BYTES: usize = 8 << 10;

/// Words in header names that indicate a credential.
const SECRET_WORDS: [&str; 8] =
    ["auth", "token", "secret", "password", "credential", "session", "apikey", "passphrase"];
/// Suffix of API key headers, such as `x-functions-key` or `ocp-apim-subscription-key`.
const KEY: &str = "-key";
/// Identifies a delivery and is no credential.
const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// Headers about the body as it was sent, or for the server itself. In addition to those that
/// functions never receive from strangers.
const NOT_PASSED: [&str; 13] = [
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "content-encoding",
    "content-length",
    "content-type",
    "cookie",
    "cookie2",
    "expect",
    "host",
    "via",
    "x-request-id",
];
const NOT_PASSED_PREFIXES: [&str; 2] = ["proxy-", "sec-"];

/// Values of repeated headers are joined. `checked` names the headers of verified signatures, which
/// the function does not need.
pub(super) fn kept(headers: &HeaderMap, checked: &[&str]) -> BTreeMap<String, String> {
    let mut kept = BTreeMap::new();
    let mut bytes = 0;
    for name in headers.keys().filter(|name| is_passed(name) && !checked.contains(&name.as_str())) {
        let Some(value) = joined(headers, name) else { continue };
        let more = name.as_str().len() + value.len();
        if kept.len() < MOST && bytes + more <= MOST_BYTES {
            bytes += more;
            kept.insert(name.as_str().to_owned(), value);
        }
    }
    kept
}

fn is_passed(header: &HeaderName) -> bool {
    let name = header.as_str();
    !is_reserved_header(header)
        && !NOT_PASSED.contains(&name)
        && !NOT_PASSED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        && !is_secret(name)
}

fn is_secret(name: &str) -> bool {
    (name.ends_with(KEY) && name != IDEMPOTENCY_KEY) || SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// Returns `None` for a value that is too long or not text.
fn joined(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let values: Vec<&str> = headers.get_all(name).iter().map(|value| value.to_str().ok()).collect::<Option<_>>()?;
    let value = values.join(", ");
    (value.len() <= MOST_VALUE).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sent: &[(&str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&str, &str)| {
            (name.parse::<HeaderName>().expect("a name"), value.parse().expect("a value"))
        };
        HeaderMap::from_iter(sent.iter().map(pair))
    }

    #[test]
    fn keeps_sender_headers_and_drops_credentials() {
        let sent = of(&[
            ("x-github-event", "push"),
            ("x-github-delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958"),
            ("user-agent", "GitHub-Hookshot/044aadd"),
            ("stripe-signature", "t=1,v1=2"),
            ("x-hub-signature-256", "sha256=1"),
            ("authorization", "Bearer mp_1"),
            ("x-auth-token", "1"),
            ("x-gitlab-token", "1"),
            ("x-api-key", "1"),
            ("cookie", "a=1"),
            ("proxy-authorization", "1"),
            ("milepost-execution", "forged"),
            ("x_github_event", "forged"),
            ("x-forwarded-for", "1.1.1.1"),
            ("forwarded", "for=1.1.1.1"),
            ("host", "x"),
            ("content-length", "1"),
        ]);
        let names = |checked: &[&str]| kept(&sent, checked).into_keys().collect::<Vec<_>>();
        let all = ["stripe-signature", "user-agent", "x-github-delivery", "x-github-event", "x-hub-signature-256"];
        assert_eq!(names(&[]), all);
        assert_eq!(names(&["x-hub-signature-256"]), all[..4]);
    }

    #[test]
    fn drops_api_keys_but_keeps_the_idempotency_key() {
        for key in ["x-functions-key", "x-access-key", "ocp-apim-subscription-key", "x-api-key", "x-apikey"] {
            assert!(kept(&of(&[(key, "1")]), &[]).is_empty(), "{key}");
        }
        for no_key in ["idempotency-key", "x-keyboard", "x-key-count"] {
            assert_eq!(kept(&of(&[(no_key, "1")]), &[]).len(), 1, "{no_key}");
        }
    }

    #[test]
    fn drops_headers_that_the_gateway_reserves() {
        for name in [
            "x-original-url",
            "x-original-uri",
            "x-rewrite-url",
            "x-script-name",
            "x-scheme",
            "x-host",
            "x-original-host",
            "x-cluster-client-ip",
            "x-client-ip",
            "client-ip",
            "true-client-ip",
            "x-real-ip",
            "front-end-https",
            "proxy",
            "forwarded",
            "x-forwarded-anything",
            "keep-alive",
            "connection",
            "te",
            "trailer",
            "transfer-encoding",
            "upgrade",
            "x-fission-function-name",
            "x-fission-params-id",
            "x-fission-full-url",
            "x-fission_params-id",
        ] {
            assert!(kept(&of(&[(name, "1")]), &[]).is_empty(), "{name}");
        }
        assert_eq!(kept(&of(&[("x-fission-of-mine", "1")]), &[]).len(), 1);
    }

    #[test]
    fn limits_count_and_size_of_headers() {
        let many: Vec<_> = (0..90).map(|number| (format!("x-{number}"), "1".to_owned())).collect();
        let long: Vec<_> = (0..20).map(|number| (format!("x-{number}"), "y".repeat(1000))).collect();
        let kept = |sent: &[(String, String)]| {
            let sent: Vec<_> = sent.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            super::kept(&of(&sent), &[]).len()
        };
        assert_eq!((kept(&many), kept(&long)), (MOST, 8));
        assert_eq!(kept(&[("x-long".to_owned(), "y".repeat(MOST_VALUE + 1))]), 0);
        assert_eq!(kept(&[("x-odd".to_owned(), "\u{fc}".to_owned())]), 0, "it is not text");
    }
}
