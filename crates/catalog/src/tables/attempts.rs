//! Attempts of executions that ended because their node died or stopped, and the logs of
//! executions.

use std::collections::HashMap;

use milepost_model::Timestamp;
use milepost_model::execution::{Attempt, AttemptEnd};

use crate::db::{Tx, Val, placeholders};
use crate::error::Result;

const CHUNK: usize = 400;

pub(crate) async fn insert(tx: &mut Tx, execution: &str, attempt: &Attempt, ended_at: Timestamp) -> Result<()> {
    let sql = "INSERT INTO execution_attempts (execution_id, number, started_at, ended_at, node, ending) \
               VALUES ($1, $2, $3, $4, $5, $6)";
    let end = attempt.end.unwrap_or(AttemptEnd::Lost);
    let params = [
        execution.into(),
        attempt.number.into(),
        attempt.started_at.into(),
        ended_at.into(),
        attempt.node.as_str().into(),
        end.as_str().into(),
    ];
    tx.exactly_one(sql, &params).await
}

/// Number of attempts of an execution that ended because their node died.
pub(crate) struct Deaths {
    /// The attempts that reached an instance, as far as known.
    pub begun: i64,
    pub all: i64,
}

pub(crate) async fn deaths(tx: &mut Tx, execution: &str) -> Result<Deaths> {
    let sql = "SELECT count(CASE WHEN ending = 'lost' THEN 1 END), count(*) FROM execution_attempts \
               WHERE execution_id = $1 AND ending IN ('lost', 'unbegun')";
    let row = tx.query_one(sql, &[execution.into()]).await?;
    Ok(Deaths { begun: row.int(0)?, all: row.int(1)? })
}

/// Returns the attempts of each execution, oldest first.
pub(crate) async fn of(tx: &mut Tx, executions: &[&str]) -> Result<HashMap<String, Vec<Attempt>>> {
    let mut found: HashMap<String, Vec<Attempt>> = HashMap::new();
    for chunk in executions.chunks(CHUNK) {
        let sql = format!(
            "SELECT execution_id, number, started_at, ended_at, node, ending FROM execution_attempts \
             WHERE execution_id IN ({}) ORDER BY execution_id, number",
            placeholders(chunk.len(), 1)
        );
        let params: Vec<Val> = chunk.iter().map(|id| (*id).into()).collect();
        for row in tx.query(&sql, &params).await? {
            let attempt = Attempt {
                number: row.int(1)?,
                started_at: row.time(2)?,
                ended_at: row.opt_time(3)?,
                node: row.text(4)?,
                end: Some(row.word(5, "execution_attempts.ending")?),
            };
            found.entry(row.text(0)?).or_default().push(attempt);
        }
    }
    Ok(found)
}

pub(crate) async fn set_log(tx: &mut Tx, execution: &str, log: &str) -> Result<()> {
    let sql = "INSERT INTO execution_logs (execution_id, log) VALUES ($1, $2) \
               ON CONFLICT (execution_id) DO UPDATE SET log = excluded.log";
    tx.exactly_one(sql, &[execution.into(), log.into()]).await
}

pub(crate) async fn log(tx: &mut Tx, execution: &str) -> Result<Option<String>> {
    let sql = "SELECT log FROM execution_logs WHERE execution_id = $1";
    tx.query_opt(sql, &[execution.into()]).await?.map(|row| row.text(0)).transpose()
}
