//! Tests of schedules: tables that can be verified with a calendar, and properties against a slow,
//! independent search.

mod calendar;
mod clock_changes;
mod due;
mod oracle;
mod parsing;
mod properties;

use jiff::Timestamp;

use super::Schedule;

fn schedule(text: &str, zone: &str) -> Schedule {
    Schedule::parse(text, zone).expect("a schedule")
}

fn time(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

/// Asserts the firings after `after`, in the local time of the zone with its offset.
fn check(text: &str, zone: &str, after: &str, expected: &[&str]) {
    let schedule = schedule(text, zone);
    let found: Vec<String> = schedule
        .ticks(time(after))
        .take(expected.len())
        .map(|tick| tick.to_zoned(schedule.zone.clone()).strftime("%m-%d %H:%M%:z").to_string())
        .collect();
    assert_eq!(found, expected, "`{text}` in {zone} after {after}");
}
