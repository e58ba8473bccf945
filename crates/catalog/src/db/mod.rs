//! The thin driver layer: one transaction type over two engines. SQL is plain text with `$1`
//! parameters, written once for both. Differences (locking, ids) are in the migrations and in the
//! few methods here that mention them.
//!
//! A transaction body may await only its [`Tx`]. On SQLite it runs on the writer's thread, where
//! every query is ready immediately, and many bodies share one commit.

#[cfg(test)]
mod constraint_tests;
mod listen;
mod migrate;
mod postgres;
mod sqlite;
mod turns;
mod value;

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use milepost_model::{Clock, Timestamp};

pub use listen::Heard;
use listen::Topic;
pub(crate) use turns::Turn;
pub use value::{Row, Val, placeholders, typed_placeholders};

use crate::error::{CatalogError, Result};

pub type BodyFuture<'t, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 't>>;

/// A body without the type of its result. The drivers run only these, so the code of a transaction
/// is compiled once and not for each of the more than 150 bodies.
type ErasedBody = Box<dyn for<'t> FnOnce(&'t mut Tx) -> BodyFuture<'t, ()> + Send>;

/// What an erased body returned.
struct Slot<T>(Arc<Mutex<Option<T>>>);

impl<T: Send + 'static> Slot<T> {
    fn erase<F>(body: F) -> (ErasedBody, Self)
    where
        F: for<'t> FnOnce(&'t mut Tx) -> BodyFuture<'t, T> + Send + 'static,
    {
        let slot = Self(Arc::default());
        let filled = Arc::clone(&slot.0);
        let erased: ErasedBody = Box::new(move |tx| {
            let body = body(tx);
            Box::pin(async move {
                let value = body.await?;
                *filled.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
                Ok(())
            })
        });
        (erased, slot)
    }

    fn take(self) -> Result<T> {
        let value = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        value.ok_or_else(|| CatalogError::inconsistent("a transaction ended without its result".to_owned()))
    }
}

/// The database engine behind a catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
}

impl Engine {
    /// The name that the API and the server's output use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }
}

impl std::fmt::Display for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Clone)]
pub struct Db(Arc<Driver>);

enum Driver {
    Sqlite(sqlite::Sqlite),
    Postgres(Box<postgres::Postgres>),
}

/// How a transaction ends whose body succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Commit,
    Forget,
    ReadOnly,
}

/// One open transaction, or for reads a connection with a consistent snapshot.
pub struct Tx {
    connection: Connection,
    clock: Arc<dyn Clock>,
}

enum Connection {
    Sqlite(sqlite::Connection),
    Postgres(Box<postgres::Connection>),
}

impl Db {
    /// Opens the database at `url` (`postgres://…`, or the path of a SQLite file) and brings its
    /// schema up to date. `listen` is the URL of a direct connection to PostgreSQL, for a `url`
    /// that leads to a pooler.
    pub async fn open(url: &str, listen: Option<&str>, clock: Arc<dyn Clock>) -> Result<Self> {
        let driver = match url.split_once("://") {
            Some(("postgres" | "postgresql", _)) => {
                Driver::Postgres(Box::new(postgres::Postgres::open(url, listen, clock)?))
            }
            None => Driver::Sqlite(sqlite::Sqlite::open(Path::new(url), clock)?),
            Some(("sqlite" | "file", path)) => Driver::Sqlite(sqlite::Sqlite::open(Path::new(path), clock)?),
            // The rest of the URL may contain a password.
            Some((scheme, _)) => return Err(CatalogError::UnknownScheme(scheme.to_owned())),
        };
        let db = Self(Arc::new(driver));
        migrate::run(&db).await?;
        Ok(db)
    }

    pub fn engine(&self) -> Engine {
        match &*self.0 {
            Driver::Sqlite(_) => Engine::Sqlite,
            Driver::Postgres(_) => Engine::Postgres,
        }
    }

    /// Receives notifications of changes that other servers make. On SQLite there are none: the
    /// channel is closed.
    pub fn listen(&self) -> tokio::sync::mpsc::Receiver<Heard> {
        self.listen_to(Topic::Apps)
    }

    /// Receives notifications that executions may need to be run or cancelled, also after
    /// notifications may have been missed.
    pub fn listen_executions(&self) -> tokio::sync::mpsc::Receiver<Heard> {
        self.listen_to(Topic::Executions)
    }

    fn listen_to(&self, topic: Topic) -> tokio::sync::mpsc::Receiver<Heard> {
        match &*self.0 {
            Driver::Sqlite(_) => tokio::sync::mpsc::channel(1).1,
            Driver::Postgres(postgres) => match postgres.listener() {
                Some(connector) => listen::start(connector, topic),
                None => listen::poll(self.clone(), topic),
            },
        }
    }

