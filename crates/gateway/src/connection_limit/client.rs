//! Which connections are counted together.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An IPv4 address, or the first 64 bits of an IPv6 address, because a client owns all addresses of
/// such a network. Loopback is one client, because any process may use all of its addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Client(Option<IpAddr>);

impl From<Option<IpAddr>> for Client {
    fn from(address: Option<IpAddr>) -> Self {
        Self(address.map(|address| match address.to_canonical() {
            address if address.is_loopback() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
            address @ IpAddr::V4(_) => address,
        }))
    }
}

/// Who a connection is counted for: its client, or the token or app that a request on it has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Holder {
    Anonymous(Client),
    /// The hash of a name.
    Authenticated(u64),
}

impl Holder {
    pub(super) fn is_authenticated(self) -> bool {
        matches!(self, Self::Authenticated(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(one: &str, other: &str) -> bool {
        let client = |text: &str| Client::from(Some(text.parse::<IpAddr>().expect("an address")));
        client(one) == client(other)
    }

    #[test]
    fn an_ipv6_64_network_is_one_client() {
        assert!(same("2001:db8::1", "2001:db8::2:3:4:5"));
        assert!(!same("2001:db8::1", "2001:db8:0:1::1"));
        assert!(same("::ffff:192.0.2.1", "192.0.2.1"));
        assert!(!same("::ffff:192.0.2.1", "192.0.2.2"));
    }

    #[test]
    fn all_loopback_addresses_are_one_client() {
        for address in ["127.0.0.2", "127.255.255.254", "::1", "::ffff:127.0.0.1", "::ffff:127.9.9.9"] {
            assert!(same("127.0.0.1", address), "{address}");
        }
        assert!(!same("127.0.0.1", "::2") && !same("127.0.0.1", "128.0.0.1"));
    }
}
