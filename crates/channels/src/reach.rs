//! Which hosts may be contacted. Users without access to this machine's network can name channels
//! and registries, and each response may name further hosts.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;

use milepost_model::metadata::is_local_service;
pub use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

const REFUSED: &str = "link-local and metadata addresses are not asked; give another address of the host";
const NOT_PUBLIC: &str = "it is not on the public internet, and the caller may install from there only; ask an administrator to install \
                          from it, or to allow the host";
const NOT_NAMED: &str =
    "this server installs from other hosts only; ask an administrator to install from it, or to allow the host";
/// The variables of a proxy, which resolves names itself and may be anywhere.
const PROXIES: [&str; 6] = ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];

/// The hosts that may be contacted for a channel or registry, and those that they refer to.
/// Link-local and metadata addresses are never contacted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Reach {
    /// All hosts: the user may reach the network of this machine anyway.
    #[default]
    Any,
    /// Public hosts, and these (`host` or `host:port`) at any address. If the list is not empty,
    /// channels and registries must be on it; what they refer to, such as the storage of a
    /// registry, may be on any public host.
    Only(Arc<[String]>),
}

impl Reach {
    /// Returns why a channel or a registry must not be at this address.
    pub fn refuses_place(&self, url: &Url) -> Option<&'static str> {
        match self {
            Self::Only(hosts) if !hosts.is_empty() && !is_listed(hosts, url) => Some(NOT_NAMED),
            _ => self.refuses(url),
        }
    }

    /// Whether an operator allowed this host, at any address.
    pub fn lists(&self, url: &Url) -> bool {
        matches!(self, Self::Only(hosts) if is_listed(hosts, url))
    }

    /// Returns why a URL must not be contacted. [`Resolver`] checks names when it resolves them.
    pub(crate) fn refuses(&self, url: &Url) -> Option<&'static str> {
        let host = bare_host(url)?;
        match host.parse::<IpAddr>() {
            Ok(address) if is_local_service(address) => Some(REFUSED),
            Ok(address) => match self {
                Self::Only(hosts) if !is_public(address) && !is_listed(hosts, url) => Some(NOT_PUBLIC),
                _ => None,
            },
            // The resolver would treat the host as a listed one, but its other ports are not
            // listed.
            Err(_) => match self {
                Self::Only(hosts) if has_host(hosts, host) && !is_listed(hosts, url) => Some(NOT_PUBLIC),
                _ => None,
            },
        }
    }

    /// Returns why an address of a name must not be contacted.
    fn refuses_address(&self, name: &str, address: IpAddr) -> Option<&'static str> {
        match self {
            _ if is_local_service(address) => Some(REFUSED),
            Self::Only(hosts) if !is_public(address) && !has_host(hosts, name) => Some(NOT_PUBLIC),
            _ => None,
        }
    }
}

fn bare_host(url: &Url) -> Option<&str> {
    Some(url.host_str()?.trim_start_matches('[').trim_end_matches(']'))
}

fn is_listed(hosts: &[String], url: &Url) -> bool {
    let (Some(host), Some(port)) = (bare_host(url), url.port_or_known_default()) else { return false };
    hosts.iter().any(|named| split(named) == (host, None) || split(named) == (host, Some(port)))
}

fn has_host(hosts: &[String], host: &str) -> bool {
    hosts.iter().any(|named| split(named).0.eq_ignore_ascii_case(host.trim_end_matches('.')))
}

/// `host`, `host:port`, `::1` or `[::1]:port`.
fn split(named: &str) -> (&str, Option<u16>) {
    match named.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => match port.parse() {
            Ok(port) => (host.trim_start_matches('[').trim_end_matches(']'), Some(port)),
            Err(_) => (named, None),
        },
        _ => (named.trim_start_matches('[').trim_end_matches(']'), None),
    }
}

