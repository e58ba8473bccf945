//! Accepted and rejected schedules, with the exact errors.

use super::schedule;
use crate::schedule::Schedule;

#[track_caller]
fn refused(text: &str, expected: &str) {
    let error = Schedule::parse(text, "").expect_err("a refusal");
    assert_eq!(error.field, "cron");
    assert_eq!(error.problem, expected);
    assert!(!error.hint.is_empty(), "{error}");
}

#[test]
fn different_spellings_give_the_same_schedule() {
    for (left, right) in [
        ("@hourly", "0 * * * *"),
        ("@Midnight", "@daily"),
        ("@weekly", "0 0 * * SUN"),
        ("@yearly", "0 0 0 1 JAN ?"),
        ("  0 3 * *   mon-fri ", "0 0 3 * * 1-5"),
        ("0 3 * * 7", "0 3 * * 0"),
        ("@every 90m", "@EVERY 1h 30m"),
        ("@every PT5M", "@every 5m"),
    ] {
        for tick in schedule(left, "Europe/Berlin").ticks(super::time("2027-01-01T00:00:00Z")).take(50) {
            let before = tick - jiff::SignedDuration::from_secs(1);
            assert_eq!(schedule(right, "Europe/Berlin").next_after(before), Some(tick), "{left} and {right}");
        }
    }
}

#[test]
fn errors_name_the_invalid_field() {
    refused("61 * * * *", "`61 * * * *` is not a schedule: `61` is not a minute");
    refused("0 24 * * *", "`0 24 * * *` is not a schedule: `24` is not an hour");
    refused("0 18-8 * * *", "`0 18-8 * * *` is not a schedule: `18-8` is not an hour");
    refused("60 0 0 * * *", "`60 0 0 * * *` is not a schedule: `60` is not a second");
    refused("0 0 0 * *", "`0 0 0 * *` is not a schedule: `0` is not a day of the month");
    refused("0 0 * 13 *", "`0 0 * 13 *` is not a schedule: `13` is not a month");
    refused("0 0 * * 8", "`0 0 * * 8` is not a schedule: `8` is not a weekday");
    refused("0 0 * * MON#6", "`0 0 * * MON#6` is not a schedule: `mon#6` is not a weekday");
    refused("*/0 * * * *", "`*/0 * * * *` is not a schedule: `*/0` is not a minute");
}

#[test]
fn rejects_what_the_lenient_parser_accepts() {
    refused("0 0 * MON *", "`0 0 * MON *` is not a schedule: `mon` is not a month");
    refused("0 0 JAN * *", "`0 0 JAN * *` is not a schedule: `jan` is not a day of the month");
    refused("0 0 15W3 * *", "`0 0 15W3 * *` is not a schedule: `15w3` is not a day of the month");
    refused("0 0 * * L", "`0 0 * * L` is not a schedule: `l` is not a weekday");
    refused("0,,5 * * * *", "`0,,5 * * * *` is not a schedule: `0,,5` is not a minute");
    refused("/5 * * * *", "`/5 * * * *` is not a schedule: `/5` is not a minute");
    refused("0 0 * 1JAN *", "`0 0 * 1JAN *` is not a schedule: `1jan` is not a month");
    refused("0 0 * * ſun", "`0 0 * * ſun` is not a schedule: `ſun` is not a weekday");
    refused("0 0 3 * * * 2030", "`0 0 3 * * * 2030` is not a schedule: it has 7 fields, not five or six");
    refused("never", "`never` is not a schedule: it has 1 field, not five or six");
    refused("", "a schedule has 1 to 255 characters");
    refused(&"1,".repeat(200), "a schedule has 1 to 255 characters");
    refused("@reboot", "`@reboot` is not a schedule");
    refused("CRON_TZ=UTC 0 3 * * *", "`CRON_TZ=UTC 0 3 * * *` has a time zone in front");
}

#[test]
fn rejects_schedules_that_never_fire() {
    for text in ["0 0 31 2 *", "0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 8 * +MON#1", "0 0 30 2 +MON"] {
        refused(text, &format!("`{text}` never comes: there is no such day"));
    }
    schedule("0 0 29 2 *", "");
    schedule("0 0 31 2 MON", "");
}

#[test]
fn rejects_invalid_intervals() {
    for length in ["0s", "-5m", "1500ms", "1.5s", "5", "soon", "9000h", "1 month", "99999999999999999999h"] {
        refused(
            &format!("@every {length}"),
            &format!("`{length}` is not a length of whole seconds, from one to a year"),
        );
    }
    refused("@every", "`@every` is not a schedule");
    schedule("@every 8784h", "");
}

#[test]
fn zones_are_found_by_name_in_any_case() {
    assert_eq!(schedule("0 3 * * *", ""), schedule("0 3 * * *", "UTC"));
    assert_eq!(schedule("0 3 * * *", "europe/berlin"), schedule("0 3 * * *", "Europe/Berlin"));
    for zone in ["Mars/Base", "Etc/Unknown", " ", "localtime", "../etc/passwd", "+02:00"] {
        let error = Schedule::parse("0 3 * * *", zone).expect_err("a refusal");
        assert_eq!((error.field.as_str(), error.problem), ("zone", format!("`{zone}` is not a time zone")));
    }
}
