//! The thin driver layer: one transaction type over two engines. SQL is plain text with `$1` parameters, written once
//! for both; what differs (locking, ids) is in the migrations and in the few methods here that say so.
//!
//! A transaction body may await only its [`Tx`]: on SQLite it runs on the writer's thread, where every query is ready at
//! once, and many bodies share one commit.

mod listen;
mod migrate;
mod postgres;
mod sqlite;
mod turns;
mod value;

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

pub use listen::Heard;
pub(crate) use turns::Turn;
pub use value::{Row, Val, placeholders, typed_placeholders};

use crate::error::{CatalogError, Result};

pub type BodyFuture<'t, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 't>>;

#[derive(Clone)]
pub struct Db(Arc<Engine>);

enum Engine {
    Sqlite(sqlite::Sqlite),
    Postgres(Box<postgres::Postgres>),
}

/// What becomes of a transaction whose body succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Commit,
    Forget,
    ReadOnly,
}

/// One open transaction, or for reads one connection with a steady view.
pub struct Tx(Connection);

enum Connection {
    Sqlite(sqlite::Connection),
    Postgres(Box<postgres::Connection>),
}

impl Db {
    /// Opens the database at `url` (`postgres://…` or a path of a SQLite file) and brings its schema up to date.
    pub async fn open(url: &str) -> Result<Self> {
        let engine = match url.split_once("://") {
            Some(("postgres" | "postgresql", _)) => Engine::Postgres(Box::new(postgres::Postgres::open(url).await?)),
            None => Engine::Sqlite(sqlite::Sqlite::open(Path::new(url))?),
            Some(("sqlite" | "file", path)) => Engine::Sqlite(sqlite::Sqlite::open(Path::new(path))?),
            // What follows may hold a password.
            Some((scheme, _)) => return Err(CatalogError::UnknownScheme(scheme.to_owned())),
        };
        let db = Self(Arc::new(engine));
        migrate::run(&db).await?;
        Ok(db)
    }

