//! The settings of a gateway.

use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use milepost_model::Next;

#[derive(Debug, Clone)]
pub struct Settings {
    /// Apps are subdomains of it.
    pub domain: String,
    /// Peers whose `x-forwarded-*` headers are trusted.
    pub trusted_proxies: Vec<Network>,
    /// Directory for compressed copies of files. Without it they are kept in memory, and only small
    /// files are compressed.
    pub cache_folder: Option<PathBuf>,
    /// Bytes of files to cache in memory.
    pub cache_memory: u64,
    /// Bytes of compressed copies in the directory.
    pub cache_disk: u64,
    /// The default `cache-control` of files.
    pub cache_control: String,
    pub limits: Limits,
    /// Phrases what the operator of an app can do about a problem. Without words, only the step is
    /// sent as data.
    pub operator_words: OperatorWords,
}

/// The words for a step of the operator of this app.
pub type OperatorWords = fn(&Next, app: &str) -> Option<String>;

impl Default for Settings {
    fn default() -> Self {
        Self {
            domain: "localhost".to_owned(),
            trusted_proxies: Vec::new(),
            cache_folder: None,
            cache_memory: 128 << 20,
            cache_disk: 1 << 30,
            cache_control: "no-cache".to_owned(),
            limits: Limits::default(),
            operator_words: |_, _| None,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Limits {
    pub head_bytes: usize,
    pub body_bytes: u64,
    /// From the beginning of a connection to the end of its first head. Later heads may take nearly
    /// three times as long.
    pub head_timeout: Duration,
    /// Between two frames of a body, in either direction.
    pub body_timeout: Duration,
    /// Connections of the public listeners. When they are used up, idle ones are closed for new
    /// ones.
    pub connections: usize,
    /// The same for calls between functions.
    pub inside_connections: usize,
    /// How long requests may continue after the stop.
    pub drain: Duration,
    /// How long an idle connection stays open after the stop, for a request that is on its way.
    pub drain_idle: Duration,
    /// How long a partly received head may take to complete after that.
    pub drain_head: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_bytes: 64 << 10,
            body_bytes: 100 << 20,
            head_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(60),
            connections: 10_000,
            inside_connections: 2_500,
            drain: Duration::from_secs(30),
            drain_idle: Duration::from_millis(250),
            drain_head: Duration::from_secs(5),
        }
    }
}

/// An address, or a range of addresses in CIDR notation: `10.0.0.0/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    base: IpAddr,
    bits: u8,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{0}` is not a network: write an address, or an address and the number of its fixed bits, like `10.0.0.0/8`")]
pub struct NetworkError(String);

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let wrong = || NetworkError(text.to_owned());
        let (base, bits) = match text.split_once('/') {
            Some((base, bits)) => (base, Some(bits)),
            None => (text, None),
        };
        let base: IpAddr = base.parse().map_err(|_| wrong())?;
        let most = if base.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), str::parse).map_err(|_| wrong())?;
        if bits > most { Err(wrong()) } else { Ok(Self { base, bits }) }
    }
}

impl Network {
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.base, address.to_canonical()) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                let differ = base.to_bits() ^ address.to_bits();
                differ.leading_zeros() >= u32::from(self.bits)
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => {
                let differ = base.to_bits() ^ address.to_bits();
                differ.leading_zeros() >= u32::from(self.bits)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_contains_addresses_with_its_prefix() {
        let within = |network: &str, address: &str| {
            network.parse::<Network>().map(|network| network.contains(address.parse().expect("an address")))
        };
        assert_eq!(within("10.0.0.0/8", "10.200.3.4"), Ok(true));
        assert_eq!(within("10.0.0.0/8", "::ffff:10.0.0.1"), Ok(true));
        assert_eq!(within("10.0.0.0/8", "11.0.0.1"), Ok(false));
        assert_eq!(within("127.0.0.1", "127.0.0.1"), Ok(true));
        assert_eq!(within("127.0.0.1", "127.0.0.2"), Ok(false));
        assert_eq!(within("::/0", "fe80::1"), Ok(true));
        assert_eq!(within("::/0", "1.2.3.4"), Ok(false));
        for bad in ["", "x", "10.0.0.0/33", "10.0.0.0/-1", "::1/129"] {
            assert!(bad.parse::<Network>().is_err(), "{bad}");
        }
    }
}
