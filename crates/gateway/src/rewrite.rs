//! What a route passes on: the path, and the headers that report the stripped prefix or that
//! Fission's router would send.

use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Uri};

use crate::routes::CompiledRewrite;

const X_FORWARDED_PREFIX: HeaderName = HeaderName::from_static("x-forwarded-prefix");
const FULL_URL: HeaderName = HeaderName::from_static("x-fission-full-url");
const FUNCTION_NAME: HeaderName = HeaderName::from_static("x-fission-function-name");
const FUNCTION_NAMESPACE: HeaderName = HeaderName::from_static("x-fission-function-namespace");
const FUNCTION_VERSION: HeaderName = HeaderName::from_static("x-fission-function-resourceversion");
const PARAMS: &str = "x-fission-params-";

/// The request target as the function sees it.
pub(crate) fn target(uri: &Uri, rewrite: CompiledRewrite) -> Uri {
    let (_, rest) = rewrite.split(uri.path());
    if rest.len() == uri.path().len() {
        return uri.path_and_query().cloned().map(Uri::from).unwrap_or_default();
    }
    with_query(rest, uri)
}

/// A path with the query of a request.
pub(crate) fn with_query(path: &str, uri: &Uri) -> Uri {
    let text = uri.query().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
    PathAndQuery::try_from(text).map(Uri::from).unwrap_or_default()
}

/// The facts that the headers are made from.
pub(crate) struct RouteFacts<'r> {
    pub(crate) rewrite: CompiledRewrite,
    /// As it was sent.
    pub(crate) uri: &'r Uri,
    /// Whether the sender's `x-forwarded-*` are trusted.
    pub(crate) trusted: bool,
    pub(crate) function: &'r str,
    pub(crate) app: &'r str,
    pub(crate) version: i64,
    pub(crate) params: &'r [(Box<str>, Box<str>)],
}

/// Replaces the headers that only the gateway may set.
pub(crate) fn set_headers(headers: &mut HeaderMap, facts: &RouteFacts<'_>) {
    drop_fission(headers);
    if !facts.trusted {
        headers.remove(X_FORWARDED_PREFIX);
    }
    let (mount, _) = facts.rewrite.split(facts.uri.path());
    // Fission does not report what it stripped.
    if !mount.is_empty() && !facts.rewrite.fission {
        let before = headers.get(X_FORWARDED_PREFIX).map_or(&b""[..], HeaderValue::as_bytes).trim_ascii();
        let prefix = [before.strip_suffix(b"/").unwrap_or(before), mount.as_bytes()].concat();
        set(headers, X_FORWARDED_PREFIX, &prefix);
    }
    if facts.rewrite.fission {
        set(headers, FULL_URL, facts.uri.path_and_query().map_or("/", PathAndQuery::as_str).as_bytes());
        set(headers, FUNCTION_NAME, facts.function.as_bytes());
        set(headers, FUNCTION_NAMESPACE, facts.app.as_bytes());
        set(headers, FUNCTION_VERSION, facts.version.to_string().as_bytes());
        for (name, value) in facts.params {
            // Skips a name that is not a valid header name: the function finds it in the route's
            // parameters.
            if let Ok(name) = HeaderName::try_from(format!("{PARAMS}{name}")) {
                set(headers, name, value.as_bytes());
            }
        }
    }
}

/// Skips a value that is not a valid header value.
fn set(headers: &mut HeaderMap, name: HeaderName, value: &[u8]) {
    if let Ok(value) = HeaderValue::from_bytes(value) {
        headers.insert(name, value);
    }
}

fn drop_fission(headers: &mut HeaderMap) {
    let forged: Vec<HeaderName> = headers.keys().filter(|name| is_of_fission(name.as_str())).cloned().collect();
    for name in forged {
        headers.remove(name);
    }
}

/// In any spelling: WSGI does not distinguish `_` from `-`.
pub(crate) fn is_of_fission(name: &str) -> bool {
    let rest = |start| after(name, start);
    rest("x-fission-").is_some()
        && (rest("x-fission-full-url") == Some("")
            || rest("x-fission-function-").is_some()
            || rest("x-fission-params-").is_some())
}

