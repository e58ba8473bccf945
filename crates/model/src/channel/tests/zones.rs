//! Windows across both clock changes, across midnight, and with denies, in zones with different
//! rules.

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::super::Windows;
use super::at;

fn windows(zone: &str, allow: &[&str], deny: &[&str]) -> Windows {
    Windows::new(zone, allow, deny).unwrap_or_else(|error| panic!("{error}"))
}

const MINUTE: SignedDuration = SignedDuration::from_mins(1);

/// The open periods between two times, minute by minute.
fn stretches(windows: &Windows, from: &str, until: &str) -> Vec<(String, String)> {
    let (mut now, until) = (at(from), at(until));
    let mut found: Vec<(Timestamp, Timestamp)> = Vec::new();
    while now < until {
        if windows.is_open(now) {
            match found.last_mut() {
                Some((_, end)) if *end == now => *end = now + MINUTE,
                _ => found.push((now, now + MINUTE)),
            }
        }
        now += MINUTE;
    }
    found.into_iter().map(|(from, to)| (from.to_string(), to.to_string())).collect()
}

/// Checks the periods in UTC in which `allow` is open on the day of a clock change.
fn check(zone: &str, allow: &str, day: (&str, &str), expected: &[(&str, &str)]) {
    let expected: Vec<(String, String)> = expected.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    assert_eq!(stretches(&windows(zone, &[allow], &[]), day.0, day.1), expected, "{zone} {allow}");
}

#[test]
fn berlin_skips_and_repeats_an_hour() {
    // 2026-03-29: 01:59 CET, then 03:00 CEST, at 01:00 UTC.
    let spring = ("2026-03-28T22:00:00Z", "2026-03-29T22:00:00Z");
    check("Europe/Berlin", "sun 01:00-04:00", spring, &[("2026-03-29T00:00:00Z", "2026-03-29T02:00:00Z")]);
    check("Europe/Berlin", "sun 02:30-04:00", spring, &[("2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z")]);
    check("Europe/Berlin", "sun 01:00-02:30", spring, &[("2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z")]);
    check("Europe/Berlin", "sun 02:00-03:00", spring, &[]);
    check("Europe/Berlin", "sat 23:00-03:00", spring, &[("2026-03-28T22:00:00Z", "2026-03-29T01:00:00Z")]);
    // 2026-10-25: 02:59 CEST, then 02:00 CET, at 01:00 UTC.
    let autumn = ("2026-10-24T20:00:00Z", "2026-10-25T22:00:00Z");
    check("Europe/Berlin", "sun 02:00-04:00", autumn, &[("2026-10-25T00:00:00Z", "2026-10-25T03:00:00Z")]);
    check(
        "Europe/Berlin",
        "sun 02:00-02:30",
        autumn,
        &[("2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z"), ("2026-10-25T01:00:00Z", "2026-10-25T01:30:00Z")],
    );
    check(
        "Europe/Berlin",
        "sun 02:30-05:00",
        autumn,
        &[("2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z"), ("2026-10-25T01:30:00Z", "2026-10-25T04:00:00Z")],
    );
    check("Europe/Berlin", "sat 22:00-06:00", autumn, &[("2026-10-24T20:00:00Z", "2026-10-25T05:00:00Z")]);
}

#[test]
fn new_york_changes_on_other_days() {
    // 2026-03-08: 01:59 EST, then 03:00 EDT, at 07:00 UTC. 2026-11-01: 01:59 EDT, then 01:00 EST,
    // at 06:00 UTC.
    let spring = ("2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z");
    check("America/New_York", "sun 01:00-04:00", spring, &[("2026-03-08T06:00:00Z", "2026-03-08T08:00:00Z")]);
    check("America/New_York", "sun 02:00-03:00", spring, &[]);
    let autumn = ("2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z");
    check("America/New_York", "sun 01:00-02:00", autumn, &[("2026-11-01T05:00:00Z", "2026-11-01T07:00:00Z")]);
    check(
        "America/New_York",
        "sun 01:30-03:00",
        autumn,
        &[("2026-11-01T05:30:00Z", "2026-11-01T06:00:00Z"), ("2026-11-01T06:30:00Z", "2026-11-01T08:00:00Z")],
    );
}

