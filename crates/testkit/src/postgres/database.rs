//! A private database of a test.

use std::env;
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::thread;

use tokio_postgres::{Error, NoTls};

use super::shared;

/// An empty private database. Dropping this drops the database, even with open connections.
pub struct TestDatabase {
    /// For example `postgres://user@127.0.0.1:port/name`.
    pub url: String,
    server: String,
    name: String,
    /// Keeps the shared server running as long as this database is in use.
    lease: Option<File>,
}

/// Creates an empty database on the server that all tests share. Blocks for some tens of
/// milliseconds (a second or two if it has to start the server) and works inside and outside of an
/// async runtime.
pub fn database() -> TestDatabase {
    match env::var("MILEPOST_TEST_POSTGRES") {
        Ok(server) => TestDatabase::create(&server, None),
        Err(_) => {
            let (server, lease) = shared::acquire();
            TestDatabase::create(&server, Some(lease))
        }
    }
}

/// Copies a database with everything in it. Connections to the original are closed.
pub fn copy(of: &TestDatabase) -> TestDatabase {
    // Nothing may connect meanwhile: a connection would block the copy.
    of.allow_connections(false);
    let lease = of.lease.as_ref().map(|lease| lease.try_clone().unwrap());
    let copy = TestDatabase::from_template(&of.server, &of.name, lease);
    of.allow_connections(true);
    copy
}

impl TestDatabase {
    /// Runs statements, such as a dump in plain SQL.
    pub fn run(&self, statements: &str) {
        execute(&self.url, statements).unwrap_or_else(|error| panic!("run statements in {}: {error:?}", self.name));
    }

    pub(super) fn create(server: &str, lease: Option<File>) -> Self {
        // Uses the empty template, to which nothing can connect: a connection would block the copy.
        Self::from_template(server, "template0", lease)
    }

    /// Replaces the content with that of a copy, as a restore does. Connections are closed.
    pub fn replace_with(&self, saved: &Self) {
        self.allow_connections(false);
        for statement in [
            format!("DROP DATABASE {} WITH (FORCE)", self.name),
            format!("CREATE DATABASE {} TEMPLATE {}", self.name, saved.name),
        ] {
            execute(&self.server, &statement).unwrap_or_else(|error| panic!("{statement}: {error:?}"));
        }
    }

    fn allow_connections(&self, allowed: bool) {
        let name = &self.name;
        let mut statements = vec![format!("ALTER DATABASE {name} ALLOW_CONNECTIONS {allowed}")];
        if !allowed {
            statements.push(format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"));
        }
        for statement in statements {
            execute(&self.server, &statement).unwrap_or_else(|error| panic!("{statement}: {error:?}"));
        }
    }

    fn from_template(server: &str, template: &str, lease: Option<File>) -> Self {
        // Each hasher of the standard library is seeded randomly by the system, which is unique
        // enough.
        let name = format!("test_{:016x}", RandomState::new().build_hasher().finish());
        let statement = format!("CREATE DATABASE {name} TEMPLATE {template}");
        execute(server, &statement).unwrap_or_else(|error| panic!("create a database on {server}: {error:?}"));
        Self { url: with_database(server, &name), server: server.to_owned(), name, lease }
    }

    /// Runs statements directly on the database.
    pub fn batch(&self, statements: &str) {
        execute(&self.url, statements).unwrap_or_else(|error| panic!("{statements}: {error:?}"));
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        // The test may have killed the server. Then there is nothing to drop.
        let _ = execute(&self.server, &format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
    }
}

/// Runs one statement on its own connection, in its own thread: the caller may be in an async
/// runtime, which cannot block on another, or in a `Drop`, which cannot await.
pub(super) fn execute(url: &str, statement: &str) -> Result<(), Error> {
    let work = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
            let connection = tokio::spawn(connection);
            client.batch_execute(statement).await?;
            drop(client);
            connection.await.expect("the connection's task")
        })
    };
    thread::scope(|scope| scope.spawn(work).join()).expect("the thread that talks to PostgreSQL")
}

fn with_database(server: &str, name: &str) -> String {
    let (address, options) =
        server.split_once('?').map_or((server, None), |(address, options)| (address, Some(options)));
    let authority = address.find("://").map_or(0, |at| at + 3);
    let base = address[authority..].find('/').map_or(address, |slash| &address[..authority + slash]);
    options.map_or_else(|| format!("{base}/{name}"), |options| format!("{base}/{name}?{options}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_the_database_of_a_url() {
        assert_eq!(with_database("postgres://u@h:1/postgres", "t"), "postgres://u@h:1/t");
        assert_eq!(with_database("postgres://u@h:1", "t"), "postgres://u@h:1/t");
        assert_eq!(with_database("postgres://u@h:1/p?sslmode=disable", "t"), "postgres://u@h:1/t?sslmode=disable");
    }
}
