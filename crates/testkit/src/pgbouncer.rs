//! PgBouncer, in its own process, in front of a PostgreSQL.

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::free_port;
use crate::postgres::ServerUser;

const START_DEADLINE: Duration = Duration::from_secs(30);

/// When a server connection goes to the next client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolMode {
    /// When the client disconnects.
    Session,
    /// After each transaction.
    Transaction,
}

/// A running pooler. Dropping it ends the process.
pub struct PgBouncer {
    child: Child,
    port: u16,
    _home: TempDir,
}

impl PgBouncer {
    /// Starts a pooler for all databases of the server of `url`, with up to 20 connections each.
    pub fn start(url: &str, mode: PoolMode) -> Self {
        let server = authority(url);
        let (user, address) = server.split_once('@').expect("a user");
        let (host, port) = address.split_once(':').expect("a port");
        let mode = if mode == PoolMode::Session { "session" } else { "transaction" };
        let home = tempfile::Builder::new().prefix("milepost-pgbouncer-").tempdir().unwrap();
        let runs_as = ServerUser::for_owner_of(home.path());
        runs_as.give(home.path());
        let deadline = Instant::now() + START_DEADLINE;
        loop {
            // Another process may take the free port first, so each try uses a new one.
            let own = free_port();
            let settings = format!(
                "[databases]\n* = host={host} port={port} user={user}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
                 listen_port = {own}\nunix_socket_dir =\nauth_type = any\npool_mode = {mode}\nmax_client_conn = 400\n"
            );
            let file = home.path().join("pgbouncer.ini");
            fs::write(&file, settings).unwrap();
            let mut command = Command::new(program());
            command.arg("-q").arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            runs_as.apply(&mut command);
            let mut child = command.spawn().expect("start `pgbouncer`; `cargo xtask setup` installs it");
            while matches!(child.try_wait(), Ok(None)) {
                if TcpStream::connect((Ipv4Addr::LOCALHOST, own)).is_ok() {
                    return Self { child, port: own, _home: home };
                }
                assert!(Instant::now() < deadline, "PgBouncer did not answer within {START_DEADLINE:?}");
                thread::sleep(Duration::from_millis(5));
            }
            assert!(Instant::now() < deadline, "PgBouncer does not start");
        }
    }

    /// The URL of the same database, through the pooler.
    pub fn url(&self, database: &str) -> String {
        let server = authority(database);
        let (user, _) = server.split_once('@').expect("a user");
        database.replacen(server, &format!("{user}@127.0.0.1:{}", self.port), 1)
    }
}

/// Debian keeps it off the `PATH` of users.
fn program() -> &'static str {
    let debian = "/usr/sbin/pgbouncer";
    if fs::exists(debian).unwrap_or_default() { debian } else { "pgbouncer" }
}

/// The part `user@host:port` of a URL.
fn authority(url: &str) -> &str {
    let rest = url.split_once("://").expect("a URL").1;
    rest.split('/').next().unwrap_or(rest)
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
