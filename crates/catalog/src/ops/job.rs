use std::sync::Arc;

use milepost_model::event::EventKind;
use milepost_model::job::{Job, JobChange, JobState, NewJob};
use milepost_model::refusal::{Field, View};
use milepost_model::schedule::Schedule;
use milepost_model::{AppName, Code, Next, Refusal, Selector, Timestamp, UnitKind, UnitName};
use serde_json::json;

use super::execution::clean;
use crate::db::Ending;
use crate::effects::Written;
use crate::error::Result;
use crate::read::{PageOf, cut};
use crate::tables::apps::AppRow;
use crate::tables::jobs::{self, JobRow};
use crate::tables::units::{self, UnitRow};
use crate::tables::versions::VersionRow;
use crate::work::Work;
use crate::{Catalog, resolve, uuids};

/// How far back a first time may be, to allow for clock differences and slow requests. Anything
/// older is a mistake.
const LATE_MS: i64 = 60_000;

/// Maximum number of jobs listed for an ambiguous name.
const MOST_NAMED: i64 = 20;

impl Catalog {
    pub async fn job_create(&self, app: &AppName, actor: &str, new: NewJob) -> Result<Written<Job>> {
        let ids = Arc::clone(self.ids());
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let now = work.act.at;
                let schedule = check(&new, now)?;
                let (unit, pinned) = target(work, &new.function, &new.version).await?;
                // A job without a pattern makes one execution.
                let count = if schedule.is_some() { new.count } else { Some(1) };
                // A job with a pattern fires only at times of the pattern, starting with its first
                // time.
                let first_at = match (&schedule, new.first_at) {
                    (Some(schedule), Some(at)) => schedule.next_from(at),
                    (_, at) => at,
                };
                let next_at = first_at.or_else(|| schedule.and_then(|schedule| schedule.next_after(now)));
                let job = Job {
                    id: uuids::v7(&*ids, now),
                    name: clean(&new.name),
                    function: unit.name.clone(),
                    selector: new.version,
                    version: pinned.as_ref().map(|version| version.number),
                    cron: new.cron.map(|cron| cron.trim().to_owned()),
                    zone: new.zone,
                    first_at,
                    count,
                    input: new.input,
                    state: JobState::Running,
                    next_at,
                    fired: 0,
                    created_at: now,
                    created_by: work.act.actor.clone(),
                    updated_at: None,
                };
                let version_id = pinned.map(|version| version.id);
                let row = JobRow { app_id: work.app.id, unit_id: unit.id, version_id, job };
                jobs::insert(work.tx, &row).await?;
                work.event(EventKind::JobCreated, &subject(&row.job), None, Some(logged(&row.job)));
                Ok(row.job)
            })
        })
        .await
    }

    /// Changes an unfinished job. A new pattern, and resuming after a pause, count from now.
    pub async fn job_update(&self, app: &AppName, actor: &str, id: String, change: JobChange) -> Result<Written<Job>> {
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let Some(JobRow { mut job, .. }) = jobs::lock(work.tx, work.app.id, &id).await? else {
                    return Err(unknown(&work.app, &id).into());
                };
                let before = logged(&job);
                apply(&mut job, change, work.act.at)?;
                if before == logged(&job) {
                    return Ok(job);
                }
                job.updated_at = Some(work.act.at);
                jobs::save(work.tx, &job).await?;
                work.event(EventKind::JobChanged, &subject(&job), Some(before), Some(logged(&job)));
                Ok(job)
            })
        })
        .await
    }

    pub async fn job_delete(&self, app: &AppName, actor: &str, id: String) -> Result<Written<()>> {
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let Some(row) = jobs::lock(work.tx, work.app.id, &id).await? else {
                    return Err(unknown(&work.app, &id).into());
                };
                jobs::delete(work.tx, &id).await?;
                work.event(EventKind::JobDeleted, &subject(&row.job), Some(logged(&row.job)), None);
                Ok(())
            })
        })
        .await
    }

    /// Resolves the id of a job from its id or its name. Among several jobs with the name, the
    /// unfinished one is selected. Ambiguous if there are several unfinished ones, or several and
    /// none is unfinished.
    pub async fn job_id(&self, app: &AppName, word: String) -> Result<String> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                if jobs::find(tx, app.id, &word).await?.is_some() {
                    return Ok(word);
                }
                let named = jobs::named(tx, app.id, &word, MOST_NAMED).await?;
                let open = named.iter().filter(|(_, state)| state.is_open()).count();
                match named.first() {
                    None => Err(unknown(&app, &word).into()),
                    Some((id, _)) if open == 1 || named.len() == 1 => Ok(id.clone()),
                    Some(_) => Err(ambiguous(&app, &word, &named).into()),
                }
            })
        })
        .await
    }

    pub async fn job_get(&self, app: &AppName, id: String) -> Result<Job> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                match jobs::find(tx, app.id, &id).await? {
                    Some(row) => Ok(row.job),
                    None => Err(unknown(&app, &id).into()),
                }
            })
        })
        .await
    }

    /// Newest first, with ids below `below`.
    pub async fn job_list(&self, app: &AppName, below: Option<String>, limit: i64) -> Result<PageOf<Job, String>> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                let mut rows = jobs::list(tx, app.id, below.as_deref(), limit.saturating_add(1)).await?;
                let next = cut(&mut rows, limit, |row| row.job.id.clone());
                Ok(PageOf { items: rows.into_iter().map(|row| row.job).collect(), next })
            })
        })
        .await
    }
}

