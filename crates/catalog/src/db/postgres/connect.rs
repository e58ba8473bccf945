//! Connections to one of several hosts.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use deadpool::managed::{Manager, Metrics, RecycleError, RecycleResult};
use tokio::task::JoinHandle;
use tokio_postgres::config::{LoadBalanceHosts, SslMode};
use tokio_postgres::{Client, Connection, Socket, Statement};

use super::address::{Address, OneHost};
use super::tls::{Stream, Tls};
use crate::error::{CatalogError, Result};

/// How long one of several hosts may take until it is logged in to: a stopped server accepts
/// connections but never answers.
const ONE_OF_SEVERAL: Duration = Duration::from_secs(4);
const ONLY_ONE: Duration = Duration::from_secs(10);

/// Connects to the first host that accepts, beginning with the one that did last.
pub(in crate::db) struct Connector {
    hosts: Vec<OneHost>,
    tls: Tls,
    last: AtomicUsize,
    spread: bool,
}

/// Why no host accepted a connection, by host.
#[derive(Debug)]
pub(in crate::db) struct NoHost(Vec<(String, String)>);

impl fmt::Display for NoHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (host, why)) in self.0.iter().enumerate() {
            write!(f, "{}{host}: {why}", if index == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

impl Error for NoHost {}

impl Connector {
    pub(super) fn new(address: Address) -> Result<Self> {
        let tls = Tls::new(&address.tls).map_err(|error| CatalogError::database("set up TLS to PostgreSQL", error))?;
        let random = |host: &OneHost| host.config.get_load_balance_hosts() == LoadBalanceHosts::Random;
        let spread = address.hosts.iter().any(random);
        Ok(Self { hosts: address.hosts, tls, last: AtomicUsize::new(0), spread })
    }

    /// The longest time that [`Self::connect`] takes.
    pub(super) fn patience(&self) -> Duration {
        ONLY_ONE.max(ONE_OF_SEVERAL * u32::try_from(self.hosts.len()).unwrap_or(u32::MAX))
    }

    /// The place of the host that accepted last.
    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        self.last.load(Ordering::Relaxed)
    }

    pub(in crate::db) async fn connect(&self) -> Result<(Client, Connection<Socket, Stream>), NoHost> {
        let each = if self.hosts.len() > 1 { ONE_OF_SEVERAL } else { ONLY_ONE };
        let first = match self.spread {
            true => self.last.fetch_add(1, Ordering::Relaxed),
            false => self.last.load(Ordering::Relaxed),
        };
        let mut failed = Vec::new();
        for step in 0..self.hosts.len() {
            let index = (first.wrapping_add(step)) % self.hosts.len();
            let host = &self.hosts[index];
            let why = match tokio::time::timeout(each, self.one(host)).await {
                Ok(Ok(connected)) => {
                    if !self.spread {
                        self.last.store(index, Ordering::Relaxed);
                    }
                    return Ok(connected);
                }
                Ok(Err(error)) => innermost(&error),
                Err(_) => format!("no answer within {} s", each.as_secs()),
            };
            failed.push((host.name.clone(), why));
        }
        if failed.is_empty() {
            failed.push(("the URL".to_owned(), "it names no host".to_owned()));
        }
        // In the order of the URL.
        let place = |name: &str| self.hosts.iter().position(|host| host.name == name);
        failed.sort_by_key(|(name, _)| place(name));
        Err(NoHost(failed))
    }

    async fn one(&self, host: &OneHost) -> Result<(Client, Connection<Socket, Stream>), tokio_postgres::Error> {
        let connected = host.config.connect(self.tls.clone()).await;
        match connected {
            // As in libpq, `prefer` settles for less if the handshake fails.
            Err(error) if host.config.get_ssl_mode() == SslMode::Prefer && is_handshake(&error) => {
                let mut plain = host.config.clone();
                plain.ssl_mode(SslMode::Disable);
                plain.connect(self.tls.clone()).await
            }
            connected => connected,
        }
    }
}

/// The driver does not expose the kind of an error.
fn is_handshake(error: &tokio_postgres::Error) -> bool {
    error.to_string().contains("TLS handshake")
}

/// The last cause says what is wrong; those before it say "error connecting to server".
fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

/// A connection of the pool.
pub(super) struct Session {
    pub(super) client: Client,
    statements: Mutex<HashMap<Box<str>, Statement>>,
    driver: JoinHandle<()>,
}

impl Drop for Session {
    fn drop(&mut self) {
        // Also when the server does not answer. The socket is closed, which ends the session.
        self.driver.abort();
    }
}

impl Session {
    pub(super) async fn open(connector: &Connector) -> Result<Self, NoHost> {
        let (client, connection) = connector.connect().await?;
        let driver = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(error = &error as &dyn Error, "a connection to PostgreSQL broke");
            }
        });
        Ok(Self { client, statements: Mutex::default(), driver })
    }

    /// Statements are few and fixed, so all of them stay prepared.
    pub(super) async fn prepare(&self, sql: &str) -> Result<Statement, tokio_postgres::Error> {
        let known = self.statements.lock().unwrap_or_else(PoisonError::into_inner).get(sql).cloned();
        if let Some(statement) = known {
            return Ok(statement);
        }
        let statement = self.client.prepare(sql).await?;
        self.statements.lock().unwrap_or_else(PoisonError::into_inner).insert(sql.into(), statement.clone());
        Ok(statement)
    }
}

/// Makes the connections of a pool.
pub(super) struct Sessions(pub std::sync::Arc<Connector>);

impl Manager for Sessions {
    type Type = Session;
    type Error = NoHost;

    async fn create(&self) -> Result<Session, NoHost> {
        // Boxed, because connections are rarely made, and the future of each transaction contains this.
        Box::pin(Session::open(&self.0)).await
    }

    async fn recycle(&self, session: &mut Session, _: &Metrics) -> RecycleResult<NoHost> {
        match session.client.is_closed() {
            true => Err(RecycleError::message("the connection is closed")),
            false => Ok(()),
        }
    }
}

/// Whether connections share sessions, as with PgBouncer in transaction mode: nothing that outlives
/// a transaction may be relied on then.
pub(super) async fn shares_sessions(connector: &Connector) -> Result<bool> {
    let probing = async {
        let first = Session::open(connector).await.map_err(|error| CatalogError::database(super::CONNECT, error))?;
        let second = Session::open(connector).await.map_err(|error| CatalogError::database(super::CONNECT, error))?;
        let before = backend(&first, "").await?;
        // A pooler gives the session that was used last to the next one who asks.
        if backend(&second, "BEGIN; ").await? == before {
            return Ok(true);
        }
        // Another client may have been faster. Then the first connection gets another session now.
        Ok(backend(&first, "").await? != before)
    };
    let late = || CatalogError::database(super::CONNECT, std::io::Error::other("it did not answer in time"));
    tokio::time::timeout(connector.patience() * 2, probing).await.map_err(|_| late())?
}

async fn backend(session: &Session, before: &str) -> Result<String> {
    let failed = |error| CatalogError::database("ask PostgreSQL for the number of its process", error);
    let sql = format!("{before}SELECT pg_backend_pid()");
    super::last_value(&session.client, &sql).await.map_err(failed)
}
