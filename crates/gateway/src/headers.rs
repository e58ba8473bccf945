//! Filters headers in both directions.

use std::net::IpAddr;

use http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::{request_id, rewrite};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The id that the caller sent as `x-request-id`.
const MILEPOST_CALLER_REQUEST_ID: HeaderName = HeaderName::from_static("milepost-caller-request-id");

/// Whether proxies report the client or the requested address in this header, and frameworks trust
/// it. Dropped unless it comes from a trusted proxy.
fn is_of_a_proxy(name: &str) -> bool {
    const CLIENT: [&str; 18] = [
        "cf-connecting-ip",
        "cf-connecting-ipv6",
        "cf-pseudo-ipv4",
        "client-ip",
        "fastly-client-ip",
        "fly-client-ip",
        "forwarded",
        "forwarded-for",
        "true-client-ip",
        "x-appengine-user-ip",
        "x-azure-clientip",
        "x-azure-socketip",
        "x-client-ip",
        "x-cluster-client-ip",
        "x-envoy-external-address",
        "x-forwarded",
        "x-nf-client-connection-ip",
        "x-real-ip",
    ];
    const ADDRESS: [&str; 9] = [
        "front-end-https",
        "x-host",
        "x-original-host",
        "x-original-uri",
        "x-original-url",
        "x-rewrite-url",
        "x-scheme",
        "x-script-name",
        "x-url-scheme",
    ];
    name.starts_with("x-forwarded-") || CLIENT.contains(&name) || ADDRESS.contains(&name)
}

/// Headers about one connection, never about the message. `proxy` is here because CGI programs
/// receive it as the variable `HTTP_PROXY`, which libraries use to choose a proxy.
const HOP_BY_HOP: [HeaderName; 10] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy"),
    HeaderName::from_static("proxy-connection"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Determines the forwarding headers of a request.
pub(crate) struct Forwarding<'r> {
    pub(crate) client: Option<IpAddr>,
    pub(crate) trusted: bool,
    pub(crate) secure: bool,
    pub(crate) host: &'r HeaderValue,
}

/// Cleans the headers of a request for a function.
pub(crate) fn clean_request(headers: &mut HeaderMap, forwarding: &Forwarding<'_>, request_id: HeaderValue) {
    drop_hop_by_hop(headers);
    drop_forged(headers, forwarding.trusted);
    // The gateway handles this one itself.
    headers.remove(header::EXPECT);
    join_cookies(headers);
    headers.insert(header::HOST, forwarding.host.clone());
    if let Some(sent) = headers.insert(X_REQUEST_ID, request_id).filter(request_id::is_sane) {
        headers.insert(MILEPOST_CALLER_REQUEST_ID, sent);
    }
    forward(headers, forwarding);
}

/// Cleans the headers of a function's response.
pub(crate) fn clean_answer(headers: &mut HeaderMap) {
    drop_hop_by_hop(headers);
    drop_all(headers, is_ours);
}

fn drop_hop_by_hop(headers: &mut HeaderMap) {
    if headers.contains_key(header::CONNECTION) {
        let named: Vec<HeaderName> = headers
            .get_all(header::CONNECTION)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .filter_map(|name| HeaderName::from_bytes(name.trim().as_bytes()).ok())
            // A `connection` header must not remove the message's host and length.
            .filter(|name| *name != header::HOST && *name != header::CONTENT_LENGTH)
            .collect();
        for name in named {
            headers.remove(name);
        }
    }
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
}

/// Over HTTP/2 browsers send one field per cookie, which must be joined before leaving HTTP/2 (RFC
/// 9113, 8.2.3).
fn join_cookies(headers: &mut HeaderMap) {
    let mut all = headers.get_all(header::COOKIE).iter();
    let (Some(first), Some(second)) = (all.next(), all.next()) else { return };
    let mut joined = first.as_bytes().to_vec();
    for cookies in std::iter::once(second).chain(all) {
        joined.extend_from_slice(b"; ");
        joined.extend_from_slice(cookies.as_bytes());
    }
    if let Ok(joined) = HeaderValue::from_bytes(&joined) {
        headers.insert(header::COOKIE, joined);
    }
}

/// Whether an untrusted client's header describes the connection, or may be set only by the gateway
/// or a proxy. Functions never receive such a header, whatever way the request takes.
pub fn is_reserved_header(name: &HeaderName) -> bool {
    let text = name.as_str();
    HOP_BY_HOP.contains(name)
        || is_of_a_proxy(text)
        || is_ours(text)
        || text.contains('_')
        || rewrite::is_of_fission(text)
}

/// Reserved for the gateway.
fn is_ours(name: &str) -> bool {
    name.starts_with("milepost-")
}

/// CGI and WSGI map a name with `_` to the same variable as one with `-`, which would bypass every
/// other check here.
fn drop_forged(headers: &mut HeaderMap, trusted: bool) {
    drop_all(headers, |name| is_ours(name) || name.contains('_') || (!trusted && is_of_a_proxy(name)));
}

fn drop_all(headers: &mut HeaderMap, is_bad: impl Fn(&str) -> bool) {
    let bad: Vec<HeaderName> = headers.keys().filter(|name| is_bad(name.as_str())).cloned().collect();
    for name in bad {
        headers.remove(name);
    }
}

