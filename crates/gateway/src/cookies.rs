//! Limits the cookies that a function may set to those of its own app.

use http::{HeaderMap, HeaderValue, header};

use crate::log_limit::LogLimit;

/// Drops each cookie whose domain is the gateway's domain or a parent of the request's host.
/// Browsers would send it to other apps, and apps could set each other's cookies.
pub(crate) fn drop_foreign(headers: &mut HeaderMap, host: &str, domain: &str) {
    let is_foreign = |value: &HeaderValue| {
        domains(value.as_bytes()).any(|named| is_same_or_below(domain, named) || is_below(host, named))
    };
    if !headers.get_all(header::SET_COOKIE).iter().any(is_foreign) {
        return;
    }
    static DROPPED: LogLimit = LogLimit::new();
    if DROPPED.is_due() {
        let detail = "a function set a cookie for a domain that it shares with other apps; the cookie was dropped";
        tracing::warn!(host, "{detail}");
    }
    let kept: Vec<HeaderValue> =
        headers.get_all(header::SET_COOKIE).iter().filter(|value| !is_foreign(value)).cloned().collect();
    headers.remove(header::SET_COOKIE);
    for value in kept {
        headers.append(header::SET_COOKIE, value);
    }
}

/// The values of all `Domain` attributes, parsed as browsers do.
fn domains(cookie: &[u8]) -> impl Iterator<Item = &[u8]> {
    cookie.split(|byte| *byte == b';').skip(1).filter_map(|attribute| {
        let at = attribute.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (attribute[..at].trim_ascii(), attribute[at + 1..].trim_ascii());
        let value = value.strip_prefix(b".").unwrap_or(value);
        let value = value.strip_suffix(b".").unwrap_or(value);
        (name.eq_ignore_ascii_case(b"domain") && !value.is_empty()).then_some(value)
    })
}

fn is_below(host: &str, parent: &[u8]) -> bool {
    let host = host.as_bytes();
    let Some(at) = host.len().checked_sub(parent.len()) else { return false };
    at > 0 && host[at - 1] == b'.' && host[at..].eq_ignore_ascii_case(parent)
}

fn is_same_or_below(host: &str, parent: &[u8]) -> bool {
    host.as_bytes().eq_ignore_ascii_case(parent) || is_below(host, parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_only_cookies_for_shared_domains() {
        let kept = |host: &str, cookie: &'static str| {
            let mut headers = HeaderMap::new();
            headers.append(header::SET_COOKIE, HeaderValue::from_static("other=1"));
            headers.append(header::SET_COOKIE, HeaderValue::from_static(cookie));
            drop_foreign(&mut headers, host, "apps.example.com");
            headers.get_all(header::SET_COOKIE).iter().count() == 2
        };
        let host = "shop.apps.example.com";
        for cookie in [
            "a=1; Domain=apps.example.com",
            "a=1;domain=.APPS.example.com",
            "a=1; Path=/; DOMAIN = example.com. ; Secure",
            "a=1; domain=com",
            "a=1; domain=shop.apps.example.com; domain=example.com",
        ] {
            assert!(!kept(host, cookie), "{cookie}");
        }
        for cookie in [
            "a=1",
            "domain=apps.example.com",
            "a=1; domain",
            "a=1; domain=",
            "a=1; domain=shop.apps.example.com",
            "a=1; domain=ps.example.com",
            "a=1; path=/apps.example.com",
        ] {
            assert!(kept(host, cookie), "{cookie}");
        }
        // `shop.r1` is the host of a release, and `r1.apps.example.com` may be another app.
        assert!(!kept("shop.r1.apps.example.com", "a=1; domain=r1.apps.example.com"));
    }
}
