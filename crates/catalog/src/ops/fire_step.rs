//! Computes which ticks of a due job run, and the job's state afterwards.

use jiff::SignedDuration;
use milepost_model::Timestamp;
use milepost_model::job::{Job, JobState};
use milepost_model::schedule::{AfterDowntime, Schedule};

use crate::tables::jobs::Advanced;

/// The moment before a firing time. Everything before the next firing time is settled.
pub(super) fn just_before(at: Timestamp) -> Timestamp {
    at.checked_sub(SignedDuration::from_millis(1)).unwrap_or(Timestamp::MIN)
}

/// What a due job does.
#[derive(Debug, PartialEq)]
pub(super) struct Step {
    pub ticks: Vec<Timestamp>,
    pub skipped: u32,
    /// The next time of its pattern, even if it has no executions left.
    next_at: Option<Timestamp>,
    /// How many executions it had left.
    count: Option<i64>,
    /// Set if its schedule cannot be parsed.
    pub broken: Option<String>,
}

impl Step {
    /// Returns the job's state if `written` of the ticks made an execution. The other ticks already
    /// had one, which was counted then.
    pub fn advance(self, id: String, fired: i64, written: i64) -> Advanced {
        let remaining = self.count.map(|count| count - written);
        let next_at = self.next_at.filter(|_| remaining != Some(0) && self.broken.is_none());
        let state = match (&self.broken, next_at) {
            (Some(_), _) => JobState::Paused,
            (None, Some(_)) => JobState::Running,
            (None, None) => JobState::Done,
        };
        Advanced { id, next_at, remaining, state, fired: fired + written }
    }
}

pub(super) fn step(job: &Job, now: Timestamp) -> Step {
    let due_at = job.next_at.unwrap_or(now);
    let schedule = match &job.cron {
        Some(cron) => match Schedule::parse(cron, &job.zone) {
            Ok(schedule) => Some(schedule),
            Err(error) => {
                return Step {
                    ticks: vec![due_at],
                    skipped: 0,
                    next_at: None,
                    count: job.count,
                    broken: Some(format!("The job is paused: {error}.")),
                };
            }
        },
        None => None,
    };
    // The explicit first time is always caught up on. Times of the pattern that passed since are
    // not.
    let first = job.fired == 0 && job.first_at == Some(due_at);
    let rule = if first || job.count.is_some() { AfterDowntime::Skip } else { AfterDowntime::RunNewest };
    let mut ticks = if first { vec![due_at] } else { Vec::new() };
    let mut skipped = 0;
    if let Some(schedule) = &schedule {
        let due = schedule.due(if first { due_at } else { just_before(due_at) }, now, rule);
        ticks.extend(due.run);
        skipped = due.skipped;
    }
    if let Some(count) = job.count {
        ticks.truncate(usize::try_from(count).unwrap_or(usize::MAX));
    }
    let next_at = schedule.and_then(|schedule| schedule.next_after(now));
    Step { ticks, skipped, next_at, count: job.count, broken: None }
}

#[cfg(test)]
#[path = "fire_tests.rs"]
mod tests;
