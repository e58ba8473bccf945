//! Jobs in the form of a v1 list, which leaves out large inputs.

use milepost_model::AliasName;
use milepost_model::execution::MAX_LISTED;
use milepost_model::job::Job;
use milepost_model::{Selector, Timestamp};

use crate::db::{Row, Tx};
use crate::error::Result;

fn read(row: &Row) -> Result<Job> {
    Ok(Job {
        id: row.text(0)?,
        name: row.text(1)?,
        function: row.parse(2)?,
        selector: row.parse(3)?,
        version: row.opt_int(4)?,
        cron: row.opt_text(5)?,
        zone: row.text(6)?,
        first_at: row.opt_time(7)?,
        count: row.opt_int(8)?,
        input: row.opt_json(9)?,
        state: row.word(10, "jobs.state")?,
        next_at: row.opt_time(11)?,
        fired: row.int(12)?,
        created_at: row.time(13)?,
        created_by: row.text(14)?,
        updated_at: row.opt_time(15)?,
    })
}

/// Newest first, with ids below `below`.
pub(crate) async fn list(tx: &mut Tx, app_id: i64, below: Option<&str>, limit: i64) -> Result<Vec<Job>> {
    let sql = format!(
        "SELECT j.id, j.name, u.name, j.selector, v.number, j.cron, j.zone, j.first_at, j.remaining, \
         CASE WHEN octet_length(j.input) <= {MAX_LISTED} THEN j.input END, j.state, j.next_at, j.fired, j.created_at, \
         j.created_by, j.updated_at FROM jobs j JOIN units u ON u.id = j.unit_id LEFT JOIN versions v ON v.id = j.version_id \
         WHERE j.app_id = $1 AND j.id < $2 ORDER BY j.id DESC LIMIT $3"
    );
    tx.query(&sql, &[app_id.into(), below.unwrap_or("z").into(), limit.into()]).await?.iter().map(read).collect()
}

/// Moves unfinished jobs and webhooks that follow an alias to the function that it now points at.
pub(crate) async fn repoint(tx: &mut Tx, alias: &AliasName, from: i64, to: i64, at: Timestamp) -> Result<()> {
    let selector = Selector::Alias(alias.clone()).to_string();
    for (table, which) in [("jobs", " AND state IN ('running', 'paused')"), ("webhooks", "")] {
        let sql =
            format!("UPDATE {table} SET unit_id = $1, updated_at = $2 WHERE unit_id = $3 AND selector = $4{which}");
        tx.execute(&sql, &[to.into(), at.into(), from.into(), selector.as_str().into()]).await?;
    }
    Ok(())
}
