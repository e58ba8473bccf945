//! Request ids: unique across processes by a random start, cheap by a counter.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use http::HeaderValue;

const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const LENGTH: usize = 16;

static START: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(std::process::id()));
static COUNTER: AtomicU64 = AtomicU64::new(0);

/// Eight characters for this process and eight for the counter.
pub(crate) fn new() -> Box<str> {
    let count = START.rotate_left(32).wrapping_add(COUNTER.fetch_add(1, Ordering::Relaxed));
    let mut text = String::with_capacity(LENGTH);
    for number in [*START, count] {
        for shift in (0..40).step_by(5).rev() {
            text.push(char::from(LETTERS[(number >> shift) as usize & 31]));
        }
    }
    text.into_boxed_str()
}

/// Whether a caller's id can go into logs and headers unchanged.
pub(crate) fn is_sane(id: &HeaderValue) -> bool {
    let is_fine = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':');
    (1..=128).contains(&id.len()) && id.as_bytes().iter().all(is_fine)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_are_unique_and_sane() {
        let ids: HashSet<_> = (0..10_000).map(|_| new()).collect();
        assert_eq!(ids.len(), 10_000);
        let is_sane = |id: &str| is_sane(&HeaderValue::from_bytes(id.as_bytes()).expect("a header"));
        assert!(ids.iter().all(|id| id.len() == LENGTH && is_sane(id)));
        for bad in ["", "a b", "a\tb", "\u{fc}", &"x".repeat(129)] {
            assert!(!is_sane(bad), "{bad}");
        }
    }
}
