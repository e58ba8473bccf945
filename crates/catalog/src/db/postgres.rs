//! PostgreSQL: a pool of connections, one transaction each.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Client, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use tokio_postgres::NoTls;
use tokio_postgres::types::{ToSql, Type};

use super::turns::{Turn, Turns};
use super::{BodyFuture, Ending, Row, Tx, Val};
use crate::error::{CatalogError, Result};

const CONNECTIONS: usize = 16;
const WAIT: Duration = Duration::from_secs(10);
/// How long an unresponsive connection is kept before it counts as broken.
const SILENCE: Duration = Duration::from_secs(30);
/// How long a statement waits for a lock. By then the client has had its response, and PostgreSQL
/// does not notice a client that stopped waiting: without a limit such statements would use up all
/// of its connections.
///
/// Set in each transaction, because a connection pooler may reject settings at the start of a
/// connection.
const LOCK_WAIT: &str = "; SET LOCAL lock_timeout = '60s'";
const KEEPALIVE_EVERY: Duration = Duration::from_secs(10);
/// The driver's default when the URL sets none.
const KEEPALIVES_IDLE_UNSAID: Duration = Duration::from_secs(2 * 60 * 60);

pub(super) struct Postgres {
    pool: Pool,
    turns: Arc<Turns>,
    config: tokio_postgres::Config,
}

/// A connection inside a transaction. If it is dropped before the transaction ends, the connection
/// is closed instead of returned to the pool, which rolls the transaction back.
pub(super) struct Connection {
    client: Option<Client>,
}

impl Postgres {
    pub(super) async fn open(url: &str) -> Result<Self> {
        let config = bounded(url.parse().map_err(|error| CatalogError::database("read the database URL", error))?);
        let manager =
            Manager::from_config(config.clone(), NoTls, ManagerConfig { recycling_method: RecyclingMethod::Fast });
        let pool = Pool::builder(manager)
            .max_size(CONNECTIONS)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(WAIT))
            .create_timeout(Some(WAIT))
            .build()
            .map_err(|error| CatalogError::database("set up the connection pool", error))?;
        Ok(Self { pool, turns: Arc::default(), config })
    }

    pub(super) fn config(&self) -> tokio_postgres::Config {
        self.config.clone()
    }

    /// Empty if the URL sets its own lock timeout.
    fn lock_wait(&self) -> &'static str {
        let said = self.config.get_options().is_some_and(|options| options.contains("lock_timeout"));
        if said { "" } else { LOCK_WAIT }
    }

    pub(super) async fn turn(&self, app: &str) -> Turn {
        self.turns.wait(app).await
    }

    pub(super) async fn transaction<T, F>(&self, body: F, ending: Ending) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BodyFuture<'t, T> + Send + 'static,
    {
        let client = self.pool.get().await.map_err(|error| CatalogError::database("connect to PostgreSQL", error))?;
        let mut tx = Tx(super::Connection::Postgres(Box::new(Connection { client: Some(client) })));
        // Reads see one snapshot, as on SQLite. Writes lock the app's row first, so the default
        // isolation level suffices.
        let begin = match ending {
            Ending::ReadOnly => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY".to_owned(),
            Ending::Commit | Ending::Forget => format!("BEGIN{}", self.lock_wait()),
        };
        tx.batch(&begin).await?;
        let result = body(&mut tx).await;
        let end = if result.is_ok() && ending == Ending::Commit { "COMMIT" } else { "ROLLBACK" };
        let ended = tx.batch(end).await;
        let super::Connection::Postgres(mut connection) = tx.0 else {
            return Err(CatalogError::inconsistent("a PostgreSQL transaction changed its engine".to_owned()));
        };
        if ended.is_ok() {
            // Returns the connection to the pool.
            drop(connection.client.take());
        }
        result.and_then(|value| ended.map(|()| value))
    }
}

