//! SQLite: one writer thread that commits many bodies at once, and a few read connections that are
//! used on the caller's thread.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures::FutureExt;
use milepost_model::Clock;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{OpenFlags, ToSql};
use tokio::sync::oneshot;

use super::{BodyFuture, Ending, Row, Tx, Val};
use crate::error::{CatalogError, Result};

/// Maximum number of bodies per commit: enough to amortise the sync, few enough that the first does
/// not wait long.
const GROUP: usize = 64;
const READERS: usize = 4;
/// Statements are few and fixed, so all of them stay prepared.
const STATEMENTS: usize = 256;

pub(super) struct Sqlite {
    writer: mpsc::Sender<Job>,
    readers: Mutex<Vec<Connection>>,
    path: std::path::PathBuf,
    clock: Arc<dyn Clock>,
}

/// Runs one body inside the writer's transaction. The returned closure is called with the result of
/// the commit.
type Job = Box<dyn FnOnce(&Connection) -> Box<dyn FnOnce(Result<()>) + Send> + Send>;

/// Shared so that a transaction is `Send`. The lock is never contended.
#[derive(Clone)]
pub(super) struct Connection(Arc<Mutex<rusqlite::Connection>>);

impl Sqlite {
    pub(super) fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self> {
        let writer = Connection::open(path)?;
        let (sender, jobs) = mpsc::channel::<Job>();
        std::thread::Builder::new()
            .name("catalog-writer".to_owned())
            .spawn(move || write_loop(&writer, &jobs))
            .map_err(|error| CatalogError::database("start the writer thread", error))?;
        Ok(Self { writer: sender, readers: Mutex::new(Vec::new()), path: path.to_owned(), clock })
    }

    pub(super) async fn write<T, F>(&self, body: F, ending: Ending) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BodyFuture<'t, T> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let clock = Arc::clone(&self.clock);
        let job: Job = Box::new(move |connection| {
            let result = run_in_savepoint(connection, clock, body, ending);
            Box::new(move |committed| {
                // The caller may have gone away. The commit stands either way.
                let _ = reply.send(committed.and(result));
            })
        });
        let gone = || {
            CatalogError::database(
                "write",
                std::io::Error::other("the database did not let a transaction begin; is another process holding it?"),
            )
        };
        self.writer.send(job).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    pub(super) async fn read<T, F>(&self, body: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BodyFuture<'t, T> + Send + 'static,
    {
        let pooled = lock(&self.readers).pop();
        let connection = match pooled {
            Some(connection) => connection,
            None => Connection::open(&self.path)?,
        };
        connection.batch("BEGIN")?;
        let result = run_now(&connection, Arc::clone(&self.clock), body);
        connection.batch("ROLLBACK")?;
        let mut readers = lock(&self.readers);
        if readers.len() < READERS {
            readers.push(connection);
        }
        drop(readers);
        result
    }
}

fn write_loop(connection: &Connection, jobs: &mpsc::Receiver<Job>) {
    while let Ok(first) = jobs.recv() {
        // With a plain BEGIN, a body that reads before it writes would fail if another process
        // wrote in between.
        if let Err(error) = connection.batch("BEGIN IMMEDIATE") {
            // Dropping the job makes its caller's channel return an error. Running it outside a
            // transaction would commit each statement on its own.
            tracing::error!(error = &error as &dyn std::error::Error, "the database did not let a transaction begin");
            continue;
        }
        let mut finishers = vec![first(connection)];
        while finishers.len() < GROUP {
            let Ok(job) = jobs.try_recv() else { break };
            finishers.push(job(connection));
        }
        let committed = connection.batch("COMMIT").map_err(|error| {
            // A failed commit leaves the transaction open.
            let _ = connection.batch("ROLLBACK");
            // Keeps the whole chain, because the last source is the cause, such as a full disk.
            let causes = std::iter::successors(std::error::Error::source(&error), |cause| cause.source());
            causes.fold(error.to_string(), |told, cause| format!("{told}: {cause}"))
        });
        for finish in finishers {
            finish(committed.clone().map_err(|error| CatalogError::database("commit", std::io::Error::other(error))));
        }
    }
}

fn run_in_savepoint<T, F>(connection: &Connection, clock: Arc<dyn Clock>, body: F, ending: Ending) -> Result<T>
where
    T: Send + 'static,
    F: for<'t> FnOnce(&'t mut Tx) -> BodyFuture<'t, T>,
{
    connection.batch("SAVEPOINT body")?;
    let result = run_now(connection, clock, body);
    if result.is_err() || ending != Ending::Commit {
        connection.batch("ROLLBACK TO body")?;
    }
    connection.batch("RELEASE body")?;
    result
}