    /// By how many milliseconds this machine's clock is ahead of the database's, as the last
    /// transaction measured it. 0 on SQLite.
    pub fn ahead_ms(&self) -> i64 {
        match &*self.0 {
            Driver::Sqlite(_) => 0,
            Driver::Postgres(postgres) => postgres.ahead_ms(),
        }
    }

    /// Acquires this process's write turn for the app; held until dropped. `None` on SQLite, where
    /// all writes are serialised anyway and waiting ones share a commit.
    pub(crate) async fn turn(&self, app: &str) -> Option<Turn> {
        match &*self.0 {
            Driver::Sqlite(_) => None,
            Driver::Postgres(postgres) => Some(postgres.turn(app).await),
        }
    }

    /// Runs `body` in one transaction, which is committed if it returns `Ok` and rolled back
    /// otherwise. When this returns `Ok`, the writes survive a power cut.
    pub async fn write<T, F>(&self, body: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BodyFuture<'t, T> + Send + 'static,
    {
        self.run(body, Ending::Commit).await
    }

    /// Runs `body` and ends the transaction with `ending`. A dry run takes the same path as the
    /// real write and is then rolled back.
    pub(crate) async fn run<T, F>(&self, body: F, ending: Ending) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BodyFuture<'t, T> + Send + 'static,
    {
        let (body, slot) = Slot::erase(body);
        match &*self.0 {
            Driver::Sqlite(sqlite) => sqlite.write(body, ending).await?,
            Driver::Postgres(postgres) => postgres.transaction(body, ending).await?,
        }
        slot.take()
    }

    /// Checks that the database responds.
    pub async fn ping(&self) -> Result<()> {
        let sql = "SELECT count(*) FROM schema_migrations";
        self.read(move |tx| Box::pin(async move { tx.count(sql, &[]).await.map(drop) })).await
    }

    /// Runs `body` on one consistent snapshot of the database. It must not write.
    pub async fn read<T, F>(&self, body: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BodyFuture<'t, T> + Send + 'static,
    {
        let (body, slot) = Slot::erase(body);
        match &*self.0 {
            Driver::Sqlite(sqlite) => sqlite.read(body).await?,
            Driver::Postgres(postgres) => postgres.transaction(body, Ending::ReadOnly).await?,
        }
        slot.take()
    }
}

impl Tx {
    /// The time that due times, beats and leases are judged by: on PostgreSQL its own time at the
    /// beginning of this transaction, so that nodes whose clocks differ agree. A simulated clock
    /// replaces it.
    pub fn now(&self) -> Timestamp {
        match &self.connection {
            Connection::Postgres(connection) if !self.clock.is_simulated() => connection.began_at(),
            Connection::Postgres(_) | Connection::Sqlite(_) => self.clock.now(),
        }
    }

    pub async fn query(&mut self, sql: &str, params: &[Val]) -> Result<Vec<Row>> {
        match &mut self.connection {
            Connection::Sqlite(connection) => connection.query(sql, params),
            Connection::Postgres(connection) => connection.query(sql, params).await,
        }
    }

    /// Runs a statement and returns how many rows it affected.
    pub async fn execute(&mut self, sql: &str, params: &[Val]) -> Result<u64> {
        match &mut self.connection {
            Connection::Sqlite(connection) => connection.execute(sql, params),
            Connection::Postgres(connection) => connection.execute(sql, params).await,
        }
    }

    /// Runs a statement that must affect one row. Any other number is an error: the row that the
    /// caller read or locked is gone, or the condition selects more than it should.
    pub async fn exactly_one(&mut self, sql: &str, params: &[Val]) -> Result<()> {
        self.exactly(1, sql, params).await
    }

    /// Runs a statement that must affect this many rows.
    pub async fn exactly(&mut self, rows: usize, sql: &str, params: &[Val]) -> Result<()> {
        match self.execute(sql, params).await? {
            affected if affected == rows as u64 => Ok(()),
            affected => {
                Err(CatalogError::inconsistent(format!("{affected} rows were written instead of {rows}: {sql}")))
            }
        }
    }

    pub async fn query_opt(&mut self, sql: &str, params: &[Val]) -> Result<Option<Row>> {
        Ok(self.query(sql, params).await?.into_iter().next())
    }

    pub async fn query_one(&mut self, sql: &str, params: &[Val]) -> Result<Row> {
        let row = self.query_opt(sql, params).await?;
        row.ok_or_else(|| CatalogError::inconsistent(format!("a statement that always answers a row gave none: {sql}")))
    }

    /// Returns the result of a `SELECT count(…)`.
    pub async fn count(&mut self, sql: &str, params: &[Val]) -> Result<i64> {
        self.query_one(sql, params).await?.int(0)
    }

    /// Waits until no other transaction that queued for `what` is open. When many transactions wait
    /// for a row that keeps changing, each change wakes all of them; this queue wakes only the
    /// next.
    pub async fn queue_for(&mut self, what: &str) -> Result<()> {
        if self.engine() == Engine::Postgres {
            let sql = "SELECT CAST(pg_advisory_xact_lock(hashtextextended($1, 0)) AS TEXT)";
            self.query(sql, &[what.into()]).await?;
        }
        Ok(())
    }

    /// Like [`Self::queue_for`], but waits for at most a quarter of a second, and then fails with
    /// [`CatalogError::Busy`]: the holder may be a server that was lost.
    pub async fn queue_briefly(&mut self, what: &str) -> Result<()> {
        if self.engine() == Engine::Postgres {
            self.batch("SET LOCAL lock_timeout = '250ms'").await?;
        }
        self.queue_for(what)
            .await
            .map_err(|error| if postgres::is_lock_timeout(&error) { CatalogError::Busy } else { error })
    }

    /// Frees this transaction's locks within three seconds if this server is lost now, for locks
    /// that all servers wait for.
    pub async fn hurry(&mut self) -> Result<()> {
        if self.engine() == Engine::Postgres {
            self.batch("SET LOCAL idle_in_transaction_session_timeout = '3s'").await?;
        }
        Ok(())
    }

    /// Notifies other servers, on commit, that something in an app changed.
    pub async fn tell(&mut self, app: &str) -> Result<()> {
        self.notify(Topic::Apps, app).await
    }

    /// Notifies other servers, on commit, that executions may need to be run or cancelled.
    pub async fn tell_executions(&mut self) -> Result<()> {
        self.notify(Topic::Executions, "").await
    }

    async fn notify(&mut self, topic: Topic, word: &str) -> Result<()> {
        if self.engine() == Engine::Postgres {
            let sql = "SELECT CAST(pg_notify($1, $2) AS TEXT)";
            self.query(sql, &[topic.channel().into(), word.into()]).await?;
        }
        Ok(())
    }

    /// Appended to a `SELECT` whose rows no other transaction may change until this one ends;
    /// others may still reference them. On SQLite this and the following clauses are empty: it has
    /// one writer at a time.
    pub fn for_update(&self) -> &'static str {
        self.on_postgres(" FOR NO KEY UPDATE")
    }

    /// Appended to a `SELECT` of rows that are about to be referenced. They cannot be deleted until
    /// the transaction ends. A row that is being deleted is waited for and not returned.
    pub fn for_reference(&self) -> &'static str {
        self.on_postgres(" FOR KEY SHARE")
    }