#[test]
fn lord_howe_changes_by_half_an_hour_in_the_southern_spring() {
    // 2026-10-04: 01:59 at +10:30, then 02:30 at +11. 2026-04-05: 01:59 at +11, then 01:30 at
    // +10:30; at 15:30 and 15:00 UTC.
    let spring = ("2026-10-03T13:30:00Z", "2026-10-04T13:00:00Z");
    check("Australia/Lord_Howe", "sun 01:30-03:00", spring, &[("2026-10-03T15:00:00Z", "2026-10-03T16:00:00Z")]);
    check("Australia/Lord_Howe", "sun 02:00-02:30", spring, &[]);
    let autumn = ("2026-04-04T13:00:00Z", "2026-04-05T13:30:00Z");
    check(
        "Australia/Lord_Howe",
        "sun 01:00-01:45",
        autumn,
        &[("2026-04-04T14:00:00Z", "2026-04-04T14:45:00Z"), ("2026-04-04T15:00:00Z", "2026-04-04T15:15:00Z")],
    );
    check("Australia/Lord_Howe", "sun 01:30-02:00", autumn, &[("2026-04-04T14:30:00Z", "2026-04-04T15:30:00Z")]);
}

#[test]
fn handles_clock_changes_at_midnight() {
    // Cairo, 2026-04-24: 23:59 on Thursday, then 01:00 on Friday. Havana, 2026-11-01: 00:59 on
    // Sunday, then 00:00 again.
    check(
        "Africa/Cairo",
        "fri 00:00-02:00",
        ("2026-04-23T20:00:00Z", "2026-04-24T12:00:00Z"),
        &[("2026-04-23T22:00:00Z", "2026-04-23T23:00:00Z")],
    );
    check(
        "Africa/Cairo",
        "thu 23:00-01:30",
        ("2026-04-23T20:00:00Z", "2026-04-24T12:00:00Z"),
        &[("2026-04-23T21:00:00Z", "2026-04-23T22:30:00Z")],
    );
    check(
        "America/Havana",
        "sun 00:00-00:30",
        ("2026-10-31T20:00:00Z", "2026-11-01T20:00:00Z"),
        &[("2026-11-01T04:00:00Z", "2026-11-01T04:30:00Z"), ("2026-11-01T05:00:00Z", "2026-11-01T05:30:00Z")],
    );
}

#[test]
fn a_window_over_midnight_belongs_to_the_day_it_begins_on() {
    let week = windows("UTC", &["fri 22:00-06:00"], &[]);
    let expected = [("2026-11-20T22:00:00Z".to_owned(), "2026-11-21T06:00:00Z".to_owned())];
    assert_eq!(stretches(&week, "2026-11-16T00:00:00Z", "2026-11-23T00:00:00Z"), expected);
    let nights = windows("UTC", &["mon-fri 22:00-06:00"], &[]);
    assert!(!nights.is_open(at("2026-11-16T05:00:00Z")), "Monday morning belongs to Sunday evening");
    assert!(nights.is_open(at("2026-11-21T05:59:59Z")), "Saturday morning belongs to Friday evening");
}

