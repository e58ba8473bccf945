//! UUIDs made from the injected random source, so that tests can reproduce a run.

use milepost_model::{IdSource, Timestamp};

/// Returns a UUID that sorts by time, to the millisecond.
pub(crate) fn v7(ids: &dyn IdSource, now: Timestamp) -> String {
    let mut bytes = random(ids, 7);
    let ms = now.as_millisecond().max(0).to_be_bytes();
    bytes[..6].copy_from_slice(&ms[2..]);
    text(bytes)
}

/// Returns `count` UUIDs of one moment, in ascending order.
pub(crate) fn v7_ascending(ids: &dyn IdSource, now: Timestamp, count: usize) -> Vec<String> {
    let mut made: Vec<String> = (0..count).map(|_| v7(ids, now)).collect();
    made.sort_unstable();
    made
}

/// Returns a lower bound for the ids of this moment and later.
pub(crate) fn first_of(moment: Timestamp) -> String {
    let ms = moment.as_millisecond().max(0).to_be_bytes();
    let mut bytes = [0; 16];
    bytes[..6].copy_from_slice(&ms[2..]);
    text(bytes)
}

/// Returns a fully random UUID, for ids that must not be guessable.
pub(crate) fn v4(ids: &dyn IdSource) -> String {
    text(random(ids, 4))
}

fn random(ids: &dyn IdSource, version: u8) -> [u8; 16] {
    let mut bytes = [0; 16];
    ids.fill(&mut bytes);
    bytes[6] = (bytes[6] & 0x0f) | (version << 4);
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    bytes
}

fn text(bytes: [u8; 16]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(36);
    for (position, byte) in bytes.iter().enumerate() {
        let _ = write!(text, "{}{byte:02x}", if matches!(position, 4 | 6 | 8 | 10) { "-" } else { "" });
    }
    text
}

#[cfg(test)]
mod tests {
    use milepost_model::SeededIds;

    use super::*;

    #[test]
    fn uuids_carry_their_version_and_v7_sorts_by_time() {
        let ids = SeededIds::new(1);
        let at = |ms| milepost_model::clock::from_millis(ms);
        let early = v7(&ids, at(1_900_000_000_000));
        let late = v7(&ids, at(1_900_000_000_001));
        assert!(early < late);
        assert!(early.starts_with("01ba60d3-3800-7"), "{early}");
        let other = v4(&ids);
        assert_eq!((other.len(), &other[14..15]), (36, "4"));
        assert!("89ab".contains(&other[19..20]), "{other}");
    }
}
