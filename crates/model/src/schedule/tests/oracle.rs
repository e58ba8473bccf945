//! A slow search that checks every minute, and random schedules with a known meaning.

use std::collections::BTreeSet;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

const MINUTE: SignedDuration = SignedDuration::from_mins(1);

/// A field as text and as the set of its values.
#[derive(Debug, Clone)]
pub(super) struct Field {
    pub text: String,
    pub values: BTreeSet<i8>,
    pub is_star: bool,
    pub has_step: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Meaning {
    pub minutes: Field,
    pub hours: Field,
    pub days: Field,
    pub months: Field,
    pub weekdays: Field,
}

fn field(first: i8, last: i8) -> impl Strategy<Value = Field> {
    let plain = move |text: String, values: BTreeSet<i8>| Field { text, values, is_star: false, has_step: false };
    prop_oneof![
        3 => Just(Field { text: "*".into(), values: (first..=last).collect(), is_star: true, has_step: false }),
        2 => (first..=last).prop_map(move |value| plain(value.to_string(), [value].into())),
        2 => proptest::collection::btree_set(first..=last, 1..4).prop_map(move |values| {
            let text = values.iter().map(i8::to_string).collect::<Vec<_>>().join(",");
            plain(text, values)
        }),
        1 => (first..=last, first..=last).prop_map(move |(a, b)| {
            let (low, high) = (a.min(b), a.max(b));
            plain(format!("{low}-{high}"), (low..=high).collect())
        }),
        2 => (2..=30_i8).prop_map(move |step| Field {
            text: format!("*/{step}"),
            values: (first..=last).step_by(step.unsigned_abs().into()).collect(),
            is_star: false,
            has_step: true,
        }),
        1 => (first..=last, 2..=30_i8).prop_map(move |(start, step)| Field {
            text: format!("{start}/{step}"),
            values: (start..=last).step_by(step.unsigned_abs().into()).collect(),
            is_star: false,
            has_step: true,
        }),
    ]
}

pub(super) fn meaning() -> impl Strategy<Value = Meaning> {
    // Few hours, so that many schedules have times near clock changes.
    let hours =
        prop_oneof![field(0, 23), field(0, 3).prop_filter("would not mean the same", |f| !f.is_star && !f.has_step)];
    let days = prop_oneof![3 => field(1, 31).prop_filter("any", |f| f.is_star), 1 => field(1, 31)];
    let months = prop_oneof![3 => field(1, 12).prop_filter("any", |f| f.is_star), 1 => field(1, 12)];
    let weekdays = prop_oneof![
        3 => field(0, 6).prop_filter("any", |f| f.is_star),
        1 => field(0, 6).prop_filter("seven is Sunday again", |f| !f.has_step),
    ];
    (field(0, 59), hours, days, months, weekdays).prop_map(|(minutes, hours, days, months, weekdays)| Meaning {
        minutes,
        hours,
        days,
        months,
        weekdays,
    })
}

impl Meaning {
    pub fn text(&self) -> String {
        [&self.minutes, &self.hours, &self.days, &self.months, &self.weekdays].map(|field| field.text.clone()).join(" ")
    }

    fn has(&self, shown: DateTime) -> bool {
        let day = self.days.values.contains(&shown.day());
        let weekday = self.weekdays.values.contains(&shown.weekday().to_sunday_zero_offset());
        let date = if self.days.is_star || self.weekdays.is_star { day && weekday } else { day || weekday };
        self.minutes.values.contains(&shown.minute())
            && self.hours.values.contains(&shown.hour())
            && self.months.values.contains(&shown.month())
            && date
    }

    fn names_hours(&self) -> bool {
        self.hours.values.len() < 24
    }

    fn is_interval(&self) -> bool {
        !self.names_hours() || self.minutes.is_star || self.minutes.has_step
    }

    /// The rule of the module, minute by minute, based only on what the zone's clock shows.
    pub fn ticks(&self, zone: &TimeZone, after: Timestamp, until: Timestamp) -> Vec<Timestamp> {
        let shows = |at: Timestamp| zone.to_datetime(at);
        let mut found = Vec::new();
        let mut at = Timestamp::from_second(after.as_second().div_euclid(60) * 60).expect("a time") + MINUTE;
        while at <= until {
            let shown = shows(at);
            let shown_before = [30, 60, 120].iter().any(|back| shows(at - MINUTE * *back) == shown);
            let mut skipped = shows(at - MINUTE) + MINUTE;
            let mut swallowed = false;
            while skipped < shown {
                swallowed |= self.has(skipped);
                skipped += MINUTE;
            }
            if (self.has(shown) && (self.is_interval() || !shown_before)) || (swallowed && self.names_hours()) {
                found.push(at);
            }
            at += MINUTE;
        }
        found
    }
}