/// Finds the resolver's refusal among the causes of a client error.
pub(crate) fn refusal_in(error: &(dyn std::error::Error + 'static)) -> Option<&'static str> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(refused) = error.downcast_ref::<Refused>() {
            return Some(refused.0);
        }
        next = error.source();
    }
    None
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Refused(&'static str);

/// Whether an address is on the public internet, and not internal to this machine's network.
pub fn is_public(address: IpAddr) -> bool {
    let address = address.to_canonical();
    let inside = match address {
        IpAddr::V4(address) => {
            let [first, second, third, _] = address.octets();
            address.is_private()
                || address.is_broadcast()
                || first == 0
                || (first, second & 0xc0) == (100, 64)
                || (first, second, third) == (192, 0, 0)
                || (first, second & 0xfe) == (198, 18)
                || address.is_documentation()
                || first >= 240
        }
        // Unique local and site-local; ranges that embed an IPv4 address count as internal too.
        IpAddr::V6(address) => {
            let [first, second, ..] = address.segments();
            first & 0xfe00 == 0xfc00
                || first & 0xffc0 == 0xfec0
                || (first, second) == (0x64, 0xff9b)
                || (first, second) == (0x2001, 0xdb8)
                || first == 0x2002
        }
    };
    !inside
        && !address.is_loopback()
        && !address.is_unspecified()
        && !address.is_multicast()
        && !is_local_service(address)
        && !is_of_this_machine(address)
}

/// Whether an address is this machine's own. From the machine itself it also reaches ports that a
/// firewall closes to others. Sends nothing: the kernel uses an own address as the source of packets
/// to itself.
fn is_of_this_machine(address: IpAddr) -> bool {
    let any: IpAddr = if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let source = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((address, 9))?;
        socket.local_addr()
    });
    source.is_ok_and(|source| source.ip() == address)
}

/// The URL of a channel or repository, which may lack a scheme: `registry.example.com:5000/shop`.
pub fn url_of(place: &str) -> Option<Url> {
    let url = if place.contains("://") { place.to_owned() } else { format!("https://{place}") };
    url.parse().ok().filter(|url: &Url| url.port_or_known_default().is_some() && url.has_host())
}

/// Resolves names and drops refused addresses. The connection uses the checked addresses, so a name
/// cannot change in between.
#[derive(Debug)]
pub(crate) struct Resolver {
    reach: Reach,
    proxies: Vec<String>,
}