    pub fn engine_name(&self) -> &'static str {
        match &*self.0 {
            Engine::Sqlite(_) => "sqlite",
            Engine::Postgres(_) => "postgres",
        }
    }

    /// Word of changes that other servers make. On SQLite there are none: the channel is closed.
    pub fn listen(&self) -> tokio::sync::mpsc::Receiver<Heard> {
        match &*self.0 {
            Engine::Sqlite(_) => tokio::sync::mpsc::channel(1).1,
            Engine::Postgres(postgres) => listen::start(postgres.config(), listen::CHANNEL),
        }
    }

    /// Word that there is something to run or to stop, also after words may have been missed.
    pub fn listen_executions(&self) -> tokio::sync::mpsc::Receiver<Heard> {
        match &*self.0 {
            Engine::Sqlite(_) => tokio::sync::mpsc::channel(1).1,
            Engine::Postgres(postgres) => listen::start(postgres.config(), listen::EXECUTIONS),
        }
    }

    /// To be first of those who write to the same app from here, for as long as the answer lives. Not on SQLite: there all
    /// writes follow each other, and those that wait share a commit.
    pub(crate) async fn turn(&self, app: &str) -> Option<Turn> {
        match &*self.0 {
            Engine::Sqlite(_) => None,
            Engine::Postgres(postgres) => Some(postgres.turn(app).await),
        }
    }

    /// Runs `body` in one transaction: committed when it returns `Ok`, gone without a trace otherwise. When this
    /// returns `Ok`, what was written survives a power cut.
    pub async fn write<T, F>(&self, body: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BodyFuture<'t, T> + Send + 'static,
    {
        self.run(body, Ending::Commit).await
    }

    /// Runs `body` and ends as told; a dry run takes the very path of the real one and then forgets all it wrote.
    pub(crate) async fn run<T, F>(&self, body: F, ending: Ending) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BodyFuture<'t, T> + Send + 'static,
    {
        match &*self.0 {
            Engine::Sqlite(sqlite) => sqlite.write(body, ending).await,
            Engine::Postgres(postgres) => postgres.transaction(body, ending).await,
        }
    }

    /// Runs `body` on one consistent view of the database. It must not write.
    pub async fn read<T, F>(&self, body: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BodyFuture<'t, T> + Send + 'static,
    {
        match &*self.0 {
            Engine::Sqlite(sqlite) => sqlite.read(body).await,
            Engine::Postgres(postgres) => postgres.transaction(body, Ending::ReadOnly).await,
        }
    }
}

impl Tx {
    pub async fn query(&mut self, sql: &str, params: &[Val]) -> Result<Vec<Row>> {
        match &mut self.0 {
            Connection::Sqlite(connection) => connection.query(sql, params),
            Connection::Postgres(connection) => connection.query(sql, params).await,
        }
    }

    /// Runs a statement and answers how many rows it touched.
    pub async fn execute(&mut self, sql: &str, params: &[Val]) -> Result<u64> {
        match &mut self.0 {
            Connection::Sqlite(connection) => connection.execute(sql, params),
            Connection::Postgres(connection) => connection.execute(sql, params).await,
        }
    }

    pub async fn query_opt(&mut self, sql: &str, params: &[Val]) -> Result<Option<Row>> {
        Ok(self.query(sql, params).await?.into_iter().next())
    }

    pub async fn query_one(&mut self, sql: &str, params: &[Val]) -> Result<Row> {
        let row = self.query_opt(sql, params).await?;
        row.ok_or_else(|| CatalogError::inconsistent(format!("a statement that always answers a row gave none: {sql}")))
    }

    /// The count that a `SELECT count(…)` answers.
    pub async fn count(&mut self, sql: &str, params: &[Val]) -> Result<i64> {
        self.query_one(sql, params).await?.int(0)
    }

    /// Waits until no other transaction that queued for the same thing is open. Waiting for a row that changes each time
    /// wakes all who wait for it; this queue wakes the next one.
    pub async fn queue_for(&mut self, what: &str) -> Result<()> {
        if self.engine_name() == "postgres" {
            let sql = "SELECT CAST(pg_advisory_xact_lock(hashtextextended($1, 0)) AS TEXT)";
            self.query(sql, &[what.into()]).await?;
        }
        Ok(())
    }

    /// Tells other servers, once the transaction is committed, that something of an app changed.
    pub async fn tell(&mut self, app: &str) -> Result<()> {
        self.notify(listen::CHANNEL, app).await
    }

    /// Tells other servers that there is something to run or to stop.
    pub async fn tell_executions(&mut self) -> Result<()> {
        self.notify(listen::EXECUTIONS, "").await
    }

    async fn notify(&mut self, channel: &str, word: &str) -> Result<()> {
        if self.engine_name() == "postgres" {
            let sql = "SELECT CAST(pg_notify($1, $2) AS TEXT)";
            self.query(sql, &[channel.into(), word.into()]).await?;
        }
        Ok(())
    }

    /// Appended to a `SELECT` whose rows nobody else may change until the end of the transaction. Others may refer to
    /// them meanwhile. SQLite has one writer at a time, so there this and the next two are nothing.
    pub fn for_update(&self) -> &'static str {
        self.on_postgres(" FOR NO KEY UPDATE")
    }

    /// Appended to a `SELECT` of rows that are about to be referred to: they stay, and one that is being deleted is
    /// waited for and not found.
    pub fn for_reference(&self) -> &'static str {
        self.on_postgres(" FOR KEY SHARE")
    }

    /// Appended to a `SELECT` of rows to delete. Those that somebody works with are left out rather than waited for, and
    /// nobody can refer to the others until the end of the transaction; references made before the lock have to be
    /// looked for again.
    pub fn for_delete(&self) -> &'static str {
        self.on_postgres(" FOR UPDATE SKIP LOCKED")
    }

    /// Appended to a `SELECT` of versions that a new execution needs: nobody deletes them until the end of the
    /// transaction, and one that is being deleted is waited for.
    pub fn for_use(&self) -> &'static str {
        self.on_postgres(" FOR SHARE")
    }

    /// The same in a `SELECT` from several tables, of which `v` is the versions.
    pub fn for_use_of_v(&self) -> &'static str {
        self.on_postgres(" FOR SHARE OF v")
    }

    /// The same for those who hold other rows already and so must not wait: rows that somebody changes are left out.
    pub fn for_use_at_once(&self) -> &'static str {
        self.on_postgres(" FOR SHARE SKIP LOCKED")
    }

    /// Appended to a `SELECT` of rows to work on, of which everybody takes others.
    pub fn for_claim(&self) -> &'static str {
        self.on_postgres(" FOR NO KEY UPDATE SKIP LOCKED")
    }

    /// An expression for the database's own time in milliseconds: leases are compared by it, so nodes whose clocks differ
    /// agree on when one ends.
    pub fn database_now(&self) -> &'static str {
        match &self.0 {
            Connection::Sqlite(_) => "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
            Connection::Postgres(_) => "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)",
        }
    }

    fn on_postgres(&self, clause: &'static str) -> &'static str {
        match &self.0 {
            Connection::Sqlite(_) => "",
            Connection::Postgres(_) => clause,
        }
    }

    async fn batch(&mut self, sql: &str) -> Result<()> {
        match &mut self.0 {
            Connection::Sqlite(connection) => connection.batch(sql),
            Connection::Postgres(connection) => connection.batch(sql).await,
        }
    }

    fn engine_name(&self) -> &'static str {
        match &self.0 {
            Connection::Sqlite(_) => "sqlite",
            Connection::Postgres(_) => "postgres",
        }
    }
}
