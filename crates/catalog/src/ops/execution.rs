use std::collections::BTreeMap;
use std::sync::Arc;

use milepost_model::execution::{
    Attempt, Cause, CauseKind, ExecutedVersion, Execution, ExecutionStatus, Failure, MAX_LOG, NewExecution,
};
use milepost_model::refusal::{Field, View};
use milepost_model::{AppName, Code, Next, PlanName, RawJson, Refusal, UnitKind};

use crate::db::Tx;
use crate::error::{CatalogError, Result};
use crate::queue;
use crate::read;
use crate::repeated::{self, RequestKey};
use crate::tables::apps::{self, AppRow};
use crate::tables::execution_retention;
use crate::tables::execution_version::{self, Found};
use crate::tables::executions::{self, Birth, End, NewRow};
use crate::tables::qinling::counts::{self, Counted};
use crate::tables::versions::{self, VersionState};
use crate::tables::{attempts, execution_input, units};
use crate::{Catalog, resolve, uuids};

/// Attempts to find a version while the one found is being deleted.
const TRIES: usize = 5;
const CUT: &str = "[the log was longer; this is its end]\n";

/// What to run, and for whom.
#[derive(Debug, Clone)]
pub struct Accept {
    pub new: NewExecution,
    /// Headers that the function gets with the input.
    pub headers: BTreeMap<String, String>,
    pub cause: Cause,
    pub started_by: String,
    /// The node that runs a synchronous execution.
    pub node: String,
    /// A request with the key of an earlier one returns the execution of that one, with attempt 0.
    pub key: Option<RequestKey>,
}

/// An execution that a node is to run.
#[derive(Debug, Clone)]
pub struct Claimed {
    pub app: AppName,
    /// The argument of [`Catalog::serving_version`].
    pub version_id: i64,
    /// The argument of [`Catalog::execution_finish`].
    pub attempt: i64,
    pub execution: Execution,
}

/// How an attempt ended.
#[derive(Debug, Clone)]
pub struct Finish {
    /// One of the four final statuses.
    pub status: ExecutionStatus,
    pub result: Option<RawJson>,
    pub failure: Option<Failure>,
    /// Only the end of an oversized log is kept.
    pub log: String,
    pub duration_ms: i64,
}

