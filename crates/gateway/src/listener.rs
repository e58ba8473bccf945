//! Accepts connections, and shuts down without interrupting requests.
//!
//! Connections are tasks of the caller's runtime. One thread per core with a runtime of its own was
//! measured too: the same CPU time for a file, and 45 µs more for a function call, which has to
//! switch threads twice.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::backend::Backend;
use crate::connection_limit::{ConnectionLimiter, ConnectionLimits};
use crate::gateway::{Gateway, Inner, Peer};
use crate::http_connection::{self, Phases};
use crate::log_limit::LogLimit;
use crate::tls::Tls;

/// How often the certificate's files are checked.
const CERTIFICATE_EVERY: Duration = Duration::from_secs(30);
/// One in this many connections of the inside listener may be without a valid call token.
const INSIDE_ANONYMOUS_PART: usize = 2;
/// Delay after a failed accept, for example when the process is out of file descriptors.
const AFTER_ERROR: Duration = Duration::from_millis(50);

const TOO_MANY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// A socket to accept from.
pub struct Listener {
    socket: TcpListener,
    tls: Option<Tls>,
    inside: bool,
}

impl Listener {
    pub fn plain(socket: TcpListener) -> Self {
        Self { socket, tls: None, inside: false }
    }

    pub fn tls(socket: TcpListener, tls: Tls) -> Self {
        Self { socket, tls: Some(tls), inside: false }
    }

    /// For calls between functions: rejects every request without a call token.
    pub fn inside(socket: TcpListener) -> Self {
        Self { socket, tls: None, inside: true }
    }
}

impl<B: Backend> Gateway<B> {
    /// Serves until `stop`, then lets requests finish, and returns when all connections are closed.
    /// Dropping the future cuts all of them.
    pub async fn serve(&self, listeners: Vec<Listener>, stop: CancellationToken) -> io::Result<()> {
        let inner = &self.inner;
        let phases = Phases { stop: stop.clone(), kill: CancellationToken::new() };
        let _cut = phases.kill.clone().drop_guard();
        // Separate limits, so that calls between functions and calls from outside cannot starve
        // each other.
        let limits = &inner.settings.limits;
        let outside = ConnectionLimiter::new(ConnectionLimits::all(limits.connections));
        let (total, anonymous) = (limits.inside_connections, limits.inside_connections.div_ceil(INSIDE_ANONYMOUS_PART));
        let within = ConnectionLimiter::new(ConnectionLimits { total, anonymous });
        let connections = TaskTracker::new();
        let accepting = TaskTracker::new();
        for listener in listeners {
            if let Some(tls) = listener.tls.clone().filter(Tls::has_files) {
                accepting.spawn(watch_certificate(tls, stop.clone()));
            }
            let acceptor = Acceptor {
                inner: inner.clone(),
                connections: connections.clone(),
                phases: phases.clone(),
                tls: listener.tls,
                inside: listener.inside,
                limiter: if listener.inside { within.clone() } else { outside.clone() },
            };
            accepting.spawn(acceptor.accept_all(listener.socket));
        }
        stop.cancelled().await;
        inner.draining.store(true, Ordering::Relaxed);
        accepting.close();
        accepting.wait().await;
        connections.close();
        if tokio::time::timeout(inner.settings.limits.drain, connections.wait()).await.is_err() {
            tracing::warn!(connections = connections.len(), "connections were cut: their requests did not end in time");
            phases.kill.cancel();
            connections.wait().await;
        }
        Ok(())
    }
}

struct Acceptor<B: Backend> {
    inner: Arc<Inner<B>>,
    connections: TaskTracker,
    phases: Phases,
    tls: Option<Tls>,
    inside: bool,
    /// Shared by all listeners of the same kind.
    limiter: Arc<ConnectionLimiter>,
}

impl<B: Backend> Acceptor<B> {
    async fn accept_all(self, socket: TcpListener) {
        loop {
            let accepted = tokio::select! {
                biased;
                () = self.phases.stop.cancelled() => break,
                accepted = socket.accept() => accepted,
            };
            match accepted {
                Ok((stream, address)) => self.admit(stream, address).await,
                Err(error) if is_connection_error(&error) => {}
                Err(error) => {
                    static FAILING: LogLimit = LogLimit::new();
                    if FAILING.is_due() {
                        tracing::warn!(%error, "connections cannot be accepted; idle ones are closed");
                    }
                    self.limiter.evict_idle();
                    tokio::time::sleep(AFTER_ERROR).await;
                }
            }
        }
        // Also serve connections that the kernel has already accepted.
        let Ok(socket) = socket.into_std() else { return };
        while let Ok((stream, address)) = socket.accept() {
            if stream.set_nonblocking(true).is_ok()
                && let Ok(stream) = TcpStream::from_std(stream)
            {
                self.admit(stream, address).await;
            }
        }
    }

    async fn admit(&self, stream: TcpStream, address: SocketAddr) {
        let peer = Peer { inside: self.inside, ..Peer::from(address) };
        let Some(slot) = self.limiter.acquire(peer.address).await else {
            static FULL: LogLimit = LogLimit::new();
            if FULL.is_due() {
                tracing::warn!(?address, "a connection was refused: too many are at work");
            }
            if self.tls.is_none() {
                let _ = stream.try_write(TOO_MANY);
            }
            return;
        };
        let open = OpenConnection::new(&self.inner);
        // Responses are written whole: waiting to fill a packet only delays them.
        let _ = stream.set_nodelay(true);
        let (inner, phases, tls) = (self.inner.clone(), self.phases.clone(), self.tls.clone());
        self.connections.spawn(async move {
            if let Err(error) = http_connection::serve(inner, stream, peer, tls, phases, &slot).await {
                tracing::debug!(error, ?peer, "a connection ended early");
            }
            drop((open, slot));
        });
    }
}

/// Whether an `accept` error is about a single connection, not about the socket.
pub fn is_connection_error(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// Counts a connection while it is open, across all listeners.
struct OpenConnection<B: Backend>(Arc<Inner<B>>);

impl<B: Backend> OpenConnection<B> {
    fn new(inner: &Arc<Inner<B>>) -> Self {
        inner.connections.fetch_add(1, Ordering::Relaxed);
        Self(inner.clone())
    }
}

impl<B: Backend> Drop for OpenConnection<B> {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn watch_certificate(tls: Tls, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(CERTIFICATE_EVERY) => {}
        }
        let read = tls.clone();
        match tokio::task::spawn_blocking(move || read.reload()).await {
            Ok(Ok(true)) => tracing::info!("a new certificate was taken"),
            Ok(Err(error)) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "the certificate was not read again");
            }
            Ok(Ok(false)) | Err(_) => {}
        }
    }
}
