//! What the form of a response of the gateway depends on.

use http::{HeaderMap, HeaderName, Method, header};

use crate::gateway::Peer;
use crate::weights::weighted;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Who reads a response.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader {
    pub(crate) form: Form,
    pub(crate) head_only: bool,
    /// On the server's machine, and not a visitor behind a proxy there.
    pub(crate) is_local: bool,
}

impl Reader {
    pub(crate) fn new(headers: &HeaderMap, head_only: bool) -> Self {
        Self { form: Form::wanted(headers), head_only, is_local: false }
    }

    pub(crate) fn of(headers: &HeaderMap, method: &Method, peer: &Peer) -> Self {
        let is_proxied = headers.contains_key(header::FORWARDED) || headers.contains_key(FORWARDED_FOR);
        let is_local = peer.address.is_some_and(|address| address.to_canonical().is_loopback()) && !is_proxied;
        Self { is_local, ..Self::new(headers, *method == Method::HEAD) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    Page,
    Text,
}

impl Form {
    fn wanted(headers: &HeaderMap) -> Self {
        let (mut json, mut page) = (0, 0);
        for (name, weight) in weighted(headers, header::ACCEPT) {
            match name.to_ascii_lowercase().as_str() {
                "text/html" | "application/xhtml+xml" => page = page.max(weight),
                name if name == "application/*" || name == "application/json" || name.ends_with("+json") => {
                    json = json.max(weight);
                }
                _ => {}
            }
        }
        if page > 0 && page >= json {
            Self::Page
        } else if json > 0 {
            Self::Json
        } else {
            Self::Text
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn wanted(accept: &'static str) -> Form {
        Form::wanted(&HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]))
    }

    #[test]
    fn format_follows_the_accept_header() {
        assert_eq!(wanted("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"), Form::Page);
        assert_eq!(wanted("application/json"), Form::Json);
        assert_eq!(wanted("application/problem+json, text/html;q=0.5"), Form::Json);
        assert_eq!(wanted("application/json;q=0.1, text/html;q=0.5"), Form::Page);
        assert_eq!(wanted("*/*"), Form::Text);
        assert_eq!(wanted("text/html;q=0"), Form::Text);
        assert_eq!(Form::wanted(&HeaderMap::new()), Form::Text);
    }

    #[test]
    fn reader_is_local_without_a_proxy() {
        let peer = |address: &str| Peer { address: address.parse().ok(), ..Peer::default() };
        let is_local = |headers: &HeaderMap, address: &str| Reader::of(headers, &Method::GET, &peer(address)).is_local;
        let none = HeaderMap::new();
        assert!(is_local(&none, "127.0.0.1") && is_local(&none, "::ffff:127.0.0.1") && is_local(&none, "::1"));
        assert!(!is_local(&none, "192.0.2.1") && !is_local(&none, ""));
        let proxied = HeaderMap::from_iter([(FORWARDED_FOR, HeaderValue::from_static("192.0.2.1"))]);
        assert!(!is_local(&proxied, "127.0.0.1"));
    }
}
