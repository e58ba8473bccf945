//! Helpers for `bench/` only: filling a history quickly, and measuring the bare database.

use milepost_model::AppName;
use milepost_model::change::UnitKey;

use crate::Catalog;
use crate::error::Result;
use crate::tables::{apps, bench, units};

impl Catalog {
    /// Copies the newest version and app version of a unit until there are `total` of them, with
    /// one statement per table. The result is what real changes would have made, without the
    /// events.
    pub async fn bench_fill(&self, app: &AppName, key: UnitKey, total: i64) -> Result<()> {
        let app = app.clone();
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    let mut app = apps::lock(tx, &app).await?;
                    let mut unit = units::get_present(tx, &app, key.kind, &key.name).await?;
                    bench::copy_versions(tx, &app, &unit, total).await?;
                    unit.last_number = total;
                    let newest = crate::tables::versions::find_by_number(tx, unit.id, total).await?;
                    unit.current_version_id = newest.map(|version| version.id);
                    units::save(tx, &unit).await?;
                    app.head_seq = total;
                    apps::save(tx, &app).await
                })
            })
            .await?;
        self.db.write(|tx| Box::pin(async move { bench::analyze(tx).await })).await
    }

    /// Commits one row in one durable transaction.
    pub async fn bench_commit(&self) -> Result<()> {
        let now = self.now();
        let name = self.ids.short_id() + &self.ids.short_id();
        self.db.write(move |tx| Box::pin(async move { bench::insert_pack(tx, name, now).await })).await
    }

    /// Returns the size of the database in bytes.
    pub async fn bench_database_size(&self) -> Result<u64> {
        let size = self.db.read(|tx| Box::pin(async move { bench::database_size(tx).await })).await?;
        Ok(size as u64)
    }
}