impl Catalog {
    /// Decides on the version and writes the execution: queued, or if it is synchronous, running on
    /// `node`, which then has to end it.
    pub async fn execution_accept(&self, app: &AppName, accept: Accept) -> Result<Claimed> {
        let (app, ids) = (app.clone(), Arc::clone(&self.ids));
        let queues = Arc::clone(&self.queues);
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    let now = tx.now();
                    let Accept { new, headers, cause, started_by, node, key } = accept;
                    let decided = decide(tx, &app, &new).await?;
                    let id = uuids::v7(&*ids, now);
                    if let Some(key) = &key
                        && let Some(earlier) = repeated::execution(tx, decided.app_id, key, &id).await?
                    {
                        let row = apps::get(tx, &app).await?;
                        let execution = read::execution_view(tx, &row, &earlier).await?;
                        return Ok(Claimed { app, version_id: decided.version_id, attempt: 0, execution });
                    }
                    if new.sync {
                        check_running(tx, &app, &decided).await?;
                    } else if queue::admit(tx, Some(&queues), decided.app_id, 1).await? == 0 {
                        return Err(queue::full(&app).into());
                    }
                    if matches!(cause.kind, CauseKind::V1 | CauseKind::Webhook) {
                        let counted = Counted::of(decided.unit_id, decided.version_id, &new.version);
                        counts::add(tx, counted).await?;
                    }
                    let row = NewRow {
                        id,
                        app_id: decided.app_id,
                        unit_id: decided.unit_id,
                        version_id: Some(decided.version_id),
                        selector: new.version.to_string(),
                        sync: new.sync,
                        input: execution_input::join(new.input.as_ref(), &headers),
                        description: clean(&new.description),
                        started_by,
                        cause,
                        scheduled_at: None,
                        created_at: now,
                        birth: if new.sync { Birth::Running { node } } else { Birth::Queued },
                    };
                    if executions::insert(tx, std::slice::from_ref(&row)).await?.len() != 1 {
                        return Err(CatalogError::inconsistent("the source of ids repeats itself".to_owned()));
                    }
                    let execution = born(row, new, headers, decided.version);
                    let attempt = i64::from(execution.sync);
                    Ok(Claimed { app, version_id: decided.version_id, attempt, execution })
                })
            })
            .await
    }

    /// Ends an attempt. Returns false and changes nothing if it is no longer the current one,
    /// because the node was declared dead meanwhile or the execution has ended.
    pub async fn execution_finish(&self, id: String, node: &str, attempt: i64, finish: Finish) -> Result<bool> {
        if !finish.status.is_ended() {
            return Err(CatalogError::inconsistent(format!("execution {id} cannot end as {}", finish.status)));
        }
        let node = node.to_owned();
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    let end = End {
                        id: &id,
                        node: &node,
                        attempt,
                        status: finish.status,
                        result: finish.result.as_ref().map(RawJson::to_string),
                        failure: finish.failure.as_ref(),
                        duration_ms: finish.duration_ms,
                        at: tx.now(),
                    };
                    let counted = executions::finish(tx, end).await?;
                    if counted && !finish.log.is_empty() {
                        attempts::set_log(tx, &id, &bounded(&finish.log)).await?;
                    }
                    Ok(counted)
                })
            })
            .await
    }

    /// Ends a queued execution at once, or asks a running one to end, which its node then sees
    /// ([`Catalog::executions_cancelling`]). Rejected if it has ended.
    pub async fn execution_cancel(&self, app: &AppName, id: String) -> Result<Execution> {
        let app = app.clone();
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    let app = apps::get(tx, &app).await?;
                    match executions::lock(tx, app.id, &id).await? {
                        None => return Err(unknown(&app, &id).into()),
                        Some(ExecutionStatus::Queued) => {
                            let now = tx.now();
                            executions::end(tx, &id, ExecutionStatus::Cancelled, None, now).await?;
                        }
                        Some(ExecutionStatus::Running) => executions::ask_to_cancel(tx, &id).await?,
                        Some(ended) => {
                            let message = format!("execution `{id}` has already ended: {ended}");
                            return Err(Refusal::new(Code::ExecutionEnded, message).see(View::Execution { id }).into());
                        }
                    }
                    read::execution_view(tx, &app, &id).await
                })
            })
            .await
    }

    /// Deletes an execution that has ended.
    pub async fn execution_delete(&self, app: &AppName, id: String) -> Result<()> {
        let app = app.clone();
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    let app = apps::get(tx, &app).await?;
                    match executions::lock(tx, app.id, &id).await? {
                        None => Err(unknown(&app, &id).into()),
                        Some(status) if !status.is_ended() => {
                            let message = format!("execution `{id}` has not ended: it is {status}");
                            Err(Refusal::new(Code::ExecutionNotEnded, message)
                                .correct("wait until it ends")
                                .next(Next::CancelExecution { id })
                                .into())
                        }
                        Some(_) => execution_retention::delete(tx, &[id]).await.map(drop),
                    }
                })
            })
            .await
    }
}

/// The version that a new execution runs, locked until the transaction ends.
struct Decided {
    app_id: i64,
    plan: PlanName,
    unit_id: i64,
    version_id: i64,
    version: ExecutedVersion,
}

async fn decide(tx: &mut Tx, app: &AppName, new: &NewExecution) -> Result<Decided> {
    if let Some(decided) = decide_at_once(tx, app, new).await? {
        return Ok(decided);
    }
    for _ in 0..TRIES {
        let app = apps::get(tx, app).await?;
        let unit = units::get_present(tx, &app, UnitKind::Function, &new.function).await?;
        let version = resolve::to_run(tx, &unit, &new.version).await?;
        // Waits for a concurrent delete of the version. The next lookup then finds another one or
        // reports that it is gone.
        let held = versions::hold(tx, &[version.id], false).await?;
        if held.iter().any(|(_, state)| *state != VersionState::Deleted) {
            let (app_id, plan, unit_id, version_id) = (app.id, app.plan, unit.id, version.id);
            let version = ExecutedVersion { number: version.number, uid: version.uid, digest: version.digest };
            return Ok(Decided { app_id, plan, unit_id, version_id, version });
        }
    }
    let message = format!("could not pick a version of function `{}`: its versions keep being deleted", new.function);
    Err(Refusal::new(Code::Unavailable, message).next(Next::Retry).into())
}

