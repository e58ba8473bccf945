//! When windows are open. The rule follows the wall clock: windows are open while the clock shows a
//! time inside an allow window and outside every deny window. A skipped hour is never open, a
//! repeated hour is open twice.

use jiff::civil::{Date, DateTime};
use jiff::{SignedDuration, Zoned};

use crate::Timestamp;

use super::windows::{Window, Windows};

impl Window {
    /// Whether the window contains this wall-clock time.
    pub fn contains(&self, shown: DateTime) -> bool {
        match *self {
            Self::Dates { first, last } => first <= shown.date() && shown.date() <= last,
            Self::Weekly { days, from, to } => {
                let minute = minute_of(shown);
                let today = days.has(shown.date().weekday());
                if from < to {
                    return today && from <= minute && minute < to;
                }
                let evening = today && from <= minute;
                let morning = days.has(shown.date().weekday().previous()) && minute < to;
                evening || morning
            }
        }
    }

    /// The minutes of a day at which the window can open or close.
    fn edges(&self) -> [u16; 2] {
        match *self {
            Self::Dates { .. } => [0, 0],
            Self::Weekly { from, to, .. } => [from, to % (24 * 60)],
        }
    }
}

fn minute_of(shown: DateTime) -> u16 {
    u16::from(shown.hour().unsigned_abs()) * 60 + u16::from(shown.minute().unsigned_abs())
}

impl Windows {
    /// Whether an upgrade may start. Without allow windows, everything that is not denied is open.
    pub fn is_open(&self, at: Timestamp) -> bool {
        self.shows_open(self.zone.to_datetime(at))
    }

    /// Whether a deny window is in effect.
    pub fn is_denied(&self, at: Timestamp) -> bool {
        self.shows_denied(self.zone.to_datetime(at))
    }

    /// The first open moment in `after..until`.
    pub fn next_open(&self, after: Timestamp, until: Timestamp) -> Option<Zoned> {
        self.first_moment(after, until, |shown| self.shows_open(shown))
    }

    /// The first moment in `after..until` that is not denied.
    pub fn next_undenied(&self, after: Timestamp, until: Timestamp) -> Option<Zoned> {
        self.first_moment(after, until, |shown| !self.shows_denied(shown))
    }

    fn shows_open(&self, shown: DateTime) -> bool {
        let allowed = self.allow.is_empty() || self.allow.iter().any(|window| window.contains(shown));
        allowed && !self.shows_denied(shown)
    }

    fn shows_denied(&self, shown: DateTime) -> bool {
        self.deny.iter().any(|window| window.contains(shown))
    }

    /// The result changes only at an edge of a window, at midnight, or when the clock jumps. These
    /// moments are tried in order, a week at a time, because most windows open within a week.
    fn first_moment(&self, after: Timestamp, until: Timestamp, open: impl Fn(DateTime) -> bool) -> Option<Zoned> {
        let mut start = after;
        while start < until {
            let end = start.saturating_add(WEEK).unwrap_or(until).min(until);
            let found = self.edges(start, end).into_iter().find(|at| open(self.zone.to_datetime(*at)));
            if let Some(at) = found {
                return Some(at.to_zoned(self.zone.clone()));
            }
            start = end;
        }
        None
    }

    /// `start`, and every moment between it and `end` at which the result can change, in order.
    fn edges(&self, start: Timestamp, end: Timestamp) -> Vec<Timestamp> {
        let mut minutes: Vec<u16> = self.allow.iter().chain(&self.deny).flat_map(Window::edges).collect();
        minutes.push(0);
        minutes.sort_unstable();
        minutes.dedup();
        let mut moments = vec![start];
        moments.extend(self.zone.following(start).map(|jump| jump.timestamp()).take_while(|at| *at < end));
        // One day more on both sides, since a clock jump may move a time of day across midnight.
        let first = self.zone.to_datetime(start).date().yesterday().ok();
        let last = self.zone.to_datetime(end).date().tomorrow().unwrap_or(Date::MAX);
        let days = std::iter::successors(first, |day| day.tomorrow().ok()).take_while(|day| *day <= last);
        for day in days {
            for minute in &minutes {
                let shown = day.at((minute / 60) as i8, (minute % 60) as i8, 0, 0);
                let moment = self.zone.to_ambiguous_timestamp(shown);
                moments.extend(moment.earlier().ok());
                if moment.is_ambiguous() {
                    moments.extend(moment.later().ok());
                }
            }
        }
        moments.retain(|at| start <= *at && *at < end);
        moments.sort_unstable();
        moments.dedup();
        moments
    }
}

const WEEK: SignedDuration = SignedDuration::from_hours(7 * 24);
