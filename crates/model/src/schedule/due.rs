//! Which firings run now, and which missed firings are caught up.

use jiff::{SignedDuration, Timestamp};

use super::{Rhythm, Schedule, floor_second};

/// Firings up to this age run as if on time: a restart or a busy database is not downtime.
pub const ON_TIME: SignedDuration = SignedDuration::from_secs(60);

/// Missed firings are counted up to this number. A timer of every second fires 86,400 times a day,
/// and the exact count is of no use.
pub const MISSED_COUNTED: u32 = 1000;

/// What to do with firings that were missed because no server ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterDowntime {
    /// For timers: run the newest one, once.
    RunNewest,
    /// For jobs with a count: run none of them, and leave the count unchanged.
    Skip,
}

/// The firings in a period in which nothing ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missed {
    /// At most [`MISSED_COUNTED`], which means "that many or more".
    pub count: u32,
    /// The newest one, which stands for all of them.
    pub run: Option<Timestamp>,
}

/// What to run now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// Oldest first; at most 60, for a schedule of every second. Each is the scheduled time of a
    /// firing, not the time at which it runs.
    pub run: Vec<Timestamp>,
    /// Firings that are dropped; at most [`MISSED_COUNTED`], which means "that many or more".
    pub skipped: u32,
}

impl Schedule {
    /// Returns what to run at `now`, if everything up to and including `last` is settled. A new
    /// timer is settled up to the moment when it became live, so that nothing before that is caught
    /// up.
    ///
    /// Each firing of the last minute runs ([`ON_TIME`]). Older ones were missed because no server
    /// ran. If no firing of the last minute is due, the newest missed firing of a timer runs once,
    /// however old it is. It is never older than one interval. systemd (`Persistent=`), Kubernetes
    /// without a deadline, Quartz and anacron do the same: a nightly report is still wanted in the
    /// morning, but not once for each night of a holiday.
    ///
    /// A job with a count catches nothing up and keeps its count, since it promises a number of
    /// runs at scheduled times. Only a job's explicit first execution time, which is not part of
    /// the schedule, is caught up, by the caller.
    pub fn due(&self, last: Timestamp, now: Timestamp, rule: AfterDowntime) -> Due {
        let recent = now.checked_sub(ON_TIME).unwrap_or(Timestamp::MIN).max(last);
        let run = self.ticks_between(recent, now, usize::MAX);
        let missed = self.missed(last, recent);
        match missed.run {
            Some(newest) if run.is_empty() && rule == AfterDowntime::RunNewest => {
                Due { run: vec![newest], skipped: missed.count.saturating_sub(1) }
            }
            _ => Due { run, skipped: missed.count },
        }
    }

    /// The firings after `last` and not after `now`, all of which were missed.
    pub fn missed(&self, last: Timestamp, now: Timestamp) -> Missed {
        let Some(first) = self.next_after(last).filter(|first| *first <= now) else {
            return Missed { count: 0, run: None };
        };
        let newest = self.newest_between(first, now);
        let count = match &self.rhythm {
            Rhythm::Every(seconds) => (newest.as_second() - first.as_second()) / seconds + 1,
            Rhythm::Calendar(_) => {
                let more = self.ticks(first).take_while(|tick| *tick <= now).take(MISSED_COUNTED as usize).count();
                i64::try_from(more).unwrap_or(i64::MAX).saturating_add(1)
            }
        };
        Missed { count: u32::try_from(count).unwrap_or(u32::MAX).min(MISSED_COUNTED), run: Some(newest) }
    }

    /// The newest firing not after `until`, given a firing `tick`. Bisects the period, so that a
    /// schedule of every second over a year takes thirty steps.
    fn newest_between(&self, tick: Timestamp, until: Timestamp) -> Timestamp {
        let mut newest = tick;
        let mut end = floor_second(until);
        while newest.as_second() < end {
            let middle = newest.as_second() + (end - newest.as_second()) / 2;
            let later = Timestamp::from_second(middle).ok().and_then(|middle| self.next_after(middle));
            match later.filter(|later| *later <= until) {
                Some(later) => newest = later,
                None => end = middle,
            }
        }
        newest
    }
}
