//! PostgreSQL: a pool of connections, one transaction each.

mod address;
mod begin;
mod connect;
#[cfg(test)]
mod tests;
mod tls;

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use deadpool::Runtime;
use deadpool::managed::{Object, Pool, PoolError, TimeoutType};
use milepost_model::clock::from_millis;
use milepost_model::{Clock, Timestamp};
use tokio::sync::OnceCell;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, SimpleQueryMessage};

use self::address::Address;
use self::begin::Begin;
pub(super) use self::begin::UNLIMITED;
pub(super) use self::connect::Connector;
use self::connect::{NoHost, Session, Sessions, shares_sessions};
use super::turns::{Turn, Turns};
use super::{BodyFuture, Ending, Row, Tx, Val};
use crate::error::{CatalogError, Result};

const CONNECTIONS: usize = 16;
const WAIT: Duration = Duration::from_secs(10);
const CONNECT: &str = "connect to PostgreSQL";
/// The difference between the clocks is not measured by a slower answer.
const PROMPT_MS: i64 = 1000;

pub(super) struct Postgres {
    pool: Pool<Sessions>,
    turns: Arc<Turns>,
    connector: Arc<Connector>,
    /// Connects past a pooler, for `LISTEN`.
    direct: Option<Arc<Connector>>,
    begin: Begin,
    clock: Arc<dyn Clock>,
    /// Whether connections share sessions. Known after the first transaction.
    shared: OnceCell<bool>,
    ahead_ms: AtomicI64,
}

/// A connection inside a transaction. If it is dropped before the transaction ends, the connection
/// is closed instead of returned to the pool, which rolls the transaction back.
pub(super) struct Connection {
    session: Option<Object<Sessions>>,
    /// Whether the session is another's after this transaction, so that nothing may be prepared.
    shared: bool,
    began_at: Timestamp,
}

impl Postgres {
    /// `listen` is the URL of a direct connection, for a `url` that leads to a pooler.
    pub(super) fn open(url: &str, listen: Option<&str>, clock: Arc<dyn Clock>) -> Result<Self> {
        let read = |url: &str, doing: &str| Address::parse(url).map_err(|error| CatalogError::database(doing, error));
        let address = read(url, "read the database URL")?;
        let begin = Begin::new(&address.options);
        let connector = Arc::new(Connector::new(address)?);
        let direct = match listen {
            Some(url) => Some(Arc::new(Connector::new(read(url, "read the URL of `--database-listen`")?)?)),
            None => None,
        };
        let pool = Pool::builder(Sessions(Arc::clone(&connector)))
            .max_size(CONNECTIONS)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(WAIT))
            .create_timeout(Some(connector.patience()))
            .build()
            .map_err(|error| CatalogError::database("set up the connection pool", error))?;
        let (turns, shared, ahead_ms) = (Arc::default(), OnceCell::new(), AtomicI64::new(0));
        Ok(Self { pool, turns, connector, direct, begin, clock, shared, ahead_ms })
    }

    /// A connector for connections that may listen. `None` if all connections share sessions.
    pub(super) fn listener(&self) -> Option<Arc<Connector>> {
        match &self.direct {
            Some(direct) => Some(Arc::clone(direct)),
            None if self.shared.get() == Some(&true) => None,
            None => Some(Arc::clone(&self.connector)),
        }
    }

    /// By how many milliseconds this machine's clock is ahead of the database's.
    pub(super) fn ahead_ms(&self) -> i64 {
        self.ahead_ms.load(Ordering::Relaxed)
    }

    pub(super) async fn turn(&self, app: &str) -> Turn {
        self.turns.wait(app).await
    }

    async fn begin(&self, ending: Ending) -> Result<Connection> {
        let shared = *self.shared.get_or_try_init(|| Box::pin(shares_sessions(&self.connector))).await?;
        for _ in 0..CONNECTIONS {
            let session = self.pool.get().await.map_err(unavailable)?;
            // Dropped, and so closed, if the transaction cannot begin.
            let mut connection = Connection { session: Some(session), shared, began_at: Timestamp::UNIX_EPOCH };
            let before = (!self.clock.is_simulated()).then(|| self.clock.now());
            match connection.began(self.begin.of(ending)).await {
                Ok(now) => {
                    connection.began_at = now;
                    if let Some(before) = before {
                        self.compare_clocks(before, now);
                    }
                    return Ok(connection);
                }
                // The connection broke since it was used last, so nothing has begun.
                Err(error) if is_broken(&error) => {
                    tracing::debug!(error = &error as &dyn Error, "a connection had broken");
                }
                Err(error) => return Err(error),
            }
        }
        Err(CatalogError::database(CONNECT, std::io::Error::other("each connection broke at once")))
    }

    fn compare_clocks(&self, before: Timestamp, database: Timestamp) {
        let took = self.clock.now().as_millisecond() - before.as_millisecond();
        if (0..PROMPT_MS).contains(&took) {
            let ahead = before.as_millisecond() + took / 2 - database.as_millisecond();
            self.ahead_ms.store(ahead, Ordering::Relaxed);
        }
    }

    pub(super) async fn transaction<T, F>(&self, body: F, ending: Ending) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BodyFuture<'t, T> + Send + 'static,
    {
        let connection = Box::new(self.begin(ending).await?);
        let mut tx = Tx { connection: super::Connection::Postgres(connection), clock: Arc::clone(&self.clock) };
        let result = body(&mut tx).await;
        let end = if result.is_ok() && ending == Ending::Commit { "COMMIT" } else { "ROLLBACK" };
        let ended = tx.batch(end).await;
        let super::Connection::Postgres(mut connection) = tx.connection else {
            return Err(CatalogError::inconsistent("a PostgreSQL transaction changed its engine".to_owned()));
        };
        if ended.is_ok() {
            // Returns the connection to the pool.
            drop(connection.session.take());
        }
        result.and_then(|value| ended.map(|()| value))
    }
}

