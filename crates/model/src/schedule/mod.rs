//! When timers and jobs fire: a schedule is text and a time zone, parsed once; everything else is arithmetic on times
//! that the caller passes in.
//!
//! A firing is named by its time. That time follows from the text, the zone and the zone rules that are built into the
//! program, never from when a server started, so that two servers and a restarted one name the same firings, and a
//! unique key of timer and time is enough to fire each once. [`Schedule::next_after`] takes microseconds; whoever has
//! many schedules stores the next time and asks again when it is due.
//!
//! # What can be written
//! Five fields, six with seconds in front, in any case; names of months and days, lists, ranges, steps (`*/5`, `10/5`,
//! `8-18/2`), `?`, `L`, `15W`, `LW`, `FRI#2`, `5L`; `@hourly`, `@daily`, `@midnight`, `@weekly`, `@monthly`, `@yearly`,
//! `@annually`; `@every 5m`. A day of the month and a weekday that are both given mean either, as in every cron; `+MON`
//! means both. What never comes (`0 0 31 2 *`) is refused.
//!
//! `@every` fires at the multiples of its length since 1970-01-01T00:00:00Z, whatever the zone: `@every 5m` at :00, :05
//! and so on, `@every 24h` at midnight UTC.
//!
//! # When the clocks change
//! A schedule fires when the clock of its zone shows a time that it names. Two days a year need a rule:
//! - **A time that is left out**: a schedule that names its hours (`30 2 * * *`, `0 */2 * * *`, `*/15 2 * * *`) fires once
//!   at the first moment after the gap, for all of its times in the gap together, and not twice if it fires at that
//!   moment anyway. One for every hour (`0 * * * *`, `*/15 * * * *`) just goes on with the clock.
//! - **A time that is shown twice**: a schedule fires at the first only, unless it is one for every hour, or its minutes
//!   are `*` or have a step: those mean intervals, and fire in both.
//!
//! Together: named times come once a day on every day, and intervals are kept in real time. (Where the clock moves by
//! half an hour, on Lord Howe Island, an hourly schedule has one interval of half an hour or of one and a half.)
//!
//! This is Debian's cron with two amendments: a step over hours counts as naming them, so `0 */2 * * *` fires twelve
//! times each day, and a named hour that vanishes is made up whatever its minutes. The `croner` crate parses for us and
//! knows the calendar, but its search does not keep these rules: it takes all lists for intervals (`0 2,14 * * *` is lost
//! in a gap and doubled in a repeated hour), loses gaps that end on another day, and fails on gaps of over two hours. So
//! the search is in `walk.rs`.
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

/// A parsed schedule. See the module for what it means.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    rhythm: Rhythm,
    zone: TimeZone,
}

#[derive(Debug, Clone, PartialEq)]
enum Rhythm {
    /// Seconds, at least one.
    Every(i64),
    Calendar(Box<Fields>),
}

impl Schedule {
    /// The first firing at `at` or later.
    pub fn next_from(&self, at: Timestamp) -> Option<Timestamp> {
        self.next_after(at.checked_sub(SignedDuration::from_millis(1)).unwrap_or(Timestamp::MIN))
    }

    /// The first firing strictly later than `at`. None only at the end of the calendar, in the year 9999.
    pub fn next_after(&self, at: Timestamp) -> Option<Timestamp> {
        match &self.rhythm {
            Rhythm::Every(seconds) => {
                let turns = floor_second(at).div_euclid(*seconds) + 1;
                Timestamp::from_second(turns.checked_mul(*seconds)?).ok()
            }
            Rhythm::Calendar(fields) => walk::next_after(fields, &self.zone, at),
        }
    }

    /// The firings later than `after`, without end.
    pub fn ticks(&self, after: Timestamp) -> impl Iterator<Item = Timestamp> {
        std::iter::successors(self.next_after(after), |tick| self.next_after(*tick))
    }

    /// The firings later than `after` and not later than `until`, the first `limit` of them.
    pub fn ticks_between(&self, after: Timestamp, until: Timestamp, limit: usize) -> Vec<Timestamp> {
        self.ticks(after).take_while(|tick| *tick <= until).take(limit).collect()
    }
}

/// Whole seconds since the epoch, rounded down also before it.
fn floor_second(at: Timestamp) -> i64 {
    at.as_second() - i64::from(at.subsec_nanosecond() < 0)
}
