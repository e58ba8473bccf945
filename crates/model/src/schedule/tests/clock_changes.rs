//! Both clock changes in three zones, by an hour and by half an hour, and zones without changes.

use super::check;

/// 2027-03-28 02:00 becomes 03:00.
#[test]
fn berlin_runs_a_skipped_named_time_once_after_the_gap() {
    let after = "2027-03-27T12:00:00+01:00";
    let zone = "Europe/Berlin";
    check("30 2 * * *", zone, after, &["03-28 03:00+02:00", "03-29 02:30+02:00"]);
    check("0 2 * * *", zone, after, &["03-28 03:00+02:00", "03-29 02:00+02:00"]);
    check("0 3 * * *", zone, after, &["03-28 03:00+02:00", "03-29 03:00+02:00"]);
    check("59 1 * * *", zone, after, &["03-28 01:59+01:00", "03-29 01:59+02:00"]);
    check("@daily", zone, after, &["03-28 00:00+01:00", "03-29 00:00+02:00"]);

    check("30 2 * * MON", zone, after, &["03-29 02:30+02:00", "04-05 02:30+02:00"]);
}

#[test]
fn runs_several_named_times_in_one_gap_once() {
    let after = "2027-03-27T23:30:00+01:00";
    let zone = "Europe/Berlin";
    check("10,20,30 2 * * *", zone, after, &["03-28 03:00+02:00", "03-29 02:10+02:00"]);
    check("0 2,3,14 * * *", zone, after, &["03-28 03:00+02:00", "03-28 14:00+02:00"]);
    check("*/15 2 * * *", zone, after, &["03-28 03:00+02:00", "03-29 02:00+02:00"]);
    check("0 */2 * * *", zone, after, &["03-28 00:00+01:00", "03-28 03:00+02:00", "03-28 04:00+02:00"]);
    check("*/30 * 2 * * *", zone, after, &["03-28 03:00+02:00", "03-29 02:00+02:00"]);
}

#[test]
fn berlin_continues_intervals_across_the_gap() {
    let after = "2027-03-28T01:10:00+01:00";
    let zone = "Europe/Berlin";
    check("30 * * * *", zone, after, &["03-28 01:30+01:00", "03-28 03:30+02:00", "03-28 04:30+02:00"]);
    check("@hourly", zone, after, &["03-28 03:00+02:00", "03-28 04:00+02:00"]);
    check("*/20 * * * *", zone, after, &["03-28 01:20+01:00", "03-28 01:40+01:00", "03-28 03:00+02:00"]);
    check("@every 30m", zone, after, &["03-28 01:30+01:00", "03-28 03:00+02:00", "03-28 03:30+02:00"]);
    check("*/15 1-3 * * *", zone, "2027-03-28T01:40:00+01:00", &["03-28 01:45+01:00", "03-28 03:00+02:00"]);
}

/// 2027-10-31 03:00 becomes 02:00.
#[test]
fn berlin_runs_a_repeated_named_time_only_the_first_time() {
    let after = "2027-10-30T12:00:00+02:00";
    let zone = "Europe/Berlin";
    check("30 2 * * *", zone, after, &["10-31 02:30+02:00", "11-01 02:30+01:00"]);
    check("0 2 * * *", zone, after, &["10-31 02:00+02:00", "11-01 02:00+01:00"]);
    check("0 3 * * *", zone, after, &["10-31 03:00+01:00", "11-01 03:00+01:00"]);
    check("0,30 2 * * *", zone, after, &["10-31 02:00+02:00", "10-31 02:30+02:00", "11-01 02:00+01:00"]);
    let after = "2027-10-31T01:30:00+02:00";
    check("0 */2 * * *", zone, after, &["10-31 02:00+02:00", "10-31 04:00+01:00"]);
    check("0 1-3 * * *", zone, after, &["10-31 02:00+02:00", "10-31 03:00+01:00"]);
}

#[test]
fn named_times_do_not_fire_again_in_the_repeated_hour() {
    let zone = "Europe/Berlin";
    for after in ["2027-10-31T02:00:00+01:00", "2027-10-31T02:29:59+01:00", "2027-10-31T02:59:59.5+01:00"] {
        check("30 2 * * *", zone, after, &["11-01 02:30+01:00"]);
        check("30 2,3 * * *", zone, after, &["10-31 03:30+01:00"]);
    }
    check("30 2 * * *", zone, "2027-10-31T02:29:59+02:00", &["10-31 02:30+02:00"]);
}

#[test]
fn berlin_runs_intervals_in_both_repeated_hours() {
    let after = "2027-10-31T01:40:00+02:00";
    let zone = "Europe/Berlin";
    check("@hourly", zone, after, &["10-31 02:00+02:00", "10-31 02:00+01:00", "10-31 03:00+01:00"]);
    let quarters = ["02:30+02:00", "02:00+01:00", "02:30+01:00", "03:00+01:00"].map(|hour| format!("10-31 {hour}"));
    let quarters: Vec<&str> = quarters.iter().map(String::as_str).collect();
    check("*/30 * * * *", zone, "2027-10-31T02:10:00+02:00", &quarters);
    check("*/30 1-3 * * *", zone, "2027-10-31T02:10:00+02:00", &quarters);
    check("@every 30m", zone, "2027-10-31T02:10:00+02:00", &quarters);
    check("10,40 * * * *", zone, "2027-10-31T02:20:00+02:00", &["10-31 02:40+02:00", "10-31 02:10+01:00"]);
}

