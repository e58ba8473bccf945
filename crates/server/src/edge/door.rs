//! The API's listener: accepting connections, idle timeouts, and graceful shutdown.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::Arc;
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
use milepost_gateway::{
    ConnectionLimiter, ConnectionSlot, IdleTimer, InFlight, LogLimit, WriteTimeout, is_connection_error,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Pings quiet HTTP/2 connections to detect dead peers.
const PING_EVERY: Duration = Duration::from_secs(30);
/// Time that a request in flight has to complete its head after a stop.
const LAST_WORD: Duration = Duration::from_secs(1);
/// A client may read slowly, but must accept some bytes of its response within this time.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);
/// Delay before accepting again when the machine is out of resources.
const OUT_OF_ROOM: Duration = Duration::from_millis(200);

const TOO_MANY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

pub(crate) struct Rules {
    /// Idle timeout of a connection. An incomplete request head counts as idle.
    pub rest: Duration,
    pub limiter: Arc<ConnectionLimiter>,
}

/// Serves until `stop`, then until every running request has its response. Idle connections do not
/// delay this. Dropping the future closes all connections.
pub(crate) async fn serve(listener: TcpListener, router: Router, rules: Rules, stop: CancellationToken) {
    static FAILING: LogLimit = LogLimit::new();
    let mut connections = JoinSet::new();
    loop {
        let (stream, address) = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) if is_connection_error(&error) => continue,
                Err(error) => {
                    if FAILING.is_due() {
                        tracing::warn!(%error, "connections cannot be accepted; idle ones are closed");
                    }
                    rules.limiter.evict_idle();
                    tokio::time::sleep(OUT_OF_ROOM).await;
                    continue;
                }
            },
        };
        while connections.try_join_next().is_some() {}
        match rules.limiter.acquire(Some(address.ip())).await {
            Some(slot) => {
                connections.spawn(attend(stream, router.clone(), rules.rest, stop.clone(), slot));
            }
            None => turn_away(&stream),
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

fn turn_away(stream: &TcpStream) {
    static FULL: LogLimit = LogLimit::new();
    if FULL.is_due() {
        tracing::warn!("a connection to the API was refused: too many are at work");
    }
    let _ = stream.try_write(TOO_MANY);
}

/// Serves one connection until it closes.
async fn attend(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    router: Router,
    rest: Duration,
    stop: CancellationToken,
    slot: ConnectionSlot,
) {
    let activity = Arc::clone(slot.activity());
    let api = TowerToHyperService::new(router);
    let per_request = slot.clone();
    let service = service_fn(move |mut request: Request<Incoming>| {
        let in_flight = per_request.activity().begin();
        // For the extractor that finds the token valid.
        request.extensions_mut().insert(per_request.clone());
        let answer = api.call(request);
        async move { Ok::<_, Infallible>(answer.await?.map(|body| Answer { body, _in_flight: in_flight })) }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    // The loop below enforces the head timeout, together with that of connections that send
    // nothing.
    builder.http1().timer(TokioTimer::new()).header_read_timeout(None);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(PING_EVERY);
    let io = TokioIo::new(WriteTimeout::new(stream, WRITE_TIMEOUT, Arc::clone(&activity)));
    let mut connection = pin!(builder.serve_connection(io, service));
    let mut stopping = false;
    let mut idle = IdleTimer::new();
    loop {
        let tick = if stopping { LAST_WORD } else { rest / IdleTimer::TICKS };
        tokio::select! {
            // The connection is closed, so there is no client to report an error to.
            _ = connection.as_mut() => return,
            () = slot.evicted() => return,
            () = stop.cancelled(), if !stopping => {
                stopping = true;
                idle = IdleTimer::at_most(1);
                connection.as_mut().graceful_shutdown();
            }
            () = tokio::time::sleep(tick) => if idle.tick(activity.begun_if_idle()) {
                return;
            },
        }
    }
}

/// A response body. The request counts as running until hyper has taken the last chunk, and the
/// activity covers the time until that is written out.
struct Answer {
    body: Body,
    _in_flight: InFlight,
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

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use milepost_gateway::ConnectionLimits;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const LENGTH: usize = 1 << 20;
    const BYTE: u8 = 7;

    /// Returns how many bytes of a response reach a client that starts reading late.
    async fn read_late(rest: Duration, stops: bool, late: Duration) -> usize {
        let (near, mut far) = tokio::io::duplex(4096);
        far.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.expect("it fits");
        let router = Router::new().route("/", get(|| async { vec![BYTE; LENGTH] }));
        let stop = CancellationToken::new();
        let slot = ConnectionLimiter::new(ConnectionLimits::all(1)).acquire(None).await.expect("a slot");
        let attending = tokio::spawn(attend(near, router, rest, stop.clone(), slot));
        far.read_exact(&mut [0; 17]).await.expect("the answer begins");
        if stops {
            stop.cancel();
        }
        tokio::time::sleep(late).await;
        let mut answer = Vec::new();
        far.read_to_end(&mut answer).await.expect("it ends");
        attending.await.expect("it ends");
        answer.iter().filter(|byte| **byte == BYTE).count()
    }

    #[tokio::test]
    async fn slow_reader_gets_the_whole_response_before_the_connection_closes() {
        // Both connections close in the end. They would stay open if they counted as blocked on a
        // reader forever.
        let (idle, stopping) = tokio::join!(
            read_late(Duration::from_millis(60), false, Duration::from_millis(600)),
            read_late(Duration::from_secs(30), true, LAST_WORD * 3),
        );
        assert_eq!((idle, stopping), (LENGTH, LENGTH));
    }
}
