use milepost_model::execution::{Attempt, AttemptEnd, Execution, ExecutionFilter};
use milepost_model::{AppName, UnitKind};

use super::causes::with_names;
use super::{PageOf, cut};
use crate::Catalog;
use crate::db::Tx;
use crate::error::Result;
use crate::ops::execution::unknown;
use crate::tables::apps::AppRow;
use crate::tables::executions::{self, ExecutionRow, Listed};
use crate::tables::{attempts, units, versions};

/// Fills in the attempts. Lost ones are stored separately; the last one is in the row.
pub(crate) async fn with_attempts(tx: &mut Tx, mut rows: Vec<ExecutionRow>) -> Result<Vec<ExecutionRow>> {
    let tried: Vec<&str> = rows.iter().filter(|row| row.attempt > 0).map(|row| row.execution.id.as_str()).collect();
    let mut lost = attempts::of(tx, &tried).await?;
    for row in &mut rows {
        let execution = &mut row.execution;
        execution.attempts = lost.remove(&execution.id).unwrap_or_default();
        let recorded = execution.attempts.last().map_or(0, |attempt| attempt.number);
        if let (Some(started_at), Some(node)) = (row.attempt_at, &row.node)
            && row.attempt > recorded
        {
            execution.attempts.push(Attempt {
                number: row.attempt,
                started_at,
                ended_at: execution.finished_at,
                node: node.clone(),
                end: AttemptEnd::of(execution.status),
            });
        }
    }
    Ok(rows)
}

pub(crate) async fn execution_view(tx: &mut Tx, app: &AppRow, id: &str) -> Result<Execution> {
    let Some(row) = executions::find(tx, app.id, id).await? else { return Err(unknown(app, id).into()) };
    let mut found: Vec<Execution> = with_attempts(tx, vec![row]).await?.into_iter().map(|row| row.execution).collect();
    with_names(tx, &mut found).await?;
    found.pop().ok_or_else(|| unknown(app, id).into())
}

impl Catalog {
    pub async fn execution_get(&self, app: &AppName, id: String) -> Result<Execution> {
        self.look(app, move |tx, app| Box::pin(async move { execution_view(tx, &app, &id).await })).await
    }

    /// Newest first, with ids below `below`. Large inputs and results are left out.
    pub async fn execution_list(
        &self,
        app: &AppName,
        filter: ExecutionFilter,
        below: Option<String>,
        limit: i64,
    ) -> Result<PageOf<Execution, String>> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                let unit_id = match &filter.function {
                    // Also finds a removed function, whose executions are still stored.
                    Some(name) => match units::find(tx, app.id, UnitKind::Function, name).await? {
                        Some(unit) => Some(unit.id),
                        None => return Err(units::unknown(tx, &app, UnitKind::Function, name).await?.into()),
                    },
                    None => None,
                };
                let version_id = match (unit_id, filter.version) {
                    (Some(unit_id), Some(number)) => match versions::find_by_number(tx, unit_id, number).await? {
                        None => return Ok(PageOf { items: Vec::new(), next: None }),
                        Some(version) => Some(version.id),
                    },
                    _ => None,
                };
                let listed = Listed { filter: &filter, unit_id, version_id };
                let mut rows = executions::list(tx, app.id, listed, below.as_deref(), limit.saturating_add(1)).await?;
                let next = cut(&mut rows, limit, |row| row.execution.id.clone());
                let rows = with_attempts(tx, rows).await?;
                let mut items: Vec<Execution> = rows.into_iter().map(|row| row.execution).collect();
                with_names(tx, &mut items).await?;
                Ok(PageOf { items, next })
            })
        })
        .await
    }

    /// Returns the log of an execution; empty until it has ended.
    pub async fn execution_log(&self, app: &AppName, id: String) -> Result<String> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                if executions::find(tx, app.id, &id).await?.is_none() {
                    return Err(unknown(&app, &id).into());
                }
                Ok(attempts::log(tx, &id).await?.unwrap_or_default())
            })
        })
        .await
    }
}