/// 2027-03-14 02:00 becomes 03:00; 2027-11-07 02:00 becomes 01:00.
#[test]
fn new_york_follows_the_same_rules() {
    let zone = "America/New_York";
    check("30 2 * * *", zone, "2027-03-13T12:00:00-05:00", &["03-14 03:00-04:00", "03-15 02:30-04:00"]);
    check("@hourly", zone, "2027-03-14T00:30:00-05:00", &["03-14 01:00-05:00", "03-14 03:00-04:00"]);
    check("30 1 * * *", zone, "2027-11-06T12:00:00-04:00", &["11-07 01:30-04:00", "11-08 01:30-05:00"]);
    check(
        "@hourly",
        zone,
        "2027-11-07T00:30:00-04:00",
        &["11-07 01:00-04:00", "11-07 01:00-05:00", "11-07 02:00-05:00"],
    );
    check("0 2 * * *", zone, "2027-11-06T12:00:00-04:00", &["11-07 02:00-05:00", "11-08 02:00-05:00"]);
}

/// 2027-10-03 02:00 becomes 02:30; 2027-04-04 02:00 becomes 01:30.
#[test]
fn lord_howe_changes_its_clock_by_half_an_hour() {
    let zone = "Australia/Lord_Howe";
    let spring = "2027-10-02T12:00:00+10:30";
    check("15 2 * * *", zone, spring, &["10-03 02:30+11:00", "10-04 02:15+11:00"]);
    check("30 2 * * *", zone, spring, &["10-03 02:30+11:00", "10-04 02:30+11:00"]);
    check("15,45 2 * * *", zone, spring, &["10-03 02:30+11:00", "10-03 02:45+11:00", "10-04 02:15+11:00"]);
    check("*/15 * * * *", zone, "2027-10-03T01:40:00+10:30", &["10-03 01:45+10:30", "10-03 02:30+11:00"]);
    check("@hourly", zone, "2027-10-03T00:30:00+10:30", &["10-03 01:00+10:30", "10-03 03:00+11:00"]);
    let autumn = "2027-04-03T12:00:00+11:00";
    check("45 1 * * *", zone, autumn, &["04-04 01:45+11:00", "04-05 01:45+10:30"]);
    check("15,45 1 * * *", zone, autumn, &["04-04 01:15+11:00", "04-04 01:45+11:00", "04-05 01:15+10:30"]);
    check("0 2 * * *", zone, autumn, &["04-04 02:00+10:30", "04-05 02:00+10:30"]);
    check("*/15 * * * *", zone, "2027-04-04T01:40:00+11:00", &["04-04 01:45+11:00", "04-04 01:30+10:30"]);
    check("45 * * * *", zone, "2027-04-04T01:40:00+11:00", &["04-04 01:45+11:00", "04-04 01:45+10:30"]);
}

#[test]
fn zones_without_changes_fire_alike_every_day() {
    for (zone, offset) in [("Asia/Kolkata", "+05:30"), ("", "+00:00"), ("Etc/GMT+5", "-05:00")] {
        for day in ["03-28", "10-31"] {
            let after = format!("2027-{day}T00:00:00{offset}");
            check("30 2 * * *", zone, &after, &[&format!("{day} 02:30{offset}")]);
            check("30 2,3 * * *", zone, &after, &[&format!("{day} 02:30{offset}"), &format!("{day} 03:30{offset}")]);
        }
    }
}

/// Troll skips two hours, a day in Cairo starts at one o'clock, a gap in Greenland ends on the next
/// day, and Samoa skipped all of 2011-12-30.
#[test]
fn handles_long_gaps_and_gaps_across_midnight() {
    check("30 1 * * *", "Antarctica/Troll", "2027-03-27T12:00:00Z", &["03-28 03:00+02:00", "03-29 01:30+02:00"]);
    check("@daily", "Africa/Cairo", "2027-04-29T12:00:00+02:00", &["04-30 01:00+03:00", "05-01 00:00+03:00"]);
    check("30 23 * * SAT", "America/Nuuk", "2027-03-27T12:00:00-02:00", &["03-28 00:00-01:00", "04-03 23:30-01:00"]);
    check("0 9 * * *", "Pacific/Apia", "2011-12-29T12:00:00-10:00", &["12-31 00:00+14:00", "12-31 09:00+14:00"]);
}

#[test]
fn the_end_of_a_gap_is_found_from_just_before_it() {
    let zone = "Europe/Berlin";
    check("30 2 * * *", zone, "2027-03-28T01:59:59+01:00", &["03-28 03:00+02:00"]);
    check("30 2 * * *", zone, "2027-03-28T01:59:59.999+01:00", &["03-28 03:00+02:00"]);
    check("30 2 * * *", zone, "2027-03-28T03:00:00+02:00", &["03-29 02:30+02:00"]);
}
