//! The fields of a schedule as bit sets, and the search for the next match on a calendar without
//! clock changes.

use std::mem;

use croner::{Cron, CronComponent, CronPattern, Weekday};
use jiff::civil::{Date, DateTime, Time};

/// The weekdays of dates repeat after this many years, so a schedule without a match by then never
/// matches.
const CALENDAR_CYCLE_YEARS: i16 = 400;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fields {
    seconds: u64,
    minutes: u64,
    hours: u64,
    months: u64,
    /// Used only for days; its other fields are emptied.
    days: CronPattern,
    minutes_are_interval: bool,
}

impl Fields {
    pub(super) fn new(mut cron: Cron) -> Self {
        let pattern = &mut cron.pattern;
        // Not needed, and the years alone take five kilobytes.
        mem::take(&mut pattern.years);
        let minutes = mem::take(&mut pattern.minutes);
        Self {
            minutes_are_interval: minutes.from_wildcard || minutes.step != 1,
            seconds: bits(&mem::take(&mut pattern.seconds)),
            minutes: bits(&minutes),
            hours: bits(&mem::take(&mut pattern.hours)),
            months: bits(&mem::take(&mut pattern.months)),
            days: cron.pattern,
        }
    }

    /// The schedule does not fire in every hour, so firings in a gap are caught up.
    pub(super) fn names_hours(&self) -> bool {
        self.hours.count_ones() < 24
    }

    /// The schedule means times of the day rather than an interval: when a time is repeated, it
    /// fires only the first time.
    pub(super) fn once_a_day(&self) -> bool {
        self.names_hours() && !self.minutes_are_interval
    }

    pub(super) fn never_come(&self) -> bool {
        let start = Date::constant(2000, 1, 1);
        let end = Date::constant(2000 + CALENDAR_CYCLE_YEARS, 1, 1);
        [self.seconds, self.minutes, self.hours].contains(&0) || self.next_date(start, end).is_none()
    }

    /// The first matching time in `from..end`.
    pub(super) fn next(&self, from: DateTime, end: DateTime) -> Option<DateTime> {
        if from >= end {
            return None;
        }
        let today = self.has_day(from.date()).then(|| self.next_time(from.time())).flatten();
        let found = match today {
            Some(time) => from.date().to_datetime(time),
            None => {
                let date = self.next_date(from.date().tomorrow().ok()?, end.date())?;
                date.to_datetime(self.next_time(Time::midnight())?)
            }
        };
        (found < end).then_some(found)
    }

    /// The first matching date from `from` to `last`.
    fn next_date(&self, from: Date, last: Date) -> Option<Date> {
        let mut date = from;
        while date <= last {
            if !contains(self.months, date.month()) {
                date = date.last_of_month();
            } else if self.has_day(date) {
                return Some(date);
            }
            date = date.tomorrow().ok()?;
        }
        None
    }

    fn has_day(&self, date: Date) -> bool {
        let weekday = Weekday::from_days_from_sunday(u32::from(date.weekday().to_sunday_zero_offset().unsigned_abs()));
        let [month, day] = [date.month(), date.day()].map(|part| u32::from(part.unsigned_abs()));
        contains(self.months, date.month())
            && self.days.day_match(i32::from(date.year()), month, day, weekday).unwrap_or(false)
    }

    /// The first matching time of the day at or after `from`.
    fn next_time(&self, from: Time) -> Option<Time> {
        let [hour, minute] = [from.hour(), from.minute()];
        // A second that has begun is over.
        let second = from.second() + i8::from(from.subsec_nanosecond() > 0);
        if contains(self.hours, hour) {
            if contains(self.minutes, minute)
                && let Some(second) = first_from(self.seconds, second)
            {
                return Time::new(hour, minute, second, 0).ok();
            }
            if let Some(minute) = first_from(self.minutes, minute + 1) {
                return Time::new(hour, minute, first_from(self.seconds, 0)?, 0).ok();
            }
        }
        let hour = first_from(self.hours, hour + 1)?;
        Time::new(hour, first_from(self.minutes, 0)?, first_from(self.seconds, 0)?, 0).ok()
    }
}

fn bits(field: &CronComponent) -> u64 {
    field.values().into_iter().fold(0, |set, value| set | 1_u64.checked_shl(u32::from(value)).unwrap_or(0))
}

fn contains(set: u64, value: i8) -> bool {
    first_from(set, value) == Some(value)
}

fn first_from(set: u64, value: i8) -> Option<i8> {
    let rest = set & u64::MAX.checked_shl(u32::from(value.unsigned_abs()))?;
    (rest != 0).then(|| i8::try_from(rest.trailing_zeros()).ok()).flatten()
}
