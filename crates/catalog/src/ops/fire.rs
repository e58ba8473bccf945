//! Fires jobs and timers that are due. A tick, its execution and the next firing time are written
//! in one transaction.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use milepost_model::execution::{Cause, CauseKind};
use milepost_model::schedule::{AfterDowntime, Schedule};
use milepost_model::{AliasName, IdSource, RawJson, Selector, Timestamp};

use super::fire_step::{just_before, step};
use crate::db::Tx;
use crate::error::{CatalogError, Result};
use crate::queue::{self, Queues};
use crate::tables::executions::{self, Birth, NewRow};
use crate::tables::jobs::{self, Advanced, JobRow};
use crate::tables::qinling::counts::{Counted, Counts};
use crate::tables::timers::{self, TimerRow};
use crate::tables::versions::{self, VersionState};
use crate::tables::{aliases, units};
use crate::{Catalog, resolve, uuids};

/// The result of firing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fired {
    /// Jobs and timers that were due.
    pub rows: u64,
    /// Executions that were queued, or that ended at once because there was no version to run.
    pub executions: u64,
    /// Ticks that passed while no server ran and are not caught up on.
    pub skipped: u64,
    /// Jobs and timers that are still due, because the version that they would run is being
    /// deleted.
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
    /// Returns when the next job or timer is due.
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

    /// Fires up to `most` jobs and `most` timers that are due by the database's clock. Any number of servers may call this
    /// at once: each takes different rows. If it returns as many rows as requested, there may be
    /// more.
    pub async fn fire_due(&self, most: i64) -> Result<Fired> {
        let (ids, queues) = (Arc::clone(&self.ids), Arc::clone(&self.queues));
        let mut fired = self
            .db
            .write(move |tx| {
                Box::pin(async move {
                    let now = tx.now();
                    let how = How { ids: &*ids, queues: Some(&queues), now };
                    let due = jobs::due(tx, now, most).await?;
                    fire_jobs(tx, how, due).await
                })
            })
            .await?;
        let (ids, queues) = (Arc::clone(&self.ids), Arc::clone(&self.queues));
        fired += self
            .db
            .write(move |tx| {
                Box::pin(async move {
                    let now = tx.now();
                    let how = How { ids: &*ids, queues: Some(&queues), now };
                    let due = timers::due(tx, now, most).await?;
                    fire_timers(tx, how, due).await
                })
            })
            .await?;
        Ok(fired)
    }
}

/// Fires an app's due timers before live moves: a tick belongs to the release that was live when it
/// was due.
pub(crate) async fn fire_before_move(tx: &mut Tx, ids: &dyn IdSource, now: Timestamp, rows: &[TimerRow]) -> Result<()> {
    let mut due: Vec<TimerRow> = rows.iter().filter(|row| row.next_at.is_some_and(|at| at <= now)).cloned().collect();
    // Live may be moving because the version is being deleted. The next live release then runs the
    // tick.
    let wanted: Vec<i64> = due.iter().filter_map(|row| row.version_id).collect();
    let held = versions::hold(tx, &wanted, true).await?;
    let there = |id: i64| held.iter().any(|(held, state)| *held == id && *state != VersionState::Deleted);
    due.retain(|row| row.alias.is_some() || row.version_id.is_none_or(there));
    if !due.is_empty() {
        fire_timers(tx, How { ids, queues: None, now }, due).await?;
    }
    Ok(())
}

/// Context of a firing.
#[derive(Clone, Copy)]
struct How<'a> {
    ids: &'a dyn IdSource,
    queues: Option<&'a Queues>,
    now: Timestamp,
}

/// What a job or timer would run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Aim {
    Version(i64),
    /// Resolved when it fires.
    Selector(i64, Selector),
    /// Where the alias points now, even if its function was removed from the app: a release may
    /// still follow it.
    Alias(i64, AliasName),
    /// Nothing; holds the reason.
    Nothing(String),
}

/// The ticks of one job or timer, with what their executions need.
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
    /// The selector under which v1 counts the executions, if it counts them.
    counted_as: Option<Selector>,
}

impl Firing {
    fn counted(&self, version: Option<&Resolved>) -> Option<Counted> {
        let (selector, version) = (self.counted_as.as_ref()?, version?.as_ref().ok()?);
        Some(Counted::of(self.function_id, *version, selector))
    }
}

async fn fire_jobs(tx: &mut Tx, how: How<'_>, due: Vec<JobRow>) -> Result<Fired> {
    let mut fired = Fired { rows: due.len() as u64, ..Fired::default() };
    let mut firings = Vec::with_capacity(due.len());
    let mut steps = Vec::with_capacity(due.len());
    for row in due {
        let step = step(&row.job, how.now);
        let aim = match (&step.broken, row.version_id) {
            (Some(why), _) => Aim::Nothing(why.clone()),
            (None, Some(id)) => Aim::Version(id),
            (None, None) => Aim::Selector(row.unit_id, row.job.selector.clone()),
        };
        fired.skipped += u64::from(step.skipped);
        let ticks = step.ticks.clone();
        steps.push((row.job.id.clone(), row.job.fired, step));
        firings.push(Firing {
            app_id: row.app_id,
            function_id: row.unit_id,
            aim,
            ticks,
            selector: row.job.selector.to_string(),
            description: format!("Created by Job {}", row.job.id),
            cause: Cause::of(CauseKind::Job, Some(row.job.id)),
            input: row.job.input.as_ref().map(RawJson::to_string),
            started_by: row.job.created_by,
            counted_as: Some(row.job.selector),
        });
    }
    let written = write(tx, how, &firings, &mut fired).await?;
    let advanced: Vec<Advanced> = steps
        .into_iter()
        .zip(written)
        .filter_map(|((id, before, step), written)| written.map(|written| step.advance(id, before, written)))
        .collect();
    jobs::advance(tx, &advanced, how.now).await?;
    Ok(fired)
}

