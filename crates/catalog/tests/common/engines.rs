use std::sync::Arc;

use milepost_catalog::Catalog;
use milepost_model::{Clock, ManualClock, OsIds, SeededIds};
use milepost_testkit::pgbouncer::{PgBouncer, PoolMode};
use milepost_testkit::postgres::{TestDatabase, database};
use tempfile::TempDir;
use tokio::sync::OnceCell;

use super::plain::PlainCatalog;

/// A fresh database that is deleted with the test.
pub enum Engine {
    Sqlite(TempDir),
    /// With a separate connection that bypasses the catalog, opened on first use.
    Postgres(TestDatabase, Box<OnceCell<tokio_postgres::Client>>, Option<PgBouncer>),
}

impl Engine {
    pub fn sqlite() -> Self {
        Self::Sqlite(tempfile::tempdir().unwrap())
    }

    pub fn postgres() -> Self {
        let database = database();
        // `MILEPOST_TEST_PGBOUNCER=1` runs all cases through a pooler that shares sessions.
        let pooled = std::env::var_os("MILEPOST_TEST_PGBOUNCER").is_some();
        let pooler = pooled.then(|| PgBouncer::start(&database.url, PoolMode::Transaction));
        Self::Postgres(database, Box::default(), pooler)
    }

    /// Runs statements directly on the database.
    pub async fn batch(&self, sql: &str) {
        match self {
            Self::Sqlite(_) => rusqlite::Connection::open(self.url()).unwrap().execute_batch(sql).unwrap(),
            Self::Postgres(..) => self.client().await.batch_execute(sql).await.unwrap(),
        }
    }

    /// For a PostgreSQL database only.
    async fn client(&self) -> &tokio_postgres::Client {
        let Self::Postgres(database, client, _) = self else { panic!("SQLite has no client") };
        let client = client.get_or_init(async || {
            let (client, connection) = tokio_postgres::connect(&database.url, tokio_postgres::NoTls).await.unwrap();
            tokio::spawn(connection);
            client
        });
        client.await
    }

    fn url(&self) -> String {
        match self {
            Self::Sqlite(folder) => folder.path().join("catalog.db").display().to_string(),
            Self::Postgres(database, _, None) => database.url.clone(),
            Self::Postgres(database, _, Some(pooler)) => pooler.url(&database.url),
        }
    }

    pub async fn open(&self, clock: Arc<ManualClock>) -> PlainCatalog {
        self.open_with(clock, 7).await
    }

    /// With a different id source, as on another server.
    pub async fn open_with(&self, clock: Arc<ManualClock>, seed: u64) -> PlainCatalog {
        PlainCatalog(Catalog::open(&self.url(), clock, Arc::new(SeededIds::new(seed))).await.unwrap())
    }

    pub async fn open_clock(&self, clock: Arc<dyn Clock>) -> Catalog {
        Catalog::open(&self.url(), clock, Arc::new(OsIds)).await.unwrap()
    }

    pub async fn number(&self, sql: &str) -> i64 {
        match self {
            Self::Sqlite(_) => {
                let connection = rusqlite::Connection::open(self.url()).unwrap();
                connection.query_row(sql, [], |row| row.get(0)).unwrap()
            }
            Self::Postgres(..) => self.client().await.query_one(sql, &[]).await.unwrap().get(0),
        }
    }
}