fn after<'n>(name: &'n str, start: &str) -> Option<&'n str> {
    let alike = |(one, other): (u8, u8)| one == other || (one == b'_' && other == b'-');
    let begins = name.len() >= start.len() && name.bytes().zip(start.bytes()).all(alike);
    name.get(start.len()..).filter(|_| begins)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::{Lookup, Route, RouteRewrite, RouteTable};

    fn lines(
        rewrite: RouteRewrite,
        path: &str,
        asked: &str,
        trusted: bool,
        sent: &[(&'static str, &'static str)],
    ) -> Vec<String> {
        let methods = ["GET".to_owned()].into();
        let table = RouteTable::new(vec![Route {
            methods,
            path: path.into(),
            prefix: true,
            rewrite,
            host: "".into(),
            target: (),
        }]);
        let uri: Uri = asked.parse().expect("a target");
        let Lookup::Found { params, rewrite, .. } = table.find("", &http::Method::GET, uri.path()) else {
            panic!("{asked} leads nowhere")
        };
        let mut headers: HeaderMap =
            sent.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect();
        let facts =
            RouteFacts { rewrite, uri: &uri, trusted, function: "hello", app: "shop", version: 3, params: &params };
        set_headers(&mut headers, &facts);
        let mut lines: Vec<_> = headers
            .iter()
            .map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())))
            .collect();
        lines.sort();
        lines.insert(0, target(&uri, rewrite).to_string());
        lines
    }

    const FORGED: [(&str, &str); 7] = [
        ("x-fission-params-id", "forged"),
        ("x_fission_params_id", "forged"),
        ("x-fission_params-other", "forged"),
        ("x-fission-function-uid", "forged"),
        ("x-fission-full-url", "forged"),
        ("x-forwarded-prefix", "/forged"),
        ("x-fission-of-mine", "stays"),
    ];

    #[test]
    fn drops_forged_routing_headers() {
        let whole = lines(RouteRewrite::default(), "/api", "/api/x?a=1", false, &FORGED);
        assert_eq!(whole, ["/api/x?a=1", "x-fission-of-mine: stays"]);
    }

    #[test]
    fn appends_the_stripped_prefix_to_that_of_a_trusted_proxy() {
        let strip = RouteRewrite { strip: true, fission: false };
        assert_eq!(lines(strip, "/api", "/api/x?a=1", false, &[]), ["/x?a=1", "x-forwarded-prefix: /api"]);
        for outer in ["/outer", "/outer/"] {
            let sent = [("x-forwarded-prefix", outer)];
            assert_eq!(lines(strip, "/api", "/api/x", true, &sent), ["/x", "x-forwarded-prefix: /outer/api"]);
        }
        assert_eq!(lines(strip, "/", "/x", false, &FORGED[5..6]), ["/x"]);
    }

    #[test]
    fn fission_routes_set_the_headers_of_its_router() {
        let fission = RouteRewrite { strip: false, fission: true };
        let facts = lines(fission, "/t/{id}/{Name}", "/t/a%20b/%C3%BC/x?q", false, &FORGED[..6]);
        let expected = [
            "/t/a%20b/%C3%BC/x?q",
            "x-fission-full-url: /t/a%20b/%C3%BC/x?q",
            "x-fission-function-name: hello",
            "x-fission-function-namespace: shop",
            "x-fission-function-resourceversion: 3",
            "x-fission-params-id: a b",
            "x-fission-params-name: \u{fc}",
        ];
        assert_eq!(facts, expected);
        let stripped = lines(RouteRewrite { strip: true, fission: true }, "/files", "/files/a", false, &[]);
        assert_eq!((stripped[0].as_str(), stripped.iter().any(|line| line.contains("prefix"))), ("/a", false));
        // A line break in a variable cannot inject a header.
        let broken = lines(fission, "/t/{id}", "/t/a%0d%0ax:%20y", false, &[]);
        assert!(broken.iter().all(|line| !line.contains("params")), "{broken:?}");
    }
}
