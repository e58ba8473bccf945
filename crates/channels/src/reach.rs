//! Which hosts are asked. Channels and registries are named by people who may not use this machine's network otherwise.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Cloud metadata services, which return the machine's own credentials. Others have link-local
/// addresses.
const METADATA: [IpAddr; 3] = [
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
];

const REFUSED: &str = "link-local and metadata addresses are not asked; give another address of the host";

/// Whether an address responds only because of this machine's location in the network. Apps are
/// never published there.
pub(crate) fn is_link_local(address: IpAddr) -> bool {
    let address = address.to_canonical();
    let local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    local || METADATA.contains(&address)
}

/// Whether an address is on the public internet, and so not internal to this machine's network.
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
                || first >= 240
        }
        // Unique local and site-local; ranges that embed an IPv4 address count as internal too.
        IpAddr::V6(address) => {
            let [first, second, ..] = address.segments();
            first & 0xfe00 == 0xfc00 || first & 0xffc0 == 0xfec0 || (first, second) == (0x64, 0xff9b) || first == 0x2002
        }
    };
    !inside && !address.is_loopback() && !address.is_unspecified() && !address.is_multicast() && !is_link_local(address)
}

/// The host and port that a channel's address or a repository names: `registry.example.com:5000/shop` as well.
pub fn host_of(place: &str) -> Option<(String, u16)> {
    let url = if place.contains("://") { place.to_owned() } else { format!("https://{place}") };
    let url: Url = url.parse().ok()?;
    let host = url.host_str()?.trim_start_matches('[').trim_end_matches(']').to_owned();
    Some((host, url.port_or_known_default()?))
}

/// Why an address that is written as a number is not asked. Names are looked at by [`Resolver`].
pub(crate) fn refused(url: &Url) -> Option<&'static str> {
    let host = url.host_str()?.trim_start_matches('[').trim_end_matches(']');
    host.parse().ok().filter(|address| is_link_local(*address)).map(|_| REFUSED)
}

/// Looks names up as usual, and leaves out what is not asked.
#[derive(Debug)]
pub(crate) struct Resolver;

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let (near, far): (Vec<_>, Vec<_>) = found.partition(|found| is_link_local(found.ip()));
            if far.is_empty() && !near.is_empty() {
                return Err(REFUSED.into());
            }
            Ok(Box::new(far.into_iter()) as Addrs)
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
            "224.0.0.1",
        ] {
            assert!(!is_public(address(inside)), "{inside} is public");
        }
        for outside in ["1.1.1.1", "100.128.0.1", "172.32.0.1", "2606:4700::1111"] {
            assert!(is_public(address(outside)), "{outside} is not public");
        }
        for local in ["169.254.169.254", "::ffff:169.254.169.254", "fe80::1", "fd00:ec2::254", "100.100.100.200"] {
            assert!(is_link_local(address(local)), "{local} is asked");
        }
        assert!(!is_link_local(address("10.0.0.1")));
    }

    #[test]
    fn the_host_of_a_channel_and_of_a_repository() {
        let host = |place: &str| host_of(place).expect(place);
        assert_eq!(host("https://example.com/shop/stable"), ("example.com".to_owned(), 443));
        assert_eq!(host("http://[::1]:7070/channels/x"), ("::1".to_owned(), 7070));
        assert_eq!(host("registry.example.com:5000/team/shop"), ("registry.example.com".to_owned(), 5000));
        // As a browser reads it.
        assert_eq!(host("http://0x7f000001/x").0, "127.0.0.1");
    }

    #[tokio::test]
    async fn a_link_local_address_is_not_asked() {
        let http = crate::Http::new().expect("a client");
        let url = "http://169.254.169.254/latest".parse().expect("an address");
        let error = http.get(&url, &reqwest::header::HeaderMap::new()).await.expect_err("not asked");
        assert!(error.to_string().contains("link-local"), "{error}");
    }
}
