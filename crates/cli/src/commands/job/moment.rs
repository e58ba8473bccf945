//! Times in the future.

use jiff::tz::TimeZone;
use milepost_model::Timestamp;

use crate::failure::{Failure, Result};

/// Parses `now`, RFC 3339, `2026-11-10 12:00` in the given zone (or else the system's), or `in 2h`.
pub fn parse_coming(text: &str, zone: &str, now: Timestamp) -> Result<Timestamp> {
    if text == "now" {
        return Ok(now);
    }
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Ok(moment);
    }
    let zone = TimeZone::get(zone).unwrap_or_else(|_| TimeZone::system());
    if let Ok(moment) = text.parse::<jiff::civil::DateTime>().and_then(|local| local.to_zoned(zone.clone())) {
        return Ok(moment.timestamp());
    }
    let length = text.strip_prefix("in ").and_then(|length| length.trim().parse::<jiff::Span>().ok());
    if let Some(moment) = length.and_then(|length| now.to_zoned(zone).checked_add(length).ok()) {
        return Ok(moment.timestamp());
    }
    Err(Failure::usage(format!("`{text}` is not a valid time"))
        .hint(format!("use a form like `{now}`, `2026-11-10 12:00` or `in 2h`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_count_from_now_and_local_times_use_the_zone() {
        let now: Timestamp = "2026-01-02T03:04:05Z".parse().expect("a time");
        let then: Timestamp = "2026-01-02T05:04:05Z".parse().expect("a time");
        assert_eq!(parse_coming("in 2h", "", now).expect("a moment"), then);
        assert_eq!(parse_coming("2026-01-02T05:04:05Z", "", now).expect("a moment"), then);
        assert_eq!(parse_coming("2026-01-02 00:04:05", "America/New_York", now).expect("a moment"), then);
        assert!(parse_coming("2h", "", now).is_err(), "ambiguous: past or future");
    }
}
