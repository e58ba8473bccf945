//! What is to be run now, and what of the past is made up.

use jiff::{SignedDuration, Timestamp};

use super::{Rhythm, Schedule, floor_second};

/// A firing that is not older than this is run as if on time: a restart or a busy database is not downtime.
pub const ON_TIME: SignedDuration = SignedDuration::from_secs(60);

/// Missed firings are counted up to this many. A timer of every second makes 86,400 a day, and nobody needs to know.
pub const MISSED_COUNTED: u32 = 1000;

/// What to do with firings for which no server was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterDowntime {
    /// Timers: the newest of them is run, once.
    RunNewest,
    /// Jobs with a count: none is run, and none is taken from the count.
    Skip,
}

/// The firings of a stretch of time in which nothing ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missed {
    /// At most [`MISSED_COUNTED`], which then means "that many or more".
    pub count: u32,
    /// The newest, which stands for all of them.
    pub run: Option<Timestamp>,
}

/// What to run now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// Oldest first; at most 60, for a schedule of every second. Each is a firing's own time, not the time of running it.
    pub run: Vec<Timestamp>,
    /// Firings that are lost; at most [`MISSED_COUNTED`], which then means "that many or more".
    pub skipped: u32,
}

impl Schedule {
    /// What is to be run at `now`, if everything up to and including `last` is settled. A new timer is settled up to the
    /// moment when it came live, so that it makes nothing up from before its time.
    ///
    /// Firings of the last minute are each run ([`ON_TIME`]). Older ones were missed, since no server ran. If nothing of
    /// the last minute is due, the newest missed one of a timer is run once, however old it is. It is never older than
    /// one interval, and systemd (`Persistent=`), Kubernetes without a deadline, Quartz and anacron do the same: a nightly
    /// report is wanted in the morning too, but not once for each night of a holiday.
    ///
    /// A job with a count makes nothing up and keeps its count: what was promised is so many runs, at those times. Only a
    /// job's explicit first execution time, which is not part of the schedule, is made up by who keeps the job.
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

    /// The firings later than `last` and not later than `now`, none of which happened.
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

    /// The newest firing that is not later than `until`, where `tick` is one. Halves the time between, so that a second's
    /// rhythm over a year takes thirty steps.
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
