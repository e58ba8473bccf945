//! Resolves a host name to an app and a release.

use std::borrow::Cow;

/// The result of parsing a `Host` (or `:authority`) against the gateway's domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named<'h> {
    /// The domain itself.
    Domain,
    /// A host that is not below the domain or has too many labels.
    Elsewhere,
    App(Address<'h>),
}

/// The labels before the domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address<'h> {
    label: &'h str,
    release: Option<&'h str>,
}

/// One reading of an address. Without a release it means live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate<'h> {
    pub app: &'h str,
    pub release: Option<&'h str>,
}

impl<'h> Address<'h> {
    /// The possible readings, in the order in which they are tried. A label with `--` is first
    /// taken as a whole (so that an existing app keeps its address), then split at each `--`,
    /// shortest left part first.
    pub fn candidates(self) -> impl Iterator<Item = Candidate<'h>> {
        let Self { label, release } = self;
        let splits = label.match_indices("--").filter(move |_| release.is_none()).filter_map(move |(at, _)| {
            let (left, app) = (&label[..at], &label[at + 2..]);
            (!left.is_empty() && !app.is_empty()).then_some(Candidate { app, release: Some(left) })
        });
        std::iter::once(Candidate { app: label, release }).chain(splits)
    }
}

/// Lower-cases the host and strips its port and trailing dot. `None` if it is not a host name.
pub fn normalise(host: &[u8]) -> Option<Cow<'_, str>> {
    let text = std::str::from_utf8(host).ok()?;
    let name = match text.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && port.len() <= 5 => name,
        Some(_) => return None,
        None => text,
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'[' | b']' | b':');
    if name.is_empty() || name.len() > 253 || !name.bytes().all(fits) {
        return None;
    }
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Some(Cow::Owned(name.to_ascii_lowercase()));
    }
    Some(Cow::Borrowed(name))
}

/// Parses a normalised host below `domain`, which must be lower case without leading or trailing
/// dots.
pub fn parse<'h>(host: &'h str, domain: &str) -> Named<'h> {
    let Some(rest) = host.strip_suffix(domain) else { return Named::Elsewhere };
    if rest.is_empty() {
        return Named::Domain;
    }
    let Some(labels) = rest.strip_suffix('.') else { return Named::Elsewhere };
    let (label, release) = match labels.split_once('.') {
        Some((app, release)) => (app, Some(release)),
        None => (labels, None),
    };
    if !is_label(label) || !release.is_none_or(is_label) {
        return Named::Elsewhere;
    }
    Named::App(Address { label, release })
}

/// Whether a request for `host` can reach `app`; a route with any other host would never match. The
/// gateway compares hosts after [`normalise`], so a host with a port or a trailing dot never
/// matches.
pub fn leads_to(host: &str, app: &str, domain: &str) -> bool {
    let host = host.to_ascii_lowercase();
    let is_normal = normalise(host.as_bytes()).as_deref() == Some(&*host);
    is_normal
        && matches!(parse(&host, domain), Named::App(address) if address.candidates().any(|found| found.app == app))
}

/// Converts a domain to the form that [`parse`] expects.
pub fn plain_domain(domain: &str) -> String {
    domain.trim_matches('.').to_ascii_lowercase()
}

fn is_label(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 63
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(host: &str, domain: &str) -> Vec<(String, Option<String>)> {
        let Some(host) = normalise(host.as_bytes()) else { return Vec::new() };
        match parse(&host, domain) {
            Named::App(address) => {
                address.candidates().map(|found| (found.app.to_owned(), found.release.map(str::to_owned))).collect()
            }
            Named::Domain | Named::Elsewhere => Vec::new(),
        }
    }

    fn pair(app: &str, release: &str) -> (String, Option<String>) {
        (app.to_owned(), Some(release.to_owned()))
    }

    #[test]
    fn a_host_names_an_app_and_optionally_a_release() {
        for host in
            ["shop.localhost", "SHOP.localhost:8080", "shop.LocalHost.", "shop.localhost.:80", "shop.localhost:"]
        {
            assert_eq!(read(host, "localhost"), [("shop".to_owned(), None)], "{host}");
        }
        assert_eq!(read("shop.beta.example.com", "example.com"), [pair("shop", "beta")]);
        assert_eq!(read("beta--shop.example.com:443", "example.com")[1..], [pair("shop", "beta")]);
    }

    #[test]
    fn a_label_is_split_at_each_double_hyphen() {
        let all = read("a--b--c.localhost", "localhost");
        assert_eq!(all, [("a--b--c".to_owned(), None), pair("b--c", "a"), pair("c", "a--b")]);
        assert_eq!(read("--a.localhost", "localhost").len(), 1);
    }

    #[test]
    fn rejects_hosts_outside_of_the_domain() {
        assert_eq!(parse("localhost", "localhost"), Named::Domain);
        for host in ["example.com", "shoplocalhost", "a.b.c.localhost", ".localhost", "a..localhost", "a_b.localhost"] {
            assert_eq!(parse(host, "localhost"), Named::Elsewhere, "{host}");
        }
        for bad in ["", ".", "a b", "a/b", "a@b", "a:b", "a:123456", "\u{fc}.localhost", "a%2e"] {
            assert_eq!(normalise(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(normalise(b"[::1]:8080").as_deref(), Some("[::1]"));
    }

    #[test]
    fn leads_to_accepts_every_form_of_an_app_address() {
        for host in
            ["shop.localhost", "Shop.LOCALHOST", "shop.beta.localhost", "beta--shop.localhost", "a--b--shop.localhost"]
        {
            assert!(leads_to(host, "shop", "localhost"), "{host}");
        }
        for host in [
            "",
            "localhost",
            "other.localhost",
            "www.example.org",
            "shop.example.org",
            "shop.localhost:8080",
            "shop.localhost.",
            "*.localhost",
            "shop.a.b.localhost",
            "shop--beta.localhost",
            "notshop.localhost",
            "shoplocalhost",
        ] {
            assert!(!leads_to(host, "shop", "localhost"), "{host}");
        }
        assert!(leads_to("a--b.localhost", "a--b", "localhost") && leads_to("a--b.localhost", "b", "localhost"));
        assert_eq!(plain_domain(".Example.COM."), "example.com");
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(host in proptest::collection::vec(any::<u8>(), 0..300), domain in "[a-z.]{0,12}") {
            if let Some(name) = normalise(&host)
                && let Named::App(address) = parse(&name, &domain)
            {
                prop_assert!(address.candidates().all(|found| !found.app.is_empty()));
            }
        }

        #[test]
        fn every_form_of_an_address_round_trips(
            app in "[a-z0-9]([a-z0-9-]?[a-z0-9]){0,15}",
            release in "[a-z0-9]([a-z0-9-]?[a-z0-9]){0,15}",
            domain in "[a-z]{1,8}(\\.[a-z]{1,8}){0,2}",
            port in proptest::option::of(any::<u16>()),
        ) {
            let port = port.map(|port| format!(":{port}")).unwrap_or_default();
            prop_assert_eq!(read(&format!("{app}.{domain}{port}"), &domain), [(app.clone(), None)]);
            prop_assert_eq!(read(&format!("{app}.{release}.{domain}{port}"), &domain), [pair(&app, &release)]);
            let one_label = read(&format!("{release}--{app}.{domain}{port}"), &domain);
            prop_assert_eq!(&one_label[1..], [pair(&app, &release)]);
        }
    }
}