/// Bounds how long a connection may be silent, unless the URL sets its own timeouts.
fn bounded(mut config: tokio_postgres::Config) -> tokio_postgres::Config {
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(SILENCE);
    }
    if config.get_keepalives_idle() == KEEPALIVES_IDLE_UNSAID {
        config.keepalives_idle(SILENCE);
    }
    if config.get_keepalives_interval().is_none() {
        config.keepalives_interval(KEEPALIVE_EVERY);
    }
    config
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            drop(Object::take(client));
        }
    }
}

impl Connection {
    fn client(&self) -> Result<&Client> {
        self.client.as_ref().ok_or_else(|| CatalogError::inconsistent("a closed transaction was used".to_owned()))
    }

    pub(super) async fn batch(&mut self, sql: &str) -> Result<()> {
        self.client()?.batch_execute(sql).await.map_err(|error| CatalogError::database("run a statement", error))
    }

    pub(super) async fn execute(&mut self, sql: &str, params: &[Val]) -> Result<u64> {
        let client = self.client()?;
        let run = async {
            let statement = client.prepare_cached(sql).await?;
            client.execute_raw(&statement, params.iter().map(|value| value as &(dyn ToSql + Sync))).await
        };
        run.await.map_err(|error| CatalogError::database(sql, error))
    }

    pub(super) async fn query(&mut self, sql: &str, params: &[Val]) -> Result<Vec<Row>> {
        let client = self.client()?;
        let params: Vec<&(dyn ToSql + Sync)> = params.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        let run = async {
            let statement = client.prepare_cached(sql).await?;
            client.query(&statement, &params).await
        };
        let rows = run.await.map_err(|error: tokio_postgres::Error| CatalogError::database(sql, error))?;
        rows.iter().map(read).collect()
    }
}

fn read(row: &tokio_postgres::Row) -> Result<Row> {
    let mut values = Vec::with_capacity(row.len());
    for (index, column) in row.columns().iter().enumerate() {
        let value = match *column.type_() {
            Type::INT8 => row.try_get::<_, Option<i64>>(index).map(Val::from),
            Type::INT4 => row.try_get::<_, Option<i32>>(index).map(|value| value.map(i64::from).into()),
            Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(index).map(Val::from),
            _ => row.try_get::<_, Option<String>>(index).map(Val::from),
        };
        values.push(value.map_err(|error| CatalogError::database("read a row", error))?);
    }
    Ok(Row(values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn timeouts_have_defaults_that_the_url_overrides() {
        let read = async |url: &str| Postgres::open(url).await.expect("an address");
        let plain = read("postgres://ann@db/milepost").await;
        assert_eq!((plain.lock_wait(), plain.config.get_options()), (LOCK_WAIT, None));
        assert_eq!(plain.config.get_tcp_user_timeout(), Some(&SILENCE));
        assert_eq!(plain.config.get_keepalives_idle(), SILENCE);
        assert_eq!(plain.config.get_keepalives_interval(), Some(KEEPALIVE_EVERY));
        let own = "postgres://ann@db/milepost?options=-c%20lock_timeout%3D5s&tcp_user_timeout=90&keepalives_idle=120";
        let own = read(own).await;
        assert_eq!((own.lock_wait(), own.config.get_options()), ("", Some("-c lock_timeout=5s")));
        assert_eq!(own.config.get_tcp_user_timeout(), Some(&Duration::from_secs(90)));
        assert_eq!(own.config.get_keepalives_idle(), Duration::from_secs(120));
    }

    #[tokio::test]
    async fn every_write_transaction_sets_the_lock_timeout() {
        let database = milepost_testkit::postgres::database();
        let told = async |url: &str, ending| {
            let postgres = Postgres::open(url).await.expect("an address");
            let show = postgres
                .transaction(|tx| Box::pin(async { tx.query_one("SHOW lock_timeout", &[]).await?.text(0) }), ending);
            show.await.expect("it answers")
        };
        for ending in [Ending::Commit, Ending::Forget] {
            assert_eq!(told(&database.url, ending).await, "1min");
        }
        let own = format!("{}?options=-c%20lock_timeout%3D5s", database.url);
        assert_eq!(told(&own, Ending::Commit).await, "5s");
    }
}
