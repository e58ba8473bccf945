//! When timers and jobs fire. A schedule is parsed once from a text and a time zone; everything
//! else is arithmetic on times passed in by the caller.
//!
//! A firing is identified by its time. The time follows from the text, the zone and the zone rules
//! built into the program, never from the start of a server. Two servers, or one after a restart,
//! therefore compute the same firings, and a unique key of timer and time is enough to fire each of
//! them once. [`Schedule::next_after`] takes microseconds; a caller with many schedules stores the
//! next time and asks again when it is due.
//!
//! # Syntax
//! Five fields, or six with seconds first, in any case; names of months and weekdays, lists,
//! ranges, steps (`*/5`, `10/5`, `8-18/2`), `?`, `L`, `15W`, `LW`, `FRI#2`, `5L`; `@hourly`,
//! `@daily`, `@midnight`, `@weekly`, `@monthly`, `@yearly`, `@annually`; `@every 5m`. If both a day
//! of the month and a weekday are given, either must match, as in every cron; with `+MON` both must
//! match. Schedules that never fire (`0 0 31 2 *`) are rejected.
//!
//! `@every` fires at the multiples of its interval since 1970-01-01T00:00:00Z, whatever the zone:
//! `@every 5m` at :00, :05 and so on, `@every 24h` at midnight UTC.
//!
//! # Clock changes
//! A schedule fires when the clock of its zone shows a matching time. Two days a year need a rule:
//! - **A skipped time**: a schedule that names its hours (`30 2 * * *`, `0 */2 * * *`,
//!   `*/15 2 * * *`) fires once at the first moment after the gap, for all of its times in the gap
//!   together, and not twice if it fires at that moment anyway. A schedule for every hour
//!   (`0 * * * *`, `*/15 * * * *`) continues with the clock.
//! - **A repeated time**: a schedule fires only the first time, unless it is for every hour, or its
//!   minutes are `*` or have a step. Those mean intervals, and fire both times.
//!
//! As a result, named times come once a day on every day, and intervals are kept in real time.
//! (Where the clock changes by half an hour, on Lord Howe Island, an hourly schedule has one
//! interval of half an hour or of one and a half hours.)
//!
//! This is Debian's cron with two changes: a step over hours counts as naming them, so
//! `0 */2 * * *` fires twelve times each day, and a named hour that is skipped is caught up
//! whatever its minutes. The `croner` crate does the parsing and knows the calendar, but its search
//! does not follow these rules: it treats all lists as intervals (`0 2,14 * * *` is lost in a gap
//! and doubled in a repeated hour), loses gaps that end on another day, and fails on gaps of over
//! two hours. The search is therefore in `walk.rs`.
//!
//! # After downtime
//! See [`Schedule::due`].

mod due;
mod fields;
mod parse;
#[cfg(test)]
mod tests;
mod walk;

pub use due::{AfterDowntime, Due, MISSED_COUNTED, Missed, ON_TIME};

use fields::Fields;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// A parsed schedule; see the module documentation for its semantics.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    rhythm: Rhythm,
    zone: TimeZone,
}

#[derive(Debug, Clone, PartialEq)]
enum Rhythm {
    /// The interval in seconds, at least one.
    Every(i64),
    Calendar(Box<Fields>),
}

impl Schedule {
    /// The first firing at or after `at`.
    pub fn next_from(&self, at: Timestamp) -> Option<Timestamp> {
        self.next_after(at.checked_sub(SignedDuration::from_millis(1)).unwrap_or(Timestamp::MIN))
    }

    /// The first firing strictly after `at`. `None` only at the end of the calendar, in the year
    /// 9999.
    pub fn next_after(&self, at: Timestamp) -> Option<Timestamp> {
        match &self.rhythm {
            Rhythm::Every(seconds) => {
                let turns = floor_second(at).div_euclid(*seconds) + 1;
                Timestamp::from_second(turns.checked_mul(*seconds)?).ok()
            }
            Rhythm::Calendar(fields) => walk::next_after(fields, &self.zone, at),
        }
    }

    /// All firings after `after`, without an upper bound.
    pub fn ticks(&self, after: Timestamp) -> impl Iterator<Item = Timestamp> {
        std::iter::successors(self.next_after(after), |tick| self.next_after(*tick))
    }

    /// The first `limit` firings after `after` and not after `until`.
    pub fn ticks_between(&self, after: Timestamp, until: Timestamp, limit: usize) -> Vec<Timestamp> {
        self.ticks(after).take_while(|tick| *tick <= until).take(limit).collect()
    }
}

/// Whole seconds since the epoch, rounded down for times before it too.
fn floor_second(at: Timestamp) -> i64 {
    at.as_second() - i64::from(at.subsec_nanosecond() < 0)
}
