//! The door of the API: connections, how long they may say nothing, and how they end when the server stops.

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
use milepost_gateway::{Busy, Patient, Resting, Seat, Seats, Seldom, is_about_one};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Asked on a quiet HTTP/2 connection, to learn that the other side is gone.
const PING_EVERY: Duration = Duration::from_secs(30);
/// A request that was on its way when the server was told to stop has so long to get its head through.
const LAST_WORD: Duration = Duration::from_secs(1);
/// A reader may be slow, but must take something of its answer within this time.
const PATIENCE: Duration = Duration::from_secs(60);
/// The machine has no room for a connection; it may have soon.
const OUT_OF_ROOM: Duration = Duration::from_millis(200);

const TOO_MANY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// How a door is kept.
pub(crate) struct Rules {
    /// How long a connection may stay without a request, or with the half of one's head.
    pub rest: Duration,
    pub seats: Arc<Seats>,
}

/// Serves until `stop`, and then until every request that runs has its answer. Connections on which nothing is asked do not
/// hold it up. Dropped, it cuts all of them off.
pub(crate) async fn serve(listener: TcpListener, router: Router, rules: Rules, stop: CancellationToken) {
    static FAILING: Seldom = Seldom::new();
    let mut connections = JoinSet::new();
    loop {
        let (stream, address) = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) if is_about_one(&error) => continue,
                Err(error) => {
                    if FAILING.is_due() {
                        tracing::warn!(%error, "connections cannot be accepted; idle ones are closed");
                    }
                    rules.seats.make_room();
                    tokio::time::sleep(OUT_OF_ROOM).await;
                    continue;
                }
            },
        };
        while connections.try_join_next().is_some() {}
        match rules.seats.take(Some(address.ip())).await {
            Some(seat) => {
                connections.spawn(attend(stream, router.clone(), rules.rest, stop.clone(), seat));
            }
            None => turn_away(&stream),
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

fn turn_away(stream: &TcpStream) {
    static FULL: Seldom = Seldom::new();
    if FULL.is_due() {
        tracing::warn!("a connection to the API was refused: too many are at work");
    }
    let _ = stream.try_write(TOO_MANY);
}

/// One connection, to its end.
async fn attend(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    router: Router,
    rest: Duration,
    stop: CancellationToken,
    seat: Seat,
) {
    let pulse = Arc::clone(seat.pulse());
    let api = TowerToHyperService::new(router);
    let asked = seat.clone();
    let service = service_fn(move |mut request: Request<Incoming>| {
        let busy = asked.pulse().begin();
        // For whoever finds out that its token is valid.
        request.extensions_mut().insert(asked.clone());
        let answer = api.call(request);
        async move { Ok::<_, Infallible>(answer.await?.map(|body| Answer { body, _busy: busy })) }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    // How long a head may take is watched below, together with connections that never begin one.
    builder.http1().timer(TokioTimer::new()).header_read_timeout(None);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(PING_EVERY);
    let io = TokioIo::new(Patient::new(stream, PATIENCE, Arc::clone(&pulse)));
    let mut connection = pin!(builder.serve_connection(io, service));
    let mut stopping = false;
    let mut resting = Resting::new();
    loop {
        let tick = if stopping { LAST_WORD } else { rest / Resting::TICKS };
        tokio::select! {
            // Whatever ended it, there is nobody left to tell.
            _ = connection.as_mut() => return,
            () = seat.evicted() => return,
            () = stop.cancelled(), if !stopping => {
                stopping = true;
                resting = Resting::at_most(1);
                connection.as_mut().graceful_shutdown();
            }
            () = tokio::time::sleep(tick) => if resting.is_too_long(pulse.resting_since()) {
                return;
            },
        }
    }
}

/// The body of an answer; its request counts until hyper has taken the last piece, and the pulse until that is out.
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

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use milepost_gateway::SeatLimits;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const LENGTH: usize = 1 << 20;
    const BYTE: u8 = 7;

    /// How many bytes of an answer arrive at somebody who begins to read only after a while.
    async fn read_late(rest: Duration, stops: bool, late: Duration) -> usize {
        let (near, mut far) = tokio::io::duplex(4096);
        far.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.expect("it fits");
        let router = Router::new().route("/", get(|| async { vec![BYTE; LENGTH] }));
        let stop = CancellationToken::new();
        let seat = Seats::new(SeatLimits::all(1)).take(None).await.expect("a seat");
        let attending = tokio::spawn(attend(near, router, rest, stop.clone(), seat));
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
    async fn a_slow_reader_has_the_whole_answer_and_then_the_connection_rests() {
        // Both are closed in the end, which they would not be if they counted as held up for ever.
        let (resting, stopping) = tokio::join!(
            read_late(Duration::from_millis(60), false, Duration::from_millis(600)),
            read_late(Duration::from_secs(30), true, LAST_WORD * 3),
        );
        assert_eq!((resting, stopping), (LENGTH, LENGTH));
    }
}
