//! Human-readable times.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};

use crate::failure::{Failure, Result};

/// `2026-01-02 03:04:05` in the system's time zone.
pub fn local(at: Timestamp) -> String {
    at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// `12s`, `5m`, `3h`, `2d`.
pub fn age(now: Timestamp, then: Timestamp) -> String {
    let seconds = now.duration_since(then).as_secs().max(0);
    match seconds {
        0..=119 => format!("{seconds}s"),
        120..=7199 => format!("{}m", seconds / 60),
        7200..=172_799 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// Parses `now`, RFC 3339, `2026-11-10 12:00` in the system's time zone, or a duration ago (`2h`,
/// `3 days ago`).
pub fn parse_moment(text: &str, now: Timestamp) -> Result<Timestamp> {
    if text == "now" {
        return Ok(now);
    }
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Ok(moment);
    }
    let zone = TimeZone::system();
    if let Ok(moment) = text.parse::<jiff::civil::DateTime>().and_then(|local| local.to_zoned(zone.clone())) {
        return Ok(moment.timestamp());
    }
    if let Ok(date) = text.parse::<jiff::civil::Date>()
        && let Ok(moment) = date.to_zoned(zone)
    {
        return Ok(moment.timestamp());
    }
    if let Ok(length) = text.trim_end_matches("ago").trim().parse::<jiff::Span>() {
        let zoned: Zoned = now.to_zoned(TimeZone::system());
        let length = if length.is_negative() { length.negate() } else { length };
        if let Ok(moment) = zoned.checked_sub(length) {
            return Ok(moment.timestamp());
        }
    }
    let example =
        now.checked_sub(SignedDuration::from_hours(2)).map_or_else(|_| String::new(), |then| then.to_string());
    Err(Failure::usage(format!("`{text}` is not a valid time"))
        .hint(format!("use a form like `{example}`, `2026-11-10 12:00` or `2h ago`")))
}