/// Polls a body once: everything that it awaits is ready immediately.
fn run_now<T, F>(connection: &Connection, clock: Arc<dyn Clock>, body: F) -> Result<T>
where
    F: for<'t> FnOnce(&'t mut Tx) -> BodyFuture<'t, T>,
{
    let mut tx = Tx { connection: super::Connection::Sqlite(connection.clone()), clock };
    // A panic in one body must not stop the writer thread, and with it the server.
    let body = std::panic::AssertUnwindSafe(body(&mut tx)).catch_unwind();
    let mut body = std::pin::pin!(body);
    match body.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(result)) => result,
        Poll::Ready(Err(_)) => Err(CatalogError::inconsistent("a transaction body panicked".to_owned())),
        Poll::Pending => {
            Err(CatalogError::inconsistent("a transaction body awaited something else than its transaction".to_owned()))
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Connection {
    fn open(path: &Path) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = rusqlite::Connection::open_with_flags(path, flags)
            .map_err(|error| CatalogError::database("open the SQLite file", error))?;
        let setup = || {
            connection.busy_timeout(Duration::from_secs(10))?;
            connection.set_prepared_statement_cache_capacity(STATEMENTS);
            // FULL: an acknowledged commit survives a power cut.
            connection.execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; \
                 PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY;",
            )
        };
        setup().map_err(|error| CatalogError::database("set up the SQLite connection", error))?;
        Ok(Self(Arc::new(Mutex::new(connection))))
    }

    pub(super) fn batch(&self, sql: &str) -> Result<()> {
        lock(&self.0).execute_batch(sql).map_err(|error| CatalogError::database("run a statement", error))
    }

    pub(super) fn execute(&self, sql: &str, params: &[Val]) -> Result<u64> {
        let connection = lock(&self.0);
        let run = || {
            let mut statement = connection.prepare_cached(sql)?;
            bind(&mut statement, params)?;
            statement.raw_execute()
        };
        run().map(|rows| rows as u64).map_err(|error| CatalogError::database(sql, error))
    }

    pub(super) fn query(&self, sql: &str, params: &[Val]) -> Result<Vec<Row>> {
        let connection = lock(&self.0);
        let run = || {
            let mut statement = connection.prepare_cached(sql)?;
            bind(&mut statement, params)?;
            let width = statement.column_count();
            let mut rows = statement.raw_query();
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let values = (0..width).map(|index| row.get_ref(index).map(read)).collect::<rusqlite::Result<_>>()?;
                found.push(Row(values));
            }
            Ok(found)
        };
        run().map_err(|error: rusqlite::Error| CatalogError::database(sql, error))
    }
}

/// SQLite treats `$2` as a *named* parameter, numbered by first appearance, so it must be looked up
/// by name.
fn bind(statement: &mut rusqlite::Statement<'_>, params: &[Val]) -> rusqlite::Result<()> {
    let mut name = String::with_capacity(4);
    for (position, value) in params.iter().enumerate() {
        use std::fmt::Write;
        name.clear();
        let _ = write!(name, "${}", position + 1);
        if let Some(index) = statement.parameter_index(&name)? {
            statement.raw_bind_parameter(index, value)?;
        }
    }
    Ok(())
}

fn read(value: ValueRef<'_>) -> Val {
    match value {
        ValueRef::Null => Val::Null,
        ValueRef::Integer(value) => Val::Int(value),
        ValueRef::Real(value) => Val::Int(value as i64),
        ValueRef::Text(value) => Val::Text(String::from_utf8_lossy(value).into_owned()),
        ValueRef::Blob(value) => Val::Bytes(value.to_vec()),
    }
}

impl ToSql for Val {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Owned(Value::Null),
            Self::Int(value) => ToSqlOutput::Owned(Value::Integer(*value)),
            Self::Text(value) => ToSqlOutput::Borrowed(ValueRef::Text(value.as_bytes())),
            Self::Bytes(value) => ToSqlOutput::Borrowed(ValueRef::Blob(value)),
        })
    }
}