/// Handles the common selectors in one round trip. On `None`, [`resolve::version`] decides.
async fn decide_at_once(tx: &mut Tx, app: &AppName, new: &NewExecution) -> Result<Option<Decided>> {
    let Some(found) = execution_version::find(tx, app, &new.function, &new.version).await? else { return Ok(None) };
    let Found { app_id, plan, unit_id, version_id, version } = found;
    Ok(Some(Decided { app_id, plan, unit_id, version_id, version }))
}

/// A synchronous execution is not queued but rejected if the app runs as many as its plan allows.
/// Concurrent requests do not see each other, so a few more may run.
async fn check_running(tx: &mut Tx, app: &AppName, decided: &Decided) -> Result<()> {
    let most = i64::from(decided.plan.limits().executions_at_once);
    if executions::running(tx, decided.app_id).await? < most {
        return Ok(());
    }
    let message = format!("app `{app}` already runs {most} executions, the most at once in its plan");
    Err(Refusal::new(Code::TooManyRunning, message)
        .next(Next::Give { field: Field::Async })
        .next(Next::Wait)
        .next(Next::LargerPlan { app: app.to_string() })
        .into())
}

/// Returns the execution that was just written without reading it again.
fn born(row: NewRow, new: NewExecution, headers: BTreeMap<String, String>, version: ExecutedVersion) -> Execution {
    let (status, attempts) = match row.birth {
        Birth::Running { node } => {
            let attempt = Attempt { number: 1, started_at: row.created_at, ended_at: None, node, end: None };
            (ExecutionStatus::Running, vec![attempt])
        }
        Birth::Queued | Birth::Error(_) => (ExecutionStatus::Queued, Vec::new()),
    };
    Execution {
        id: row.id,
        function: new.function,
        version: Some(version),
        selector: new.version,
        status,
        sync: row.sync,
        input: new.input,
        headers,
        result: None,
        failure: None,
        shortened: false,
        description: row.description,
        started_by: row.started_by,
        cause: row.cause,
        scheduled_at: None,
        created_at: row.created_at,
        started_at: attempts.first().map(|attempt| attempt.started_at),
        finished_at: None,
        duration_ms: None,
        cancelling: false,
        attempts,
    }
}

pub(crate) fn unknown(app: &AppRow, id: &str) -> Refusal {
    let message = format!("app `{}` has no execution `{id}`; ended ones are deleted after some time", app.name);
    Refusal::new(Code::ExecutionNotFound, message).see(View::Executions)
}

/// Replaces NUL, the only character that PostgreSQL does not accept in text.
pub(crate) fn clean(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// Cuts a log that is too long to its end, starting at a whole line.
fn bounded(log: &str) -> String {
    let log = clean(log);
    if log.len() <= MAX_LOG {
        return log;
    }
    let mut from = log.len() - (MAX_LOG - CUT.len());
    while !log.is_char_boundary(from) {
        from += 1;
    }
    let kept = &log[from..];
    let kept = kept.split_once('\n').map_or(kept, |(_, rest)| rest);
    format!("{CUT}{kept}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_logs_are_cut_to_whole_lines_at_their_end() {
        let log = "äöü line\n".repeat(100_000);
        let kept = bounded(&log);
        assert!(kept.len() <= MAX_LOG && kept.len() > MAX_LOG - 100, "{}", kept.len());
        let rest = kept.strip_prefix(CUT).expect("it says that something is missing");
        assert!(rest.starts_with("äöü") && rest.ends_with("line\n"));
        assert_eq!(bounded("a\0b"), "a\u{fffd}b");
        let one_line = "x".repeat(MAX_LOG * 2);
        assert!(bounded(&one_line).len() <= MAX_LOG);
    }
}