fn forward(headers: &mut HeaderMap, forwarding: &Forwarding<'_>) {
    let proto = HeaderValue::from_static(if forwarding.secure { "https" } else { "http" });
    let client = forwarding.client.map(|client| client.to_canonical().to_string());
    headers.entry(X_FORWARDED_HOST).or_insert_with(|| forwarding.host.clone());
    headers.entry(X_FORWARDED_PROTO).or_insert(proto);
    let Some(mut chain) = client else { return };
    for before in headers.get_all(X_FORWARDED_FOR).iter().rev().filter_map(|value| value.to_str().ok()) {
        chain = format!("{before}, {chain}");
    }
    if let Ok(chain) = HeaderValue::try_from(chain) {
        headers.insert(X_FORWARDED_FOR, chain);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(headers: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_static(value));
        }
        map
    }

    fn cleaned(headers: &[(&'static str, &'static str)], trusted: bool) -> Vec<String> {
        let mut map = map(headers);
        let host = HeaderValue::from_static("shop.localhost:8080");
        let client = Some("192.0.2.1".parse().expect("an address"));
        let forwarding = Forwarding { client, trusted, secure: false, host: &host };
        clean_request(&mut map, &forwarding, HeaderValue::from_static("id"));
        let mut lines: Vec<_> =
            map.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap_or("?"))).collect();
        lines.sort();
        lines
    }

    const OURS: [&str; 5] = [
        "host: shop.localhost:8080",
        "x-forwarded-for: 192.0.2.1",
        "x-forwarded-host: shop.localhost:8080",
        "x-forwarded-proto: http",
        "x-request-id: id",
    ];

    #[test]
    fn drops_hop_by_hop_and_reserved_headers() {
        let sent = [
            ("connection", "close, X-Private"),
            ("x-private", "1"),
            ("keep-alive", "5"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "websocket"),
            ("proxy", "http://6.6.6.6"),
            ("proxy-authorization", "x"),
            ("expect", "100-continue"),
            ("milepost-release", "forged"),
            ("milepost-call", "token"),
            ("milepost-anything", "1"),
            ("x-forwarded-for", "1.1.1.1"),
            ("x-forwarded-host", "forged"),
            ("x-forwarded-proto", "https"),
            ("forwarded", "for=1.1.1.1"),
            ("x-real-ip", "1.1.1.1"),
            ("x-forwarded-port", "1"),
            ("x-forwarded-prefix", "/admin"),
            ("x-original-url", "/admin"),
            ("x-rewrite-url", "/admin"),
            ("true-client-ip", "1.1.1.1"),
            ("cf-connecting-ip", "1.1.1.1"),
            ("fastly-client-ip", "1.1.1.1"),
            ("x-forwarded", "for=1.1.1.1"),
            ("x-url-scheme", "https"),
            ("x_forwarded_for", "1.1.1.1"),
            ("x-forwarded_for", "1.1.1.1"),
            ("milepost_execution", "forged"),
            ("x_mine", "1"),
        ];
        assert_eq!(cleaned(&sent, false), OURS);
    }

    #[test]
    fn keeps_a_loggable_caller_request_id_under_its_own_name() {
        let theirs = |id: &'static str| {
            let mut lines = cleaned(&[("x-request-id", id)], false);
            lines.retain(|line| line.contains("request-id"));
            lines
        };
        assert_eq!(theirs("mine-1"), ["milepost-caller-request-id: mine-1", "x-request-id: id"]);
        assert_eq!(theirs("no spaces"), ["x-request-id: id"]);
    }

    #[test]
    fn connection_header_cannot_remove_gateway_headers() {
        let sent = [("connection", "host, x-forwarded-for, x-request-id, content-length"), ("content-length", "3")];
        let mut expected = vec!["content-length: 3"];
        expected.extend(OURS);
        assert_eq!(cleaned(&sent, false), expected);
    }

    #[test]
    fn appends_to_forwarding_headers_of_trusted_proxies() {
        let sent = [
            ("x-forwarded-for", "1.1.1.1"),
            ("x-forwarded-for", "2.2.2.2"),
            ("x-forwarded-host", "example.com"),
            ("x-forwarded-proto", "https"),
            ("x-real-ip", "1.1.1.1"),
            ("x-forwarded-port", "443"),
            ("cf-connecting-ip", "1.1.1.1"),
            ("x_real_ip", "6.6.6.6"),
        ];
        let expected = [
            "cf-connecting-ip: 1.1.1.1",
            "host: shop.localhost:8080",
            "x-forwarded-for: 1.1.1.1, 2.2.2.2, 192.0.2.1",
            "x-forwarded-host: example.com",
            "x-forwarded-port: 443",
            "x-forwarded-proto: https",
            "x-real-ip: 1.1.1.1",
            "x-request-id: id",
        ];
        assert_eq!(cleaned(&sent, true), expected);
    }

    #[test]
    fn joins_several_cookie_fields() {
        let cookies = |sent: &[(&'static str, &'static str)]| {
            let mut lines = cleaned(sent, false);
            lines.retain(|line| line.starts_with("cookie"));
            lines
        };
        assert_eq!(
            cookies(&[("cookie", "a=1"), ("x-a", "1"), ("cookie", "b=2; c=3"), ("cookie", "d=4")]),
            ["cookie: a=1; b=2; c=3; d=4"]
        );
        assert_eq!(cookies(&[("cookie", "a=1; b=2")]), ["cookie: a=1; b=2"]);
        assert!(cookies(&[]).is_empty());
    }

    #[test]
    fn keeps_repeated_response_headers() {
        let mut answer = map(&[("set-cookie", "a=1"), ("set-cookie", "b=2"), ("connection", "close")]);
        clean_answer(&mut answer);
        assert_eq!(answer.get_all("set-cookie").iter().count(), 2);
        assert!(!answer.contains_key("connection"));
    }
}
