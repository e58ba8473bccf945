//! Whose connections are counted together.

use std::net::{IpAddr, Ipv6Addr};

/// An IPv4 address, or the first 64 bits of an IPv6 address: a client has all addresses that begin with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Client(Option<IpAddr>);

impl From<Option<IpAddr>> for Client {
    fn from(address: Option<IpAddr>) -> Self {
        Self(address.map(|address| match address.to_canonical() {
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
            address @ IpAddr::V4(_) => address,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_of_64_bits_is_one_client() {
        let same = |one: &str, other: &str| {
            let client = |text: &str| Client::from(Some(text.parse::<IpAddr>().expect("an address")));
            client(one) == client(other)
        };
        assert!(same("2001:db8::1", "2001:db8::2:3:4:5"));
        assert!(!same("2001:db8::1", "2001:db8:0:1::1"));
        assert!(same("::ffff:192.0.2.1", "192.0.2.1"));
        assert!(!same("::ffff:192.0.2.1", "192.0.2.2"));
    }
}
