//! What runs after a moment, a minute, a night and a holiday without a server.

use jiff::{SignedDuration, Timestamp};

use super::{schedule, time};
use crate::schedule::{AfterDowntime, Due, MISSED_COUNTED, Missed};

#[track_caller]
fn check(text: &str, last: &str, now: &str, rule: AfterDowntime, run: &[&str], skipped: u32) {
    let run: Vec<Timestamp> = run.iter().map(|text| time(text)).collect();
    assert_eq!(schedule(text, "Europe/Berlin").due(time(last), time(now), rule), Due { run, skipped });
}

use AfterDowntime::{RunNewest, Skip};

#[test]
fn a_firing_runs_at_its_time_and_not_before() {
    for rule in [RunNewest, Skip] {
        let yesterday = "2027-05-01T03:00:00+02:00";
        check("0 3 * * *", yesterday, "2027-05-02T02:59:59.999+02:00", rule, &[], 0);
        check("0 3 * * *", yesterday, "2027-05-02T03:00:00+02:00", rule, &["2027-05-02T03:00:00+02:00"], 0);
        check("0 3 * * *", yesterday, "2027-05-02T03:00:59+02:00", rule, &["2027-05-02T03:00:00+02:00"], 0);
        check("0 3 * * *", "2027-05-02T03:00:00+02:00", "2027-05-02T03:00:59+02:00", rule, &[], 0);
    }
}

#[test]
fn a_short_restart_loses_no_firing() {
    for rule in [RunNewest, Skip] {
        let run = ["2027-05-01T00:00:01Z", "2027-05-01T00:00:02Z", "2027-05-01T00:00:03Z"];
        check("* * * * * *", "2027-05-01T00:00:00Z", "2027-05-01T00:00:03.2Z", rule, &run, 0);
        check("@every 1s", "2027-05-01T00:00:00Z", "2027-05-01T00:00:03.2Z", rule, &run, 0);
    }
}

#[test]
fn after_a_night_a_timer_runs_once_and_a_job_skips() {
    let (last, now) = ("2027-05-01T03:00:00+02:00", "2027-05-02T08:12:00+02:00");
    check("0 3 * * *", last, now, RunNewest, &["2027-05-02T03:00:00+02:00"], 0);
    check("0 3 * * *", last, now, Skip, &[], 1);
}

#[test]
fn after_a_holiday_only_the_newest_firing_runs() {
    let (last, now) = ("2027-05-01T03:00:00+02:00", "2027-05-22T08:12:00+02:00");
    check("0 3 * * *", last, now, RunNewest, &["2027-05-22T03:00:00+02:00"], 20);
    check("0 3 * * *", last, now, Skip, &[], 21);
}

#[test]
fn a_firing_on_time_replaces_missed_ones() {
    let (last, now) = ("2027-05-01T00:00:00Z", "2027-05-01T01:00:20Z");
    for rule in [RunNewest, Skip] {
        check("*/10 * * * *", last, now, rule, &["2027-05-01T01:00:00Z"], 5);
    }
}

#[test]
fn finds_the_newest_missed_firing_without_counting_all() {
    for text in ["* * * * * *", "@every 1s"] {
        let missed =
            schedule(text, "Europe/Berlin").missed(time("2020-01-01T00:00:00Z"), time("2027-01-01T00:00:00.7Z"));
        assert_eq!(missed, Missed { count: MISSED_COUNTED, run: Some(time("2027-01-01T00:00:00Z")) });
    }
}

#[test]
fn nothing_is_due_when_the_clock_went_back() {
    check("* * * * *", "2027-05-01T01:00:00Z", "2027-05-01T00:00:00Z", RunNewest, &[], 0);
}

proptest::proptest! {
    #[test]
    fn missed_agrees_with_the_list_of_firings(at in 0..4_000_000_000_i64, length in 0..5_000_000_i64, which in 0..5_usize) {
        let text = ["0 3 * * *", "*/7 1-3 * * *", "@every 7h", "0 0 L * *", "15 30 2 * * SUN"][which];
        let schedule = schedule(text, "Europe/Berlin");
        let last = Timestamp::from_second(at).expect("a time");
        let now = last + SignedDuration::from_secs(length);
        let all = schedule.ticks_between(last, now, usize::MAX);
        let missed = schedule.missed(last, now);
        proptest::prop_assert_eq!(missed.run, all.last().copied());
        proptest::prop_assert_eq!(missed.count as usize, all.len().min(MISSED_COUNTED as usize));
    }
}