    /// Appended to a `SELECT` of rows to delete. Skips rows that other transactions have locked. No
    /// transaction can reference the selected rows until this one ends; references made before the
    /// lock must be looked up again.
    pub fn for_delete(&self) -> &'static str {
        self.on_postgres(" FOR UPDATE SKIP LOCKED")
    }

    /// Appended to a `SELECT` of versions that a new execution needs. They cannot be deleted until
    /// the transaction ends. A version that is being deleted is waited for.
    pub fn for_use(&self) -> &'static str {
        self.on_postgres(" FOR SHARE")
    }

    /// Like [`Self::for_use`], for a `SELECT` from several tables in which `v` is the versions.
    pub fn for_use_of_v(&self) -> &'static str {
        self.on_postgres(" FOR SHARE OF v")
    }

    /// Like [`Self::for_use`], for a transaction that already holds other row locks and so must not
    /// wait. Skips rows that other transactions are changing.
    pub fn for_use_at_once(&self) -> &'static str {
        self.on_postgres(" FOR SHARE SKIP LOCKED")
    }

    /// Appended to a `SELECT` of rows to work on. Each transaction gets different rows.
    pub fn for_claim(&self) -> &'static str {
        self.on_postgres(" FOR NO KEY UPDATE SKIP LOCKED")
    }

    /// An expression for the database's own time in milliseconds. Leases use it, so that nodes
    /// whose clocks differ agree on when a lease ends.
    pub fn database_now(&self) -> &'static str {
        match self.engine() {
            Engine::Sqlite => "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
            Engine::Postgres => "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)",
        }
    }

    fn on_postgres(&self, clause: &'static str) -> &'static str {
        match self.engine() {
            Engine::Sqlite => "",
            Engine::Postgres => clause,
        }
    }

    /// Sets the savepoint that [`Self::back_to_savepoint`] returns to. It replaces an earlier one.
    pub async fn savepoint(&mut self) -> Result<()> {
        self.execute("SAVEPOINT work", &[]).await.map(drop)
    }

    pub async fn back_to_savepoint(&mut self) -> Result<()> {
        self.execute("ROLLBACK TO SAVEPOINT work", &[]).await.map(drop)
    }

    async fn batch(&mut self, sql: &str) -> Result<()> {
        match &mut self.connection {
            Connection::Sqlite(connection) => connection.batch(sql),
            Connection::Postgres(connection) => connection.batch(sql).await,
        }
    }

    pub(crate) fn engine(&self) -> Engine {
        match &self.connection {
            Connection::Sqlite(_) => Engine::Sqlite,
            Connection::Postgres(_) => Engine::Postgres,
        }
    }
}
