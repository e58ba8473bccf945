//! When an install is checked next.

use std::time::Duration;

use milepost_model::clock::from_millis;
use milepost_model::{Backoff, IdSource, Timestamp};

/// Delay before the first retry of an unreadable channel, capped at the poll interval. Doubles with
/// each failure.
const FIRST_RETRY: Duration = Duration::from_secs(60);
const LAST_RETRY: Duration = Duration::from_secs(3600);
/// Minimum delay before fetching an unusable artifact again.
const FETCH_AGAIN_MS: i64 = 300_000;

/// The next poll, or an earlier planned time. Polls have 10 % jitter, so that the installs of a
/// channel do not poll it all at once. Planned times have none.
pub(super) fn usual(now: Timestamp, poll_s: u32, wake_at: Option<Timestamp>, ids: &dyn IdSource) -> Timestamp {
    let poll = spread(now, i64::from(poll_s) * 1000, ids);
    wake_at.map_or(poll, |wake| wake.min(poll))
}

/// The next retry after consecutive failures. Callers keep an earlier planned time, since the
/// channel may respond by then.
pub(super) fn retry(now: Timestamp, poll_s: u32, failures: i64, ids: &dyn IdSource) -> Timestamp {
    let backoff = Backoff::new(FIRST_RETRY.min(Duration::from_secs(poll_s.into())), LAST_RETRY);
    let delay = backoff.after(u32::try_from(failures.max(1)).unwrap_or(u32::MAX));
    spread(now, i64::try_from(delay.as_millis()).unwrap_or(i64::MAX), ids)
}

/// The next check after an unusable artifact was fetched. It stays the same until someone acts, but
/// the author may publish a better one at any time.
pub(super) fn later(now: Timestamp, poll_s: u32, ids: &dyn IdSource) -> Timestamp {
    spread(now, FETCH_AGAIN_MS.max(i64::from(poll_s) * 1000), ids)
}

fn spread(now: Timestamp, length_ms: i64, ids: &dyn IdSource) -> Timestamp {
    let mut bytes = [0u8; 2];
    ids.fill(&mut bytes);
    // From 900 to 1100 thousandths.
    let thousandths = 900 + i64::from(u16::from_le_bytes(bytes)) * 200 / i64::from(u16::MAX);
    from_millis(now.as_millisecond().saturating_add(length_ms / 1000 * thousandths + length_ms % 1000))
}

#[cfg(test)]
mod tests {
    use milepost_model::SeededIds;

    use super::*;

    #[test]
    fn polls_have_jitter_and_planned_times_come_first() {
        let (now, ids) = (from_millis(0), SeededIds::new(3));
        let times: Vec<i64> = (0..200).map(|_| usual(now, 900, None, &ids).as_millisecond()).collect();
        assert!(times.iter().all(|ms| (810_000..=990_000).contains(ms)), "{times:?}");
        assert!(times.iter().max() > times.iter().min().map(|least| least + 100_000).as_ref());
        assert_eq!(usual(now, 900, Some(from_millis(5)), &ids), from_millis(5));
        assert!(usual(now, 900, Some(from_millis(10_000_000)), &ids) < from_millis(1_000_000));
    }

    #[test]
    fn retries_back_off_to_once_an_hour() {
        let ids = SeededIds::new(3);
        let after = |poll: u32, failures: i64| retry(from_millis(0), poll, failures, &ids).as_millisecond();
        assert!((54_000..=66_000).contains(&after(900, 1)));
        assert!((108_000..=132_000).contains(&after(900, 2)));
        assert!((3_240_000..=3_960_000).contains(&after(900, 1000)));
        assert!(after(2, 1) <= 2200);
        let fetched = |poll: u32| later(from_millis(0), poll, &ids).as_millisecond();
        assert!((270_000..=330_000).contains(&fetched(2)) && (810_000..=990_000).contains(&fetched(900)));
    }
}
