//! Firing what is due: a tick, its execution and the next time are one fact.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::SignedDuration;
use milepost_model::execution::{Cause, CauseKind};
use milepost_model::job::{Job, JobState};
use milepost_model::schedule::{AfterDowntime, Schedule};
use milepost_model::{AliasName, IdSource, Selector, Timestamp};

use crate::db::Tx;
use crate::error::{CatalogError, Result};
use crate::tables::executions::{self, Birth, NewRow};
use crate::tables::jobs::{self, Advanced};
use crate::tables::versions::{self, VersionState};
use crate::tables::{aliases, timers, units};
use crate::{Catalog, resolve, uuids};

/// What firing did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fired {
    /// Jobs and timers whose time had come.
    pub rows: u64,
    /// Executions that are queued now, or that ended at once because there was no version to run.
    pub executions: u64,
    /// Ticks that passed while no server ran and are not made up.
    pub skipped: u64,
    /// Jobs and timers that are still due, because somebody deletes the version that they would run at this moment.
    pub postponed: u64,
}

impl std::ops::AddAssign for Fired {
    fn add_assign(&mut self, other: Self) {
        self.rows += other.rows;
        self.executions += other.executions;
        self.skipped += other.skipped;
        self.postponed += other.postponed;
    }
}

impl Catalog {
    /// When the next job or timer is due.
    pub async fn earliest_due(&self) -> Result<Option<Timestamp>> {
        self.db
            .read(|tx| {
                Box::pin(async move {
                    let (job, timer) = (jobs::earliest(tx).await?, timers::earliest(tx).await?);
                    Ok(job.into_iter().chain(timer).min())
                })
            })
            .await
    }

    /// Fires up to `most` jobs and `most` timers that are due. Any number of servers may do so at once: each takes others.
    /// As many rows as asked for means that there may be more.
    pub async fn fire_due(&self, most: i64) -> Result<Fired> {
        let now = self.clock.now();
        let ids = Arc::clone(&self.ids);
        let mut fired = self.db.write(move |tx| Box::pin(async move { fire_jobs(tx, &*ids, now, most).await })).await?;
        let ids = Arc::clone(&self.ids);
        fired += self.db.write(move |tx| Box::pin(async move { fire_timers(tx, &*ids, now, most).await })).await?;
        Ok(fired)
    }
}

/// What a job or timer would run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Aim {
    Version(i64),
    /// Resolved now.
    Selector(i64, Selector),
    /// Where it points now, also when its function has left the app: a release may still follow it.
    Alias(i64, AliasName),
    /// Nothing, and why.
    Nothing(String),
}

/// The ticks of one job or timer, and what they are written with.
struct Firing {
    app_id: i64,
    function_id: i64,
    aim: Aim,
    ticks: Vec<Timestamp>,
    selector: String,
    cause: Cause,
    input: Option<String>,
    description: String,
    started_by: String,
}

async fn fire_jobs(tx: &mut Tx, ids: &dyn IdSource, now: Timestamp, most: i64) -> Result<Fired> {
    let due = jobs::due(tx, now, most).await?;
    let mut fired = Fired { rows: due.len() as u64, ..Fired::default() };
    let mut firings = Vec::with_capacity(due.len());
    let mut advanced = Vec::with_capacity(due.len());
    for row in due {
        let step = step(&row.job, now);
        let aim = match (step.broken, row.version_id) {
            (Some(why), _) => Aim::Nothing(why),
            (None, Some(id)) => Aim::Version(id),
            (None, None) => Aim::Selector(row.unit_id, row.job.selector.clone()),
        };
        fired.skipped += u64::from(step.skipped);
        advanced.push(Advanced {
            id: row.job.id.clone(),
            next_at: step.next_at,
            remaining: step.remaining,
            state: step.state,
            fired: row.job.fired + step.ticks.len() as i64,
        });
        firings.push(Firing {
            app_id: row.app_id,
            function_id: row.unit_id,
            aim,
            ticks: step.ticks,
            selector: row.job.selector.to_string(),
            description: format!("Created by Job {}", row.job.id),
            cause: Cause { kind: CauseKind::Job, id: Some(row.job.id) },
            input: row.job.input.as_ref().map(executions::json_text),
            started_by: row.job.created_by,
        });
    }
    let postponed = write(tx, ids, now, &firings, &mut fired).await?;
    let advanced: Vec<Advanced> =
        advanced.into_iter().enumerate().filter(|(at, _)| !postponed.contains(at)).map(|(_, job)| job).collect();
    jobs::advance(tx, &advanced).await?;
    Ok(fired)
}

async fn fire_timers(tx: &mut Tx, ids: &dyn IdSource, now: Timestamp, most: i64) -> Result<Fired> {
    let due = timers::due(tx, now, most).await?;
    let names = timers::names(tx, &due.iter().map(|row| row.unit_id).collect::<Vec<_>>()).await?;
    let mut fired = Fired { rows: due.len() as u64, ..Fired::default() };
    let mut firings = Vec::with_capacity(due.len());
    let mut advanced = Vec::with_capacity(due.len());
    for row in due {
        let aim = match (row.alias, row.version_id) {
            (Some(alias), _) => Aim::Alias(row.function_id, alias),
            (None, Some(id)) => Aim::Version(id),
            (None, None) => Aim::Nothing("The live release does not hold the function.".to_owned()),
        };
        let (ticks, next_at) = match (Schedule::parse(&row.cron, &row.zone), row.next_at) {
            (Ok(schedule), Some(next_at)) => {
                let due = schedule.due(just_before(next_at), now, AfterDowntime::RunNewest);
                fired.skipped += u64::from(due.skipped);
                (due.run, schedule.next_after(now))
            }
            _ => (Vec::new(), None),
        };
        advanced.push((row.unit_id, next_at));
        firings.push(Firing {
            app_id: row.app_id,
            function_id: row.function_id,
            aim,
            ticks,
            selector: row.selector,
            cause: Cause { kind: CauseKind::Timer, id: names.get(&row.unit_id).cloned() },
            input: None,
            description: String::new(),
            started_by: "milepost".to_owned(),
        });
    }
    let postponed = write(tx, ids, now, &firings, &mut fired).await?;
    let advanced: Vec<_> =
        advanced.into_iter().enumerate().filter(|(at, _)| !postponed.contains(at)).map(|(_, timer)| timer).collect();
    timers::advance(tx, &advanced).await?;
    Ok(fired)
}

