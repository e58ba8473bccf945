//! Properties of all schedules at all times.

use jiff::tz::TimeZoneDatabase;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::oracle::meaning;
use super::schedule;
use crate::schedule::Schedule;

const ZONES: [&str; 10] = [
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Asia/Kolkata",
    "UTC",
    "Antarctica/Troll",
    "Africa/Cairo",
    "America/Nuuk",
    "America/Sao_Paulo",
    "Asia/Kathmandu",
];

fn any_time() -> impl Strategy<Value = Timestamp> {
    prop_oneof![
        8 => -1_000_000_000_000_i64..30_000_000_000_000_i64,
        1 => Timestamp::MIN.as_millisecond()..=Timestamp::MAX.as_millisecond(),
        1 => Just(Timestamp::MAX.as_millisecond()),
        1 => Just(Timestamp::MIN.as_millisecond()),
    ]
    .prop_map(crate::clock::from_millis)
}

/// A time from 1990 to 2050, between two days before and two hours after a clock change.
fn time_near_a_change(zone: &str, second: i64, back: i64) -> Timestamp {
    let at = Timestamp::from_second(second).expect("a time");
    let zone = TimeZoneDatabase::bundled().get(zone).expect("a zone");
    let change = zone.following(at).next().map_or(at, |change| change.timestamp());
    change - SignedDuration::from_secs(back)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn slow_firings_match_the_oracle(
        meaning in meaning(),
        zone in proptest::sample::select(&ZONES),
        second in 631_152_000..2_524_608_000_i64,
        back in prop_oneof![-7_200..14_400_i64, 1..172_800_i64],
    ) {
        let text = meaning.text();
        let Ok(schedule) = Schedule::parse(&text, zone) else { return Err(TestCaseError::reject("never comes")) };
        let after = time_near_a_change(zone, second, back);
        let until = after + SignedDuration::from_hours(60);
        let found = schedule.ticks_between(after, until, usize::MAX);
        prop_assert_eq!(found, meaning.ticks(&schedule.zone, after, until), "`{}` in {} after {}", text, zone, after);
    }

    #[test]
    fn the_next_firing_is_later_and_independent_of_the_start(
        meaning in meaning(),
        zone in proptest::sample::select(&ZONES),
        at in any_time(),
        between in 0.0..1.0_f64,
    ) {
        let text = meaning.text();
        let Ok(schedule) = Schedule::parse(&text, zone) else { return Err(TestCaseError::reject("never comes")) };
        if let Some(next) = schedule.next_after(at) {
            prop_assert!(next > at);
            prop_assert_eq!(next.subsec_nanosecond(), 0);
            let middle = at + next.duration_since(at).mul_f64(between);
            prop_assert_eq!(schedule.next_after(middle.min(next - SignedDuration::from_nanos(1))), Some(next));
        }
    }

    #[test]
    fn listing_firings_equals_repeated_next_after(
        meaning in meaning(),
        zone in proptest::sample::select(&ZONES),
        at in any_time(),
        limit in 0..40_usize,
        hours in 0..2000_i64,
    ) {
        let text = meaning.text();
        let Ok(schedule) = Schedule::parse(&text, zone) else { return Err(TestCaseError::reject("never comes")) };
        let until = at.checked_add(SignedDuration::from_hours(hours)).unwrap_or(Timestamp::MAX);
        let mut expected = Vec::new();
        let mut last = at;
        while let Some(next) = schedule.next_after(last)
            && next <= until
            && expected.len() < limit
        {
            expected.push(next);
            last = next;
        }
        prop_assert_eq!(schedule.ticks_between(at, until, limit), expected);
    }

    #[test]
    fn every_fires_at_multiples_of_its_interval(seconds in 1..31_000_000_i64, at in any_time()) {
        let schedule = schedule(&format!("@every {seconds}s"), "Europe/Berlin");
        if let Some(next) = schedule.next_after(at) {
            prop_assert_eq!(next.as_second() % seconds, 0);
            prop_assert!(next > at && next.duration_since(at) <= SignedDuration::from_secs(seconds));
        }
    }

    #[test]
    fn arbitrary_text_and_times_never_panic(
        text in prop_oneof![
            ".{0,40}",
            "@?[a-z]{0,8} ?.{0,10}",
            "@every [0-9hms. -]{0,12}",
            "[0-9*/,?LW#+A-Z-]{1,6}( [0-9*/,?LW#+A-Z-]{1,6}){4,5}",
            "[0-9*]{1,2}( [0-9*/,-]{1,4}){2} ([0-9]{1,2}W?|L|LW|\\?) [0-9*]{1,2} [+]?[0-7](L|#[0-9])?",
        ],
        zone in prop_oneof![".{0,20}".boxed(), proptest::sample::select(&ZONES).prop_map(str::to_owned).boxed()],
        at in any_time(),
    ) {
        for zone in [zone.as_str(), "Europe/Berlin"] {
            match Schedule::parse(&text, zone) {
                Ok(schedule) => {
                    schedule.next_after(at);
                    schedule.missed(at, Timestamp::MAX);
                }
                Err(error) => prop_assert!(!error.problem.is_empty()),
            }
        }
    }
}