impl Resolver {
    pub(crate) fn new(reach: Reach) -> Self {
        let proxies = PROXIES.iter().filter_map(|name| url_of(&std::env::var(name).ok()?));
        let proxies = proxies.filter_map(|url| bare_host(&url).map(str::to_owned)).collect();
        Self { reach, proxies }
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let reach =
            if self.proxies.iter().any(|proxy| proxy == name.as_str()) { Reach::Any } else { self.reach.clone() };
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let refused = |found: &SocketAddr| reach.refuses_address(name.as_str(), found.ip());
            let asked: Vec<SocketAddr> = found.iter().filter(|found| refused(found).is_none()).copied().collect();
            match found.first().and_then(refused) {
                Some(reason) if asked.is_empty() => Err(Refused(reason).into()),
                _ => Ok(Box::new(asked.into_iter()) as Addrs),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognises_internal_addresses() {
        let address = |text: &str| text.parse::<IpAddr>().expect(text);
        for inside in [
            "127.0.0.1",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "::1",
            "::",
            "fe80::1",
            "fd00:ec2::254",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::a00:1",
            "2001:db8::1",
            "192.0.2.1",
            "203.0.113.9",
            "224.0.0.1",
        ] {
            assert!(!is_public(address(inside)), "{inside} is public");
        }
        for outside in ["1.1.1.1", "100.128.0.1", "172.32.0.1", "2606:4700::1111"] {
            assert!(is_public(address(outside)), "{outside} is not public");
        }
        for local in
            ["169.254.169.254", "::ffff:169.254.169.254", "fe80::1", "fd00:ec2::254", "fd20:ce::254", "168.63.129.16"]
        {
            assert!(is_local_service(address(local)), "{local} is asked");
        }
        assert!(!is_local_service(address("10.0.0.1")));
    }

    #[test]
    fn recognises_addresses_of_this_machine() {
        assert!(is_of_this_machine(Ipv4Addr::LOCALHOST.into()));
        for other in ["1.1.1.1", "2606:4700::1111", "0.0.0.0"] {
            assert!(!is_of_this_machine(other.parse().expect(other)), "{other}");
        }
    }

    #[test]
    fn the_host_of_a_channel_and_of_a_repository() {
        let host = |place: &str| {
            let url = url_of(place).expect(place);
            (bare_host(&url).expect(place).to_owned(), url.port_or_known_default())
        };
        assert_eq!(host("https://example.com/shop/stable"), ("example.com".to_owned(), Some(443)));
        assert_eq!(host("http://[::1]:7070/channels/x"), ("::1".to_owned(), Some(7070)));
        assert_eq!(host("registry.example.com:5000/team/shop"), ("registry.example.com".to_owned(), Some(5000)));
        // Normalised, as in browsers.
        assert_eq!(host("http://0x7f000001/x").0, "127.0.0.1");
    }

    fn only(hosts: &[&str]) -> Reach {
        Reach::Only(hosts.iter().map(|host| (*host).to_owned()).collect())
    }

    #[test]
    fn hosts_that_are_allowed_are_asked_wherever_they_are_and_others_in_the_internet() {
        let refuses = |hosts: &[&str], url: &str| only(hosts).refuses(&url.parse().expect(url)).is_some();
        for inside in ["http://127.0.0.1:5000/x", "https://10.0.0.1/", "https://[::1]/", "http://0x7f000001/"] {
            assert!(refuses(&[], inside) && refuses(&["example.com"], inside), "{inside}");
        }
        for (named, url) in [
            ("127.0.0.1:5000", "http://127.0.0.1:5000/x"),
            ("10.0.0.1", "https://10.0.0.1:7/"),
            ("::1", "https://[::1]/"),
            ("[::1]:5000", "http://[::1]:5000/"),
        ] {
            assert!(!refuses(&[named], url), "{url}");
        }
        assert!(refuses(&["127.0.0.1:5000"], "http://127.0.0.1:5001/"), "another port");
        assert!(refuses(&["inside.example:5000"], "http://inside.example:80/"), "another port of a name");
        assert!(!refuses(&["example.com"], "https://cdn.example.net/") && !refuses(&[], "https://1.1.1.1/"));
        for hosts in [&[][..], &["169.254.169.254"]] {
            assert!(refuses(hosts, "http://169.254.169.254/"));
        }
        let place = |hosts: &[&str], url: &str| only(hosts).refuses_place(&url.parse().expect(url)).is_some();
        assert!(place(&["example.com"], "https://example.net/") && !place(&["example.com"], "https://example.com/"));
        assert!(!place(&[], "https://example.net/"));
    }

    #[test]
    fn the_addresses_of_a_name_are_looked_at_when_it_is_asked() {
        let refuses = |reach: &Reach, name: &str, ip: &str| reach.refuses_address(name, address(ip)).is_some();
        fn address(text: &str) -> IpAddr {
            text.parse().expect(text)
        }
        let hosts = only(&["inside.example"]);
        assert!(refuses(&only(&[]), "inside.example", "10.0.0.1") && !refuses(&hosts, "inside.example", "10.0.0.1"));
        assert!(refuses(&hosts, "rebound.example", "127.0.0.1") && !refuses(&hosts, "rebound.example", "1.1.1.1"));
        assert!(refuses(&hosts, "inside.example", "169.254.169.254"));
        assert!(!refuses(&Reach::Any, "x", "10.0.0.1") && refuses(&Reach::Any, "x", "fe80::1"));
    }

    #[tokio::test]
    async fn confined_callers_cannot_reach_a_name_of_this_machine() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url: Url =
            format!("http://localhost:{}/", listener.local_addr().expect("bound").port()).parse().expect("a URL");
        let http = crate::Http::within(only(&[])).expect("a client");
        let error = http.get(&url, &reqwest::header::HeaderMap::new()).await.expect_err("not asked");
        assert!(error.to_string().contains("not on the public internet") && !error.is_transient(), "{error}");
        let came = tokio::time::timeout(std::time::Duration::from_millis(50), listener.accept()).await;
        assert!(came.is_err(), "a connection arrived");
    }

    #[tokio::test]
    async fn a_link_local_address_is_not_asked() {
        let http = crate::Http::new().expect("a client");
        let url = "http://169.254.169.254/latest".parse().expect("an address");
        let error = http.get(&url, &reqwest::header::HeaderMap::new()).await.expect_err("not asked");
        assert!(error.to_string().contains("link-local"), "{error}");
    }
}