async fn fire_timers(tx: &mut Tx, how: How<'_>, due: Vec<TimerRow>) -> Result<Fired> {
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
                let due = schedule.due(just_before(next_at), how.now, AfterDowntime::RunNewest);
                fired.skipped += u64::from(due.skipped);
                (due.run, schedule.next_after(how.now))
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
            cause: Cause::of(CauseKind::Timer, names.get(&row.unit_id).cloned()),
            input: None,
            description: String::new(),
            started_by: "milepost".to_owned(),
            counted_as: None,
        });
    }
    let written = write(tx, how, &firings, &mut fired).await?;
    let advanced: Vec<_> =
        advanced.into_iter().zip(written).filter_map(|(timer, written)| written.map(|_| timer)).collect();
    timers::advance(tx, &advanced).await?;
    Ok(fired)
}

/// Writes the executions, and returns for each firing how many it made, or `None` if it must be
/// postponed.
async fn write(tx: &mut Tx, how: How<'_>, firings: &[Firing], fired: &mut Fired) -> Result<Vec<Option<i64>>> {
    let found = resolve_all(tx, firings).await?;
    let mut wanted: Vec<i64> = found.values().filter_map(|version| version.as_ref().ok().copied()).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let counted: Vec<Option<Counted>> = firings.iter().map(|firing| firing.counted(found.get(&firing.aim))).collect();
    let mut counts = Counts::hold(tx, &counted.iter().copied().flatten().collect::<Vec<_>>()).await?;
    // The rows of the jobs and timers are locked already, so this must not wait for locks.
    let held: HashMap<i64, VersionState> = versions::hold(tx, &wanted, true).await?.into_iter().collect();
    let mut rows = Vec::new();
    let mut counted_rows = Vec::new();
    // The range of rows that each firing made.
    let mut made: Vec<Option<Range<usize>>> = Vec::with_capacity(firings.len());
    for (firing, counted) in firings.iter().zip(counted) {
        let outcome = match found.get(&firing.aim) {
            Some(Ok(id)) => match held.get(id) {
                Some(VersionState::Deleted) if matches!(firing.aim, Aim::Version(_)) => {
                    Err("The version was deleted.".to_owned())
                }
                // The next firing resolves it to another version.
                Some(VersionState::Deleted) | None => {
                    made.push(None);
                    continue;
                }
                Some(_) => Ok(*id),
            },
            Some(Err(why)) => Err(why.clone()),
            None => Err("There is nothing to run.".to_owned()),
        };
        let first = rows.len();
        for tick in &firing.ticks {
            counted_rows.push(counted);
            rows.push(NewRow {
                id: String::new(),
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
                created_at: how.now,
                birth: match &outcome {
                    Ok(_) => Birth::Queued,
                    Err(why) => Birth::Error(why.clone()),
                },
            });
        }
        made.push(Some(first..rows.len()));
    }
    name(how, &mut rows);
    bound(tx, how, &mut rows).await?;
    let written = executions::insert(tx, &rows).await?;
    for (row, counted) in rows.iter().zip(counted_rows) {
        if let Some(counted) = counted
            && matches!(row.birth, Birth::Queued)
            && written.contains(&row.id)
        {
            counts.note(counted);
        }
    }
    counts.write(tx).await?;
    fired.executions += written.len() as u64;
    fired.postponed += made.iter().filter(|rows| rows.is_none()).count() as u64;
    let count = |of: Range<usize>| rows[of].iter().filter(|row| written.contains(&row.id)).count() as i64;
    Ok(made.into_iter().map(|of| of.map(count)).collect())
}

/// Assigns ids in the order of the ticks: executions are listed and started by id, and several
/// ticks may be caught up on at once.
fn name(how: How<'_>, rows: &mut [NewRow]) {
    let ids = uuids::v7_ascending(how.ids, how.now, rows.len());
    let mut by_tick: Vec<&mut NewRow> = rows.iter_mut().collect();
    by_tick.sort_by_key(|row| row.scheduled_at);
    for (row, id) in by_tick.into_iter().zip(ids) {
        row.id = id;
    }
}

/// Ends executions that exceed the app's queue limit, with the reason: a tick is never lost
/// silently, and firing never waits.
async fn bound(tx: &mut Tx, how: How<'_>, rows: &mut [NewRow]) -> Result<()> {
    let mut room: HashMap<i64, i64> = HashMap::new();
    for row in rows.iter().filter(|row| matches!(row.birth, Birth::Queued)) {
        *room.entry(row.app_id).or_default() += 1;
    }
    for (app_id, wanted) in &mut room {
        *wanted = queue::admit(tx, how.queues, *app_id, *wanted).await?;
    }
    for row in rows.iter_mut().filter(|row| matches!(row.birth, Birth::Queued)) {
        match room.get_mut(&row.app_id) {
            Some(left) if *left > 0 => *left -= 1,
            _ => row.birth = Birth::Error(queue::FULL.to_owned()),
        }
    }
    Ok(())
}

type Resolved = std::result::Result<i64, String>;

/// Resolves each aim once, even if several firings share it.
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
                    match resolve::to_run(tx, &unit, selector).await {
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