fn unavailable(error: PoolError<NoHost>) -> CatalogError {
    match error {
        PoolError::Backend(error) => CatalogError::database(CONNECT, error),
        PoolError::Timeout(TimeoutType::Wait) => {
            let busy = format!("all {CONNECTIONS} connections were in use for {} s", WAIT.as_secs());
            CatalogError::database(CONNECT, std::io::Error::other(busy))
        }
        error => CatalogError::database(CONNECT, error),
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            drop(Object::take(session));
        }
    }
}

impl Connection {
    pub(super) fn began_at(&self) -> Timestamp {
        self.began_at
    }

    fn session(&self) -> Result<&Session> {
        let session = self.session.as_deref();
        session.ok_or_else(|| CatalogError::inconsistent("a closed transaction was used".to_owned()))
    }

    /// Begins the transaction and returns the database's time.
    async fn began(&mut self, sql: &str) -> Result<Timestamp> {
        let failed = |error| CatalogError::database("begin a transaction", error);
        let now = last_value(&self.session()?.client, sql).await.map_err(failed)?;
        now.parse()
            .map(from_millis)
            .map_err(|_| CatalogError::inconsistent(format!("the database's time is `{now}`, which is no number")))
    }

    pub(super) async fn batch(&mut self, sql: &str) -> Result<()> {
        self.session()?
            .client
            .batch_execute(sql)
            .await
            .map_err(|error| CatalogError::database("run a statement", error))
    }

    pub(super) async fn execute(&mut self, sql: &str, params: &[Val]) -> Result<u64> {
        let session = self.session()?;
        let run = async {
            if self.shared {
                return session.client.execute_typed(sql, &typed(params)).await;
            }
            let statement = session.prepare(sql).await?;
            session.client.execute_raw(&statement, params.iter().map(|value| value as &(dyn ToSql + Sync))).await
        };
        run.await.map_err(|error| CatalogError::database(sql, error))
    }

    pub(super) async fn query(&mut self, sql: &str, params: &[Val]) -> Result<Vec<Row>> {
        let session = self.session()?;
        let run = async {
            if self.shared {
                return session.client.query_typed(sql, &typed(params)).await;
            }
            let params: Vec<&(dyn ToSql + Sync)> = params.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
            let statement = session.prepare(sql).await?;
            session.client.query(&statement, &params).await
        };
        let rows = run.await.map_err(|error: tokio_postgres::Error| CatalogError::database(sql, error))?;
        rows.iter().map(read).collect()
    }
}

/// Parameters with their types, for a statement that is sent in one message.
fn typed(params: &[Val]) -> Vec<(&(dyn ToSql + Sync), Type)> {
    let of = |value: &Val| match value {
        // PostgreSQL infers it.
        Val::Null => Type::UNKNOWN,
        Val::Int(_) => Type::INT8,
        Val::Text(_) => Type::TEXT,
        Val::Bytes(_) => Type::BYTEA,
    };
    params.iter().map(|value| (value as &(dyn ToSql + Sync), of(value))).collect()
}

/// Runs statements without parameters, and returns the first column of the last row.
async fn last_value(client: &Client, sql: &str) -> Result<String, tokio_postgres::Error> {
    let mut value = String::new();
    for message in client.simple_query(sql).await? {
        if let SimpleQueryMessage::Row(row) = message {
            value = row.get(0).unwrap_or_default().to_owned();
        }
    }
    Ok(value)
}

/// Whether a statement failed because the connection was closed before it.
fn is_broken(error: &CatalogError) -> bool {
    let CatalogError::Database { source, .. } = error else { return false };
    let Some(error) = source.downcast_ref::<tokio_postgres::Error>() else { return false };
    let ended = [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT];
    error.is_closed() || error.code().is_some_and(|code| ended.contains(code))
}

/// Whether a statement failed because it waited for a lock for too long.
pub(super) fn is_lock_timeout(error: &CatalogError) -> bool {
    let CatalogError::Database { source, .. } = error else { return false };
    let error = source.downcast_ref::<tokio_postgres::Error>();
    error.and_then(tokio_postgres::Error::code) == Some(&SqlState::LOCK_NOT_AVAILABLE)
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
