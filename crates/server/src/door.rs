//! The door of the API: connections, how long they may say nothing, and how they end when the server stops.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Asked on a quiet HTTP/2 connection, to learn that the other side is gone.
const PING_EVERY: Duration = Duration::from_secs(30);
/// A request that was on its way when the server was told to stop has so long to get its head through.
const LAST_WORD: Duration = Duration::from_secs(1);
/// The machine has no room for a connection; it may have soon.
const OUT_OF_ROOM: Duration = Duration::from_millis(200);

/// Serves until `stop`, and then until every request that runs has its answer. Connections on which nothing is asked do not
/// hold it up. Dropped, it cuts all of them off.
pub(crate) async fn serve(listener: TcpListener, router: Router, rest: Duration, stop: CancellationToken) {
    let mut connections = JoinSet::new();
    loop {
        let stream = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::debug!(%error, "a connection could not be accepted");
                    tokio::time::sleep(OUT_OF_ROOM).await;
                    continue;
                }
            },
        };
        while connections.try_join_next().is_some() {}
        connections.spawn(attend(stream, router.clone(), rest, stop.clone()));
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// One connection, to its end.
async fn attend(stream: TcpStream, router: Router, rest: Duration, stop: CancellationToken) {
    let pulse = Arc::new(Pulse::default());
    let api = TowerToHyperService::new(router);
    let asked = Arc::clone(&pulse);
    let service = service_fn(move |request: Request<Incoming>| {
        let busy = asked.begin();
        let answer = api.call(request);
        async move { Ok::<_, Infallible>(answer.await?.map(|body| Answer { body, _busy: busy })) }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    // How long a head may take is watched below, together with connections that never begin one.
    builder.http1().timer(TokioTimer::new()).header_read_timeout(None);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(PING_EVERY);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let mut stopping = false;
    let mut resting = Resting::new(Resting::TICKS);
    loop {
        let tick = if stopping { LAST_WORD } else { rest / Resting::TICKS };
        tokio::select! {
            // Whatever ended it, there is nobody left to tell.
            _ = connection.as_mut() => return,
            () = stop.cancelled(), if !stopping => {
                stopping = true;
                // The end of an answer may still be on its way out.
                resting = Resting::new(1);
                connection.as_mut().graceful_shutdown();
            }
            () = tokio::time::sleep(tick) => if resting.is_too_long(pulse.quiet_since()) {
                return;
            },
        }
    }
}

/// Requests of one connection: how many began, and how many are being answered.
#[derive(Debug, Default)]
struct Pulse {
    begun: AtomicU64,
    busy: AtomicUsize,
}

impl Pulse {
    fn begin(self: &Arc<Self>) -> Busy {
        self.begun.fetch_add(1, Ordering::Relaxed);
        self.busy.fetch_add(1, Ordering::Relaxed);
        Busy(Arc::clone(self))
    }

    /// `None` while a request is being answered, else how many there were.
    fn quiet_since(&self) -> Option<u64> {
        (self.busy.load(Ordering::Relaxed) == 0).then(|| self.begun.load(Ordering::Relaxed))
    }
}

/// One request, from its head to the end of its answer.
#[derive(Debug)]
struct Busy(Arc<Pulse>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

/// For how many ticks in a row no request began or was answered.
struct Resting {
    begun: Option<u64>,
    ticks: u32,
    most: u32,
}

impl Resting {
    /// The time that a connection may rest, in parts.
    const TICKS: u32 = 3;

    fn new(most: u32) -> Self {
        Self { begun: None, ticks: 0, most }
    }

    fn is_too_long(&mut self, begun: Option<u64>) -> bool {
        if begun.is_none() || begun != self.begun {
            self.begun = begun;
            self.ticks = 0;
            return false;
        }
        self.ticks += 1;
        self.ticks >= self.most
    }
}

/// The body of an answer; its request counts until it has gone out.
struct Answer {
    body: Body,
    _busy: Busy,
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
