//! The search along real time, from one clock change of the zone to the next; between changes the
//! clock is a plain calendar. The module above documents the rules for the changes.

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use super::fields::Fields;
use super::floor_second;

const SECOND: SignedDuration = SignedDuration::from_secs(1);

pub(super) fn next_after(fields: &Fields, zone: &TimeZone, at: Timestamp) -> Option<Timestamp> {
    let at = Timestamp::from_second(floor_second(at)).unwrap_or(Timestamp::MIN);
    let mut offset = zone.to_offset(at);
    let mut from = offset.to_datetime(at).checked_add(SECOND).ok()?;
    if fields.once_a_day()
        && let Some(end) = end_of_second_showing(zone, at, offset)
    {
        from = from.max(end);
    }
    for change in zone.following(at) {
        let moment = change.timestamp();
        let (before, after) = (offset.to_datetime(moment), change.offset().to_datetime(moment));
        if let Some(found) = fields.next(from, before) {
            return offset.to_timestamp(found).ok();
        }
        if fields.names_hours() && fields.next(from.max(before), after).is_some() {
            return Some(moment);
        }
        from = if fields.once_a_day() { after.max(before) } else { after };
        offset = change.offset();
    }
    offset.to_timestamp(fields.next(from, DateTime::MAX)?).ok()
}

/// If the clock repeats a time at this moment, the time at which it shows something new.
fn end_of_second_showing(zone: &TimeZone, at: Timestamp, offset: Offset) -> Option<DateTime> {
    match zone.to_ambiguous_timestamp(offset.to_datetime(at)).offset() {
        AmbiguousOffset::Fold { before, after } if after == offset => {
            let change = zone.preceding(at.checked_add(SECOND).ok()?).next()?;
            Some(before.to_datetime(change.timestamp()))
        }
        _ => None,
    }
}
