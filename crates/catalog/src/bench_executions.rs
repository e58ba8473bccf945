//! Helpers for `bench/` only: adding many jobs at once and counting rows.

use milepost_model::{AppName, Timestamp, UnitKind, UnitName};

use crate::Catalog;
use crate::error::Result;
use crate::tables::{apps, bench, units};

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
                    bench::insert_jobs(tx, app.id, unit.id, (from, to), next_at).await
                })
            })
            .await?;
        self.db.write(|tx| Box::pin(async move { bench::analyze(tx).await })).await
    }

    /// Makes the jobs with these numbers due at `next_at`.
    pub async fn bench_due_jobs(&self, numbers: std::ops::Range<i64>, next_at: Timestamp) -> Result<()> {
        self.db.write(move |tx| Box::pin(async move { bench::set_due(tx, numbers, next_at).await })).await
    }

    /// Returns the number that a query selects.
    pub async fn bench_number(&self, sql: String) -> Result<i64> {
        self.db.read(move |tx| Box::pin(async move { tx.count(&sql, &[]).await })).await
    }

    /// Counts how many of these executions exist.
    pub async fn bench_executions(&self, ids: Vec<String>) -> Result<i64> {
        self.db.read(move |tx| Box::pin(async move { bench::count_executions(tx, &ids).await })).await
    }
}