#[test]
fn deny_takes_precedence_over_allow_within_its_period() {
    let frozen = windows("Europe/Berlin", &["sun 02:00-04:00"], &["2026-12-20..2027-01-06", "sun 03:00-03:30"]);
    let open = |text: &str| frozen.is_open(at(text));
    assert!(open("2026-12-13T01:59:00Z") && !open("2026-12-13T02:00:00Z") && open("2026-12-13T02:30:00Z"));
    assert!(!open("2026-12-20T01:00:00Z") && !open("2027-01-03T01:00:00Z"));
    assert!(open("2027-01-10T01:00:00Z"));
    let next = frozen.next_open(at("2026-12-13T03:00:00Z"), at("2027-12-01T00:00:00Z")).expect("opens");
    assert_eq!(next.to_string(), "2027-01-10T02:00:00+01:00[Europe/Berlin]");
    let end = frozen.next_undenied(at("2026-12-24T12:00:00Z"), at("2027-12-01T00:00:00Z")).expect("ends");
    assert_eq!(end.to_string(), "2027-01-07T00:00:00+01:00[Europe/Berlin]");
    assert_eq!(
        frozen.next_open(at("2026-12-20T00:00:00Z"), at("2027-01-10T01:00:00Z")),
        None,
        "`until` is not included"
    );
    let never = windows("UTC", &["sun 02:00-04:00"], &["sun"]);
    assert_eq!(never.next_open(at("2026-01-01T00:00:00Z"), at("2027-02-01T00:00:00Z")), None);
    let only_deny = windows("UTC", &[], &["2026-12-24"]);
    assert!(only_deny.is_open(at("2026-12-23T23:59:59Z")) && !only_deny.is_open(at("2026-12-24T00:00:00Z")));
}

#[test]
fn a_window_inside_the_skipped_hour_opens_a_week_later() {
    let lost = windows("Europe/Berlin", &["sun 02:00-03:00"], &[]);
    let next = lost.next_open(at("2026-03-23T00:00:00Z"), at("2027-01-01T00:00:00Z")).expect("opens");
    assert_eq!(next.to_string(), "2026-04-05T02:00:00+02:00[Europe/Berlin]");
}

fn window() -> impl Strategy<Value = String> {
    let days = prop::sample::select(vec!["sun", "sat-sun", "mon-fri", "daily", "thu,fri", "sat"]);
    let time =
        prop::sample::select(vec!["00:00", "00:30", "01:00", "01:45", "02:00", "02:30", "03:00", "22:00", "23:30"]);
    let hours = (days, time.clone(), time)
        .prop_filter_map("no length", |(days, from, to)| (from != to).then(|| format!("{days} {from}-{to}")));
    prop_oneof![6 => hours, 1 => Just("sat".to_owned()), 1 => Just("2026-03-28..2026-03-30".to_owned())]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    /// Compares with a search minute by minute, near clock changes.
    #[test]
    fn the_next_opening_is_the_first_open_minute(
        place in prop::sample::select(vec![
            ("Europe/Berlin", "2026-03-28T12:00:00Z"), ("Europe/Berlin", "2026-10-24T12:00:00Z"),
            ("America/New_York", "2026-10-31T12:00:00Z"), ("Australia/Lord_Howe", "2026-10-03T02:00:00Z"),
            ("Australia/Lord_Howe", "2026-04-04T02:00:00Z"), ("Africa/Cairo", "2026-04-23T12:00:00Z"),
            ("America/Havana", "2026-10-31T12:00:00Z"), ("Asia/Kolkata", "2026-01-01T00:00:00Z"),
        ]),
        shift in 0_i64..1440,
        allow in prop::collection::vec(window(), 0..3),
        deny in prop::collection::vec(window(), 0..3),
    ) {
        let windows = Windows::new(place.0, &allow, &deny).expect("windows");
        let after = at(place.1) + MINUTE * i32::try_from(shift).expect("small");
        let until = after + SignedDuration::from_hours(48);
        let minutes = || (0..48 * 60).map(|minute| after + MINUTE * minute);
        let open = minutes().find(|now| windows.is_open(*now));
        prop_assert_eq!(windows.next_open(after, until).map(|at| at.timestamp()), open);
        let undenied = minutes().find(|now| !windows.is_denied(*now));
        prop_assert_eq!(windows.next_undenied(after, until).map(|at| at.timestamp()), undenied);
    }
}
