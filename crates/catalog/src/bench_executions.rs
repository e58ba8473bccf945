//! Helpers for `bench/` only: adding many jobs at once and counting rows.

use milepost_model::{AppName, Timestamp, UnitKind, UnitName};

use crate::error::Result;
use crate::tables::{apps, units};
use crate::{Catalog, Engine};

impl Catalog {
    /// Adds jobs of a function, numbered `from..to` and all due at `next_at`, in one statement.
    pub async fn bench_fill_jobs(
        &self,
        app: &AppName,
        function: UnitName,
        (from, to): (i64, i64),
        next_at: Timestamp,
    ) -> Result<()> {
        let app = app.clone();
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    let app = apps::get(tx, &app).await?;
                    let unit = units::get_present(tx, &app, UnitKind::Function, &function).await?;
                    let sql = "WITH RECURSIVE n(i) AS (SELECT CAST($1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < $2) \
                               INSERT INTO jobs (id, app_id, unit_id, name, selector, cron, zone, state, next_at, fired, created_at, created_by) \
                               SELECT 'bench-' || i, CAST($3 AS BIGINT), CAST($4 AS BIGINT), '', 'latest', '* * * * *', '', 'running', \
                               CAST($5 AS BIGINT), 0, CAST($5 AS BIGINT), 'bench' FROM n";
                    let params = [from.into(), to.into(), app.id.into(), unit.id.into(), next_at.into()];
                    tx.execute(sql, &params).await.map(drop)
                })
            })
            .await?;
        if self.engine() == Engine::Postgres {
            self.db.write(|tx| Box::pin(async move { tx.execute("ANALYZE", &[]).await })).await?;
        }
        Ok(())
    }

    /// Makes the jobs with these numbers due at `next_at`.
    pub async fn bench_due_jobs(&self, numbers: std::ops::Range<i64>, next_at: Timestamp) -> Result<()> {
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    for number in numbers {
                        let params = [format!("bench-{number}").into(), next_at.into()];
                        tx.execute("UPDATE jobs SET next_at = $2 WHERE id = $1", &params).await?;
                    }
                    Ok(())
                })
            })
            .await
    }

    /// Returns the number that a query selects.
    pub async fn bench_number(&self, sql: String) -> Result<i64> {
        self.db.read(move |tx| Box::pin(async move { tx.count(&sql, &[]).await })).await
    }

    /// Counts how many of these executions exist.
    pub async fn bench_executions(&self, ids: Vec<String>) -> Result<i64> {
        self.db
            .read(move |tx| {
                Box::pin(async move {
                    let mut found = 0;
                    for id in ids {
                        let sql = "SELECT count(*) FROM executions WHERE id = $1";
                        found += tx.count(sql, &[id.as_str().into()]).await?;
                    }
                    Ok(found)
                })
            })
            .await
    }
}
