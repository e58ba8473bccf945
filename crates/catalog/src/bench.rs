//! Helpers for `bench/` only: filling a history quickly, and measuring the bare database.

use milepost_model::AppName;
use milepost_model::change::UnitKey;

use crate::error::Result;
use crate::tables::{apps, units};
use crate::{Catalog, Engine};

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
                    let series = "WITH RECURSIVE n(i) AS (SELECT CAST($1 AS BIGINT) + 1 UNION ALL SELECT i + 1 FROM n WHERE i < $2)";
                    let range = [unit.last_number.into(), total.into(), unit.id.into()];
                    // These uids contain digits and vowels, so they cannot collide with real ones,
                    // which are consonants only.
                    let random = match tx.engine() {
                        Engine::Sqlite => "randomblob(32)",
                        Engine::Postgres => "decode(md5(i::text) || md5((i + 1)::text), 'hex')",
                    };
                    let sql = format!(
                        "{series} INSERT INTO versions (app_id, unit_id, number, uid, digest, content_id, description, created_at, created_by, state) \
                         SELECT v.app_id, v.unit_id, n.i, 'u' || n.i, {random}, v.content_id, '', v.created_at, 'bench', 'active' \
                         FROM n, versions v WHERE v.unit_id = $3 AND v.number = 1"
                    );
                    tx.execute(&sql, &range).await?;
                    let range = [app.head_seq.into(), total.into(), app.id.into()];
                    let sql = format!(
                        "{series} INSERT INTO app_versions (app_id, seq, uid, created_at, created_by, message) \
                         SELECT a.app_id, n.i, 'a' || n.i, a.created_at, 'bench', 'bench' FROM n, app_versions a WHERE a.app_id = $3 AND a.seq = 1"
                    );
                    tx.execute(&sql, &range).await?;
                    let sql = "UPDATE memberships SET until_seq = from_seq + 1 WHERE unit_id = $1 AND until_seq IS NULL";
                    tx.execute(sql, &[unit.id.into()]).await?;
                    let sql = "INSERT INTO memberships (unit_id, from_seq, until_seq, version_id) \
                               SELECT unit_id, number, CASE WHEN number = $3 THEN NULL ELSE number + 1 END, id FROM versions \
                               WHERE unit_id = $1 AND number > $2";
                    tx.execute(sql, &[unit.id.into(), unit.last_number.into(), total.into()]).await?;
                    unit.last_number = total;
                    let newest = crate::tables::versions::find_by_number(tx, unit.id, total).await?;
                    unit.current_version_id = newest.map(|version| version.id);
                    units::save(tx, &unit).await?;
                    app.head_seq = total;
                    apps::save(tx, &app).await
                })
            })
            .await?;
        if self.engine() == Engine::Postgres {
            self.db.write(|tx| Box::pin(async move { tx.execute("ANALYZE", &[]).await })).await?;
        }
        Ok(())
    }

    /// Commits one row in one durable transaction.
    pub async fn bench_commit(&self) -> Result<()> {
        let now = self.clock.now();
        let name = self.ids.short_id() + &self.ids.short_id();
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    let sql = "INSERT INTO packs (name, size, created_at) VALUES ($1, 0, $2)";
                    tx.execute(sql, &[name.into(), now.into()]).await.map(drop)
                })
            })
            .await
    }

    /// Returns the size of the database in bytes.
    pub async fn bench_database_size(&self) -> Result<u64> {
        let sql = match self.engine() {
            Engine::Sqlite => "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
            Engine::Postgres => "SELECT pg_database_size(current_database())",
        };
        let size = self.db.read(move |tx| Box::pin(async move { tx.count(sql, &[]).await })).await?;
        Ok(size as u64)
    }
}
