//! One connection: which protocol it speaks, and how long it may rest.

use std::convert::Infallible;
use std::error::Error;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use http::{Request, Response, Version};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulConnection;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;

use crate::answering::Answering;
use crate::backend::Backend;
use crate::body::AnswerBody;
use crate::connection::{Pulse, Resting};
use crate::gateway::{Gateway, Inner, Peer};
use crate::line_ends::LineEnds;
use crate::preface::{self, Protocol};
use crate::seats::Seat;
use crate::settings::Limits;
use crate::tls::Tls;
use crate::wire::Patient;

const MOST_STREAMS: u32 = 256;
/// Asked on a quiet HTTP/2 connection, to learn that the other side is gone.
const PING_EVERY: Duration = Duration::from_secs(30);

/// Of a request that is turned away.
const MOST_OF_A_HEAD: usize = 16 << 10;
const SPEAK_TLS: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\n\
    connection: close\r\ncontent-length: 54\r\n\r\nThis port speaks HTTPS: begin the address with https.\n";

type Failure = Box<dyn Error + Send + Sync>;

/// The end of a gateway, in two steps.
#[derive(Clone)]
pub(crate) struct Phases {
    /// No more requests than those that are here or on their way.
    pub(crate) stop: CancellationToken,
    /// Now.
    pub(crate) kill: CancellationToken,
}

pub(crate) async fn serve<B: Backend>(
    inner: Arc<Inner<B>>,
    stream: TcpStream,
    mut peer: Peer,
    tls: Option<Tls>,
    phases: Phases,
    seat: &Seat,
) -> Result<(), Failure> {
    let first_word = inner.settings.limits.head_timeout;
    let silence = async {
        tokio::select! {
            () = phases.kill.cancelled() => {}
            () = silent(&phases.stop, inner.settings.limits.drain_idle) => {}
            () = seat.evicted() => {}
        }
    };
    let Some(tls) = tls else {
        let (protocol, stream) = tokio::select! {
            begun = tokio::time::timeout(first_word, preface::read(stream)) => begun??,
            () = silence => return Ok(()),
        };
        return speak(inner, stream, peer, protocol, phases, seat).await;
    };
    peer.secure = true;
    let stream = tokio::select! {
        stream = tokio::time::timeout(first_word, secure(stream, &tls)) => stream??,
        () = silence => return Ok(()),
    };
    let Some(stream) = stream else { return Ok(()) };
    let protocol = match stream.get_ref().1.alpn_protocol() {
        Some(b"h2") => Protocol::Http2,
        _ => Protocol::Http1,
    };
    speak(inner, stream, peer, protocol, phases, seat).await
}

/// `None` for whoever speaks HTTP without TLS, as people do who leave out the `s`: they are told, instead of getting what is
/// garbage to them.
async fn secure(mut stream: TcpStream, tls: &Tls) -> io::Result<Option<TlsStream<TcpStream>>> {
    let mut first = [0];
    // A method begins with a letter, TLS never does.
    if stream.peek(&mut first).await? == 1 && first[0].is_ascii_alphabetic() {
        // What is not read when the connection closes would take the answer with it.
        let mut head = Vec::new();
        while head.len() < MOST_OF_A_HEAD && !head.windows(4).any(|end| end == b"\r\n\r\n") {
            if stream.read_buf(&mut head).await? == 0 {
                break;
            }
        }
        stream.write_all(SPEAK_TLS).await?;
        return Ok(None);
    }
    tls.acceptor().accept(stream).await.map(Some)
}

/// Ends some time after the stop: a connection on which nothing was said does not hold it up.
async fn silent(stop: &CancellationToken, grace: Duration) {
    stop.cancelled().await;
    tokio::time::sleep(grace).await;
}

async fn speak<B: Backend>(
    inner: Arc<Inner<B>>,
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    peer: Peer,
    protocol: Protocol,
    phases: Phases,
    seat: &Seat,
) -> Result<(), Failure> {
    let limits = inner.settings.limits.clone();
    let pulse = seat.pulse().clone();
    let stream = Patient::new(stream, limits.body_timeout, pulse.clone());
    let seat_of_app = peer.inside.then(|| seat.clone());
    let service = Service { gateway: Gateway { inner }, peer, pulse: pulse.clone(), seat: seat_of_app };
    let rest = Rest { pulse, phases, limits, protocol, seat };
    match rest.protocol {
        Protocol::Http1 => {
            let io = TokioIo::new(LineEnds::new(stream));
            rest.attend(http1_settings(&rest.limits).serve_connection(io, service)).await
        }
        Protocol::Http2 => {
            let io = TokioIo::new(stream);
            rest.attend(http2_settings(&rest.limits).serve_connection(io, service)).await
        }
    }
}

