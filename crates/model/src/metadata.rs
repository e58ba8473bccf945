//! Addresses of cloud metadata services, which hand out the machine's own credentials to any local
//! process. Neither the server nor the code that it runs may reach them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Services at addresses that are not link-local. Port 53 may serve DNS at the same address.
pub const METADATA: [IpAddr; 6] = [
    // Alibaba Cloud.
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    // Azure.
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    // Oracle Cloud.
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    // Scaleway.
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42)),
    // Amazon.
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    // Google.
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
];

/// Link-local networks, with the length of their prefix. Most clouds have their service there.
pub const LINK_LOCAL: [(IpAddr, u8); 2] =
    [(IpAddr::V4(Ipv4Addr::new(169, 254, 0, 0)), 16), (IpAddr::V6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0)), 10)];

/// Whether an address answers only because of this machine's place in the network.
pub fn is_local_service(address: IpAddr) -> bool {
    let address = address.to_canonical();
    let link_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    link_local || METADATA.contains(&address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_metadata_services_in_every_notation() {
        let local = |text: &str| is_local_service(text.parse().expect(text));
        for (network, _) in LINK_LOCAL {
            assert!(is_local_service(network), "{network}");
        }
        for text in [
            "169.254.169.254",
            "::ffff:169.254.169.254",
            "::ffff:168.63.129.16",
            "fe80::a9fe:a9fe",
            "fd00:ec2::254",
            "fd20:ce::254",
            "fd00:42::42",
            "100.100.100.200",
        ] {
            assert!(local(text), "{text}");
        }
        for text in ["10.0.0.1", "168.63.129.17", "fd00:ec2::255", "::1"] {
            assert!(!local(text), "{text}");
        }
    }
}