/// Returns the function, and the version that a selector other than `latest` and `@alias` pins.
pub(crate) async fn target(
    work: &mut Work<'_>,
    function: &UnitName,
    selector: &Selector,
) -> Result<(UnitRow, Option<VersionRow>)> {
    let unit = units::get_present(work.tx, &work.app, UnitKind::Function, function).await?;
    let version = resolve::version(work.tx, &unit, selector).await?;
    let follows = matches!(selector, Selector::Latest | Selector::Alias(_));
    Ok((unit, (!follows).then_some(version)))
}

fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::new(Code::InvalidRequest, message)
}

fn check(new: &NewJob, now: Timestamp) -> Result<Option<Schedule>> {
    if new.cron.is_none() && new.first_at.is_none() {
        return Err(invalid("a job needs a pattern or a first execution time")
            .next(Next::Give { field: Field::Cron })
            .next(Next::Give { field: Field::FirstAt })
            .into());
    }
    if let Some(first) = new.first_at.filter(|first| first.as_millisecond() < now.as_millisecond() - LATE_MS) {
        return Err(invalid(format!("the first execution time {first} has passed"))
            .correct("give a time in the future, like `in 5m`, or `now`")
            .into());
    }
    check_count(new.cron.as_deref(), new.count)?;
    match &new.cron {
        Some(cron) => Ok(Some(Schedule::parse(cron, &new.zone).map_err(Refusal::from)?)),
        None => check_zone(&new.zone).map(|()| None),
    }
}

/// Checked even without a pattern, which may be added later.
fn check_zone(zone: &str) -> Result<()> {
    Schedule::parse("@daily", zone).map_err(Refusal::from)?;
    Ok(())
}

fn check_count(cron: Option<&str>, count: Option<i64>) -> Result<()> {
    match count {
        Some(count) if count < 1 => {
            Err(invalid("the count of a job must be at least 1").next(Next::LeaveOut { field: Field::Count }).into())
        }
        Some(count) if count > 1 && cron.is_none() => Err(invalid("a job that runs more than once needs a pattern")
            .next(Next::Give { field: Field::Cron })
            .into()),
        _ => Ok(()),
    }
}

fn apply(job: &mut Job, change: JobChange, now: Timestamp) -> Result<()> {
    if !job.state.is_open() {
        let message = format!("job `{}` is {} and cannot be changed", job.id, job.state);
        return Err(Refusal::new(Code::JobFinished, message).next(Next::CreateJob).into());
    }
    if change.state == Some(JobState::Done) {
        return Err(invalid("a job cannot be set to `done`").correct("use `cancelled` to end it").into());
    }
    let rhythm = (job.cron.clone(), job.zone.clone());
    job.name = change.name.map_or_else(|| job.name.clone(), |name| clean(&name));
    job.cron = change.cron.map(|cron| cron.trim().to_owned()).or_else(|| job.cron.clone());
    if let Some(zone) = change.zone {
        check_zone(&zone)?;
        job.zone = zone;
    }
    job.count = change.count.or(job.count);
    job.input = change.input.or_else(|| job.input.clone());
    check_count(job.cron.as_deref(), change.count)?;
    let schedule = match &job.cron {
        Some(cron) => Some(Schedule::parse(cron, &job.zone).map_err(Refusal::from)?),
        None => None,
    };
    let was = job.state;
    job.state = change.state.unwrap_or(was);
    let changed = rhythm != (job.cron.clone(), job.zone.clone());
    if job.state != JobState::Running {
        job.next_at = None;
    } else if was != JobState::Running || changed {
        job.next_at = next_of(job, schedule.as_ref(), now);
    }
    Ok(())
}

/// A first time in the future is kept. One that passed during a pause is caught up on if there is
/// no pattern.
fn next_of(job: &Job, schedule: Option<&Schedule>, now: Timestamp) -> Option<Timestamp> {
    let first = job.first_at.filter(|_| job.fired == 0);
    match (first, schedule) {
        (Some(first), Some(schedule)) if first <= now => schedule.next_after(now),
        (Some(first), _) => Some(first),
        (None, schedule) => schedule.and_then(|schedule| schedule.next_after(now)),
    }
}

fn subject(job: &Job) -> String {
    if job.name.is_empty() { format!("job {}", job.id) } else { format!("job {} ({})", job.name, job.id) }
}

/// Returns the fields of a job for the event log. Its input may be large and private, so only
/// its digest is logged.
fn logged(job: &Job) -> serde_json::Value {
    let input = job.input.as_ref().map(|input| milepost_model::Digest::of(input.as_str().as_bytes()));
    json!({ "name": job.name, "function": job.function, "selector": job.selector, "cron": job.cron, "zone": job.zone,
            "firstAt": job.first_at, "count": job.count, "state": job.state, "input": input })
}

fn unknown(app: &AppRow, id: &str) -> Refusal {
    let message = format!("app `{}` has no job `{id}`", app.name);
    Refusal::new(Code::JobNotFound, message).see(View::Jobs)
}

fn ambiguous(app: &AppRow, name: &str, named: &[(String, JobState)]) -> Refusal {
    let message = format!("app `{}` has several jobs with the name `{name}`", app.name);
    Refusal::new(Code::InvalidRequest, message)
        .correct("give the id of one of them")
        .candidates(named.iter().map(|(id, state)| format!("job {id} ({state})")).collect())
}