fn http1_settings(limits: &Limits) -> http1::Builder {
    let mut builder = http1::Builder::new();
    // How long a head may take is watched by `Rest`, without a timer for every request.
    // How many headers it may have is left at hyper's 100: those have their place on the stack, while any other number
    // costs each request two allocations, which is 3 % of its time.
    builder.header_read_timeout(None).max_header_size(limits.head_bytes);
    builder
}

fn http2_settings(limits: &Limits) -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_EVERY)
        .max_concurrent_streams(MOST_STREAMS)
        .max_header_list_size(u32::try_from(limits.head_bytes).unwrap_or(u32::MAX))
        .initial_stream_window_size(256 << 10)
        .initial_connection_window_size(1 << 20);
    builder
}

/// What happens to a connection beside its requests.
struct Rest<'s> {
    pulse: Arc<Pulse>,
    phases: Phases,
    limits: Limits,
    protocol: Protocol,
    seat: &'s Seat,
}

enum Event {
    Tick,
    Stop,
    LastCall,
    LastWord,
    Evicted,
    Kill,
}

impl Rest<'_> {
    /// Drives a connection to its end. The other events have a waker of their own, so that they cost a request next to
    /// nothing.
    async fn attend<C>(&self, connection: C) -> Result<(), Failure>
    where
        C: GracefulConnection,
        C::Error: Into<Failure>,
    {
        let mut connection = pin!(connection);
        let mut events = FuturesUnordered::<BoxFuture<'_, Event>>::new();
        events.push(self.tick());
        events.push(self.phases.stop.cancelled().map(|()| Event::Stop).boxed());
        events.push(self.phases.kill.cancelled().map(|()| Event::Kill).boxed());
        events.push(self.seat.evicted().map(|()| Event::Evicted).boxed());
        let mut resting = Resting::new();
        loop {
            let event = match poll_fn(|context| next(connection.as_mut(), &mut events, context)).await {
                Happened::Ended(ended) => return ended.map_err(Into::into),
                Happened::Event(event) => event,
            };
            match event {
                Event::Tick if resting.is_too_long(self.pulse.resting_since()) => return Ok(()),
                Event::Tick => events.push(self.tick()),
                // A request may be on its way: it is answered, with a word that it was the last one.
                Event::Stop if matches!(self.protocol, Protocol::Http1) && self.pulse.resting_since().is_some() => {
                    let grace = tokio::time::sleep(self.limits.drain_idle);
                    events.push(grace.map(|()| Event::LastCall).boxed());
                }
                Event::Stop | Event::LastCall => {
                    connection.as_mut().graceful_shutdown();
                    let grace = tokio::time::sleep(self.limits.drain_head);
                    events.push(grace.map(|()| Event::LastWord).boxed());
                }
                // Half of a head came, and nothing since. Over HTTP/2 an answer may wait for its reader and look the same.
                Event::LastWord
                    if !matches!(self.protocol, Protocol::Http2) && self.pulse.resting_since().is_some() =>
                {
                    return Ok(());
                }
                Event::LastWord => {}
                Event::Evicted | Event::Kill => return Ok(()),
            }
        }
    }

    fn tick(&self) -> BoxFuture<'static, Event> {
        tokio::time::sleep(self.limits.head_timeout / Resting::TICKS).map(|()| Event::Tick).boxed()
    }
}

enum Happened<E> {
    Ended(Result<(), E>),
    Event(Event),
}

fn next<C: GracefulConnection>(
    connection: Pin<&mut C>,
    events: &mut FuturesUnordered<BoxFuture<'_, Event>>,
    context: &mut Context<'_>,
) -> Poll<Happened<C::Error>> {
    if let Poll::Ready(ended) = connection.poll(context) {
        return Poll::Ready(Happened::Ended(ended));
    }
    match events.poll_next_unpin(context) {
        Poll::Ready(Some(event)) => Poll::Ready(Happened::Event(event)),
        Poll::Ready(None) | Poll::Pending => Poll::Pending,
    }
}

struct Service<B: Backend> {
    gateway: Gateway<B>,
    peer: Peer,
    pulse: Arc<Pulse>,
    /// At the inside door, where connections count to the share of the app that calls.
    seat: Option<Seat>,
}

impl<B: Backend> hyper::service::Service<Request<Incoming>> for Service<B> {
    type Response = Response<AnswerBody<B::Body>>;
    type Error = Infallible;
    type Future = Served<B>;

    fn call(&self, mut request: Request<Incoming>) -> Served<B> {
        let busy = self.pulse.begin();
        if let Some(seat) = &self.seat {
            request.extensions_mut().insert(seat.clone());
        }
        let draining = self.gateway.inner.draining.load(Ordering::Relaxed);
        let close = draining && request.version() < Version::HTTP_2;
        Served(self.gateway.handle(request, self.peer).on(busy, close))
    }
}

/// An answer is always there, as hyper wants to be told.
struct Served<B: Backend>(Answering<B>);

impl<B: Backend> Future for Served<B> {
    type Output = Result<Response<AnswerBody<B::Body>>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll_unpin(context).map(Ok)
    }
}