/// Writes the executions, and answers the places of those firings that have to wait.
async fn write(
    tx: &mut Tx,
    ids: &dyn IdSource,
    now: Timestamp,
    firings: &[Firing],
    fired: &mut Fired,
) -> Result<Vec<usize>> {
    let found = resolve_all(tx, firings).await?;
    let mut wanted: Vec<i64> = found.values().filter_map(|version| version.as_ref().ok().copied()).collect();
    wanted.sort_unstable();
    wanted.dedup();
    // Their rows are held by now, so nothing may be waited for.
    let held: HashMap<i64, VersionState> = versions::hold(tx, &wanted, true).await?.into_iter().collect();
    let mut rows = Vec::new();
    let mut postponed = Vec::new();
    for (place, firing) in firings.iter().enumerate() {
        let outcome = match found.get(&firing.aim) {
            Some(Ok(id)) => match held.get(id) {
                Some(VersionState::Deleted) if matches!(firing.aim, Aim::Version(_)) => {
                    Err("The version was deleted.".to_owned())
                }
                // The next look resolves it to another.
                Some(VersionState::Deleted) | None => {
                    postponed.push(place);
                    continue;
                }
                Some(_) => Ok(*id),
            },
            Some(Err(why)) => Err(why.clone()),
            None => Err("There is nothing to run.".to_owned()),
        };
        for tick in &firing.ticks {
            rows.push(NewRow {
                id: uuids::v7(ids, now),
                app_id: firing.app_id,
                unit_id: firing.function_id,
                version_id: outcome.as_ref().ok().copied(),
                selector: firing.selector.clone(),
                sync: false,
                input: firing.input.clone(),
                description: firing.description.clone(),
                started_by: firing.started_by.clone(),
                cause: firing.cause.clone(),
                scheduled_at: Some(*tick),
                created_at: now,
                birth: match &outcome {
                    Ok(_) => Birth::Queued,
                    Err(why) => Birth::Error(why.clone()),
                },
            });
        }
    }
    fired.executions += executions::insert(tx, &rows).await?;
    fired.postponed += postponed.len() as u64;
    Ok(postponed)
}

type Resolved = std::result::Result<i64, String>;

/// Each aim once, however many want it.
async fn resolve_all(tx: &mut Tx, firings: &[Firing]) -> Result<HashMap<Aim, Resolved>> {
    let mut found: HashMap<Aim, Resolved> = HashMap::new();
    for firing in firings {
        if firing.ticks.is_empty() || found.contains_key(&firing.aim) {
            continue;
        }
        let version = match &firing.aim {
            Aim::Version(id) => Ok(*id),
            Aim::Nothing(why) => Err(why.clone()),
            Aim::Alias(unit_id, alias) => match aliases::find(tx, *unit_id, alias).await? {
                Some(alias) => Ok(alias.version_id),
                None => Err(format!("There is no alias `{alias}` any more.")),
            },
            Aim::Selector(unit_id, selector) => {
                let unit = units::find_by_id(tx, *unit_id).await?;
                if unit.current_version_id.is_none() {
                    Err(format!("The app has no function `{}` any more.", unit.name))
                } else {
                    match resolve::version(tx, &unit, selector).await {
                        Ok(version) => Ok(version.id),
                        Err(CatalogError::Refused(refusal)) => Err(refusal.message.clone()),
                        Err(error) => return Err(error),
                    }
                }
            }
        };
        found.insert(firing.aim.clone(), version);
    }
    Ok(found)
}

/// Everything before the time at which something fires next is settled.
fn just_before(at: Timestamp) -> Timestamp {
    at.checked_sub(SignedDuration::from_millis(1)).unwrap_or(Timestamp::MIN)
}

/// What a job that is due does.
#[derive(Debug, PartialEq)]
struct Step {
    ticks: Vec<Timestamp>,
    skipped: u32,
    next_at: Option<Timestamp>,
    remaining: Option<i64>,
    state: JobState,
    /// Its schedule cannot be read.
    broken: Option<String>,
}

fn step(job: &Job, now: Timestamp) -> Step {
    let due_at = job.next_at.unwrap_or(now);
    let schedule = match &job.cron {
        Some(cron) => match Schedule::parse(cron, &job.zone) {
            Ok(schedule) => Some(schedule),
            Err(error) => {
                return Step {
                    ticks: vec![due_at],
                    skipped: 0,
                    next_at: None,
                    remaining: job.count,
                    state: JobState::Paused,
                    broken: Some(format!("The job is paused: {error}.")),
                };
            }
        },
        None => None,
    };
    // The explicit first time is made up, however late it is; what the pattern has missed since then is not.
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
    let remaining = job.count.map(|count| count - ticks.len() as i64);
    let next_at = schedule.and_then(|schedule| schedule.next_after(now)).filter(|_| remaining != Some(0));
    let state = if next_at.is_some() { JobState::Running } else { JobState::Done };
    Step { ticks, skipped, next_at, remaining, state, broken: None }
}

#[cfg(test)]
#[path = "fire_tests.rs"]
mod tests;
