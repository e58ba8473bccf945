//! The `Accept-Encoding` header: which encodings of a file a client accepts, best first.

use http::{HeaderMap, header};

use crate::weights::weighted;

/// The compression of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Coding {
    Identity,
    Gzip,
    Brotli,
}

impl Coding {
    /// The name in `Content-Encoding`, also used as the suffix of the ETag.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Gzip => "gzip",
            Self::Brotli => "br",
        }
    }
}

/// Client weights from 0 to 1000.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Accepts {
    brotli: u16,
    gzip: u16,
    identity: u16,
}

impl Accepts {
    pub(crate) fn read(headers: &HeaderMap) -> Self {
        let (mut brotli, mut gzip, mut identity, mut rest) = (None, None, None, None);
        for (name, weight) in weighted(headers, header::ACCEPT_ENCODING) {
            let place = match name {
                name if name.eq_ignore_ascii_case("br") => &mut brotli,
                name if name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip") => &mut gzip,
                name if name.eq_ignore_ascii_case("identity") => &mut identity,
                "*" => &mut rest,
                _ => continue,
            };
            *place = Some(weight);
        }
        Self {
            brotli: brotli.or(rest).unwrap_or(0),
            gzip: gzip.or(rest).unwrap_or(0),
            // Always acceptable unless excluded, and the last choice unless named.
            identity: identity.or(rest.filter(|rest| *rest == 0)).unwrap_or(1),
        }
    }

    /// Best first. On equal weights the better compression wins.
    pub(crate) fn in_order(self) -> impl Iterator<Item = Coding> {
        let mut all = [(self.brotli, Coding::Brotli), (self.gzip, Coding::Gzip), (self.identity, Coding::Identity)];
        all.sort_by(|left, right| right.cmp(left));
        all.into_iter().filter(|(weight, _)| *weight > 0).map(|(_, coding)| coding)
    }

    pub(crate) fn takes_plain(self) -> bool {
        self.identity > 0
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn order(value: &str) -> Vec<&'static str> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_str(value).expect("a value"));
        Accepts::read(&headers).in_order().map(Coding::name).collect()
    }

    #[test]
    fn orders_encodings_by_weight() {
        for (value, expected) in [
            ("gzip, deflate, br, zstd", &["br", "gzip", "identity"][..]),
            ("GZIP", &["gzip", "identity"]),
            ("gzip;q=1, br;q=0.5", &["gzip", "br", "identity"]),
            ("br;q=0, gzip", &["gzip", "identity"]),
            ("identity", &["identity"]),
            ("identity;q=1, *;q=0", &["identity"]),
            ("br;q=0.5, identity", &["identity", "br"]),
            ("identity;q=0, gzip", &["gzip"]),
            ("*;q=0", &[]),
            ("*", &["br", "gzip", "identity"]),
            ("gzip;q=0, *", &["br", "identity"]),
            ("br ; q=0.001", &["br", "identity"]),
            ("br;q=x", &["br", "identity"]),
            ("", &["identity"]),
            ("deflate", &["identity"]),
        ] {
            assert_eq!(order(value), expected, "{value}");
        }
        assert_eq!(Accepts::read(&HeaderMap::new()).in_order().collect::<Vec<_>>(), [Coding::Identity]);
    }

    proptest! {
        #[test]
        fn arbitrary_values_never_panic(value in "[ -~]{0,40}") {
            order(&value);
        }
    }
}
