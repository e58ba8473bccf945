use std::fmt;

use data_encoding::HEXLOWER;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use siphasher::sip::SipHasher13;

use super::{BUCKETS, BucketSet, Weight};
use crate::ids::IdSource;

/// Separates the draws of the bucket order from the hashes of callers' keys.
const ORDER: &[u8] = b"milepost bucket order v1";

/// 16 random bytes that decide who is in which bucket, and in which order an arm takes buckets.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Salt([u8; 16]);

impl Salt {
    pub fn random(ids: &dyn IdSource) -> Self {
        let mut bytes = [0; 16];
        ids.fill(&mut bytes);
        Self(bytes)
    }

    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The bucket of a caller's key. Its definition is stored in cookies and must never change:
    /// SipHash-1-3 of the key under the salt, scaled to the number of buckets.
    pub fn bucket(&self, key: &[u8]) -> u16 {
        scale(SipHasher13::new_with_key(&self.0).hash(key), BUCKETS) as u16
    }

    /// The buckets of the candidate of two arms, with a weight.
    pub fn candidates(&self, weight: Weight) -> BucketSet {
        self.order().into_iter().take(usize::from(weight.hundredths())).collect()
    }

    /// The order in which a candidate takes buckets: a Fisher–Yates shuffle whose draw for place
    /// `i` is SipHash-1-3 of a fixed text and `i`. It must never change either.
    pub(super) fn order(&self) -> Vec<u16> {
        let hasher = SipHasher13::new_with_key(&self.0);
        let mut order: Vec<u16> = (0..BUCKETS as u16).collect();
        let mut message = [0; ORDER.len() + 2];
        message[..ORDER.len()].copy_from_slice(ORDER);
        for place in (1..BUCKETS).rev() {
            message[ORDER.len()..].copy_from_slice(&(place as u16).to_le_bytes());
            order.swap(place, scale(hasher.hash(&message), place + 1));
        }
        order
    }
}

/// Maps a hash to `0..below`. The bias is below 2⁻⁵⁰.
fn scale(hash: u64, below: usize) -> usize {
    ((u128::from(hash) * below as u128) >> 64) as usize
}

impl fmt::Display for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Salt {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Salt {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let bytes = HEXLOWER.decode(text.as_bytes()).ok().and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(|| serde::de::Error::custom("a salt is 32 hexadecimal digits"))
    }
}
