//! Leap days, ends of years, last and nearest days, and both ends of the calendar.

use jiff::Timestamp;

use super::{schedule, time};

fn check(text: &str, after: &str, expected: &[&str]) {
    let found = schedule(text, "").ticks(time(after)).take(expected.len()).collect::<Vec<_>>();
    let expected: Vec<Timestamp> = expected.iter().map(|text| time(text)).collect();
    assert_eq!(found, expected, "`{text}` after {after}");
}

#[test]
fn leap_days_come_every_four_years_except_in_most_centuries() {
    let expected = ["2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"];
    check("0 0 29 2 *", "2027-01-01T00:00:00Z", &expected);
    check("0 0 29 2 *", "2096-02-29T00:00:00Z", &["2104-02-29T00:00:00Z"]);
    check("0 0 29 2 *", "1999-01-01T00:00:00Z", &["2000-02-29T00:00:00Z"]);
    check("0 0 29 2 +MON", "2027-01-01T00:00:00Z", &["2044-02-29T00:00:00Z", "2072-02-29T00:00:00Z"]);
    check("0 0 L 2 *", "2027-01-01T00:00:00Z", &["2027-02-28T00:00:00Z", "2028-02-29T00:00:00Z"]);
}

#[test]
fn handles_the_ends_of_years_and_months() {
    let expected = ["2026-12-31T23:59:00Z", "2027-01-01T00:00:00Z", "2027-01-01T00:01:00Z"];
    check("* * * * *", "2026-12-31T23:58:30Z", &expected);
    check("59 59 23 31 12 *", "2026-12-31T23:59:59Z", &["2027-12-31T23:59:59Z"]);
    check("@yearly", "2026-06-01T00:00:00Z", &["2027-01-01T00:00:00Z", "2028-01-01T00:00:00Z"]);
    check("@annually", "2027-01-01T00:00:00Z", &["2028-01-01T00:00:00Z"]);
    check("0 0 31 * *", "2027-01-31T00:00:00Z", &["2027-03-31T00:00:00Z", "2027-05-31T00:00:00Z"]);
    check("@monthly", "2027-01-01T00:00:00Z", &["2027-02-01T00:00:00Z"]);
    check("@weekly", "2027-01-01T00:00:00Z", &["2027-01-03T00:00:00Z", "2027-01-10T00:00:00Z"]);
}

/// 2027-05-01 and 2027-05-15 are Saturdays, 2027-05-31 is a Monday.
#[test]
fn handles_last_nearest_and_nth_days() {
    let after = "2027-05-01T00:00:00Z";
    check("0 0 L * ?", after, &["2027-05-31T00:00:00Z", "2027-06-30T00:00:00Z"]);
    check("0 0 15W * ?", after, &["2027-05-14T00:00:00Z", "2027-06-15T00:00:00Z"]);
    check("0 0 LW 10 ?", after, &["2027-10-29T00:00:00Z"]);
    check("0 0 ? * FRI#2", after, &["2027-05-14T00:00:00Z", "2027-06-11T00:00:00Z"]);
    check("0 0 ? * friL", after, &["2027-05-28T00:00:00Z", "2027-06-25T00:00:00Z"]);
    check("0 0 ? * 7L", after, &["2027-05-30T00:00:00Z"]);
    check("0 0 * * sat-sun", after, &["2027-05-02T00:00:00Z", "2027-05-08T00:00:00Z"]);
    check("0 0 1-7 * +MON", after, &["2027-05-03T00:00:00Z", "2027-06-07T00:00:00Z"]);
    check("0 0 1 * MON", after, &["2027-05-03T00:00:00Z", "2027-05-10T00:00:00Z"]);
    check("0 0 1 jan,JUL *", after, &["2027-07-01T00:00:00Z", "2028-01-01T00:00:00Z"]);
}

#[test]
fn steps_start_at_their_first_value() {
    let after = "2027-05-01T00:00:00Z";
    check("10/20 * * * *", after, &["2027-05-01T00:10:00Z", "2027-05-01T00:30:00Z", "2027-05-01T00:50:00Z"]);
    check("0 8-18/5 * * *", after, &["2027-05-01T08:00:00Z", "2027-05-01T13:00:00Z", "2027-05-01T18:00:00Z"]);
    check("*/20 59 23 * * *", after, &["2027-05-01T23:59:00Z", "2027-05-01T23:59:20Z"]);
}

#[test]
fn every_counts_from_the_epoch() {
    check("@every 5m", "2027-05-01T00:03:21Z", &["2027-05-01T00:05:00Z", "2027-05-01T00:10:00Z"]);
    check("@every 5m", "2027-05-01T00:05:00Z", &["2027-05-01T00:10:00Z"]);
    check("@every 1h30m", "1970-01-01T00:00:00Z", &["1970-01-01T01:30:00Z", "1970-01-01T03:00:00Z"]);
    check("@every 24h", "2027-05-01T12:00:00Z", &["2027-05-02T00:00:00Z"]);
    check("@every 1s", "2027-05-01T00:00:00.25Z", &["2027-05-01T00:00:01Z", "2027-05-01T00:00:02Z"]);
    check("@every 7s", "1969-12-31T23:59:58.5Z", &["1970-01-01T00:00:00Z"]);
}

#[test]
fn a_time_with_a_fraction_is_followed_by_the_next_whole_second() {
    check("* * * * * *", "2027-05-01T00:00:00.001Z", &["2027-05-01T00:00:01Z"]);
    check("* * * * * *", "1969-12-31T23:59:57.5Z", &["1969-12-31T23:59:58Z"]);
}

#[test]
fn no_firing_after_the_end_of_the_calendar() {
    for zone in ["", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"] {
        for text in ["* * * * * *", "0 3 * * *", "0 0 29 2 *", "@every 1s", "@every 5m"] {
            let schedule = schedule(text, zone);
            assert_eq!(schedule.next_after(Timestamp::MAX), None, "`{text}` in {zone}");
            assert!(schedule.next_after(Timestamp::MIN).is_some(), "`{text}` in {zone}");
        }
        let leap = schedule("0 12 29 2 *", zone);
        let last = leap.next_after(time("9996-02-01T00:00:00Z")).expect("the last leap day");
        assert_eq!(leap.next_after(last), None, "{zone}");
    }
    check("0 0 29 2 *", "5000-01-01T00:00:00Z", &["5004-02-29T00:00:00Z"]);
}
