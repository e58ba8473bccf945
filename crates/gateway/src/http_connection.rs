//! Serves one connection: detects its protocol and limits its idle time.

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

use crate::activity::{Activity, IdleTimer};
use crate::backend::Backend;
use crate::body::ResponseBody;
use crate::connection_limit::ConnectionSlot;
use crate::gateway::{Gateway, Inner, Peer};
use crate::line_ends::LineEnds;
use crate::preface::{self, Protocol};
use crate::response_future::ResponseFuture;
use crate::settings::Limits;
use crate::tls::Tls;
use crate::write_timeout::WriteTimeout;

const MAX_STREAMS: u32 = 256;
/// Pings a quiet HTTP/2 connection, to notice that the client is gone.
const PING_EVERY: Duration = Duration::from_secs(30);

/// Limit for the head of a request that is turned away.
const MAX_REJECTED_HEAD: usize = 16 << 10;
const HTTPS_REQUIRED: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\n\
    connection: close\r\ncontent-length: 54\r\n\r\nThis port speaks HTTPS: begin the address with https.\n";

type Failure = Box<dyn Error + Send + Sync>;

/// Shutdown of a gateway, in two steps.
#[derive(Clone)]
pub(crate) struct Phases {
    /// Graceful stop: only requests that are here or on their way are served.
    pub(crate) stop: CancellationToken,
    /// Hard stop: drops connections immediately.
    pub(crate) kill: CancellationToken,
}

pub(crate) async fn serve<B: Backend>(
    inner: Arc<Inner<B>>,
    stream: TcpStream,
    mut peer: Peer,
    tls: Option<Tls>,
    phases: Phases,
    slot: &ConnectionSlot,
) -> Result<(), Failure> {
    let head_timeout = inner.settings.limits.head_timeout;
    let silence = async {
        tokio::select! {
            () = phases.kill.cancelled() => {}
            () = silent(&phases.stop, inner.settings.limits.drain_idle) => {}
            () = slot.evicted() => {}
        }
    };
    let Some(tls) = tls else {
        let (protocol, stream) = tokio::select! {
            begun = tokio::time::timeout(head_timeout, preface::read(stream)) => begun??,
            () = silence => return Ok(()),
        };
        return serve_protocol(inner, stream, peer, protocol, phases, slot).await;
    };
    peer.secure = true;
    let stream = tokio::select! {
        stream = tokio::time::timeout(head_timeout, secure(stream, &tls)) => stream??,
        () = silence => return Ok(()),
    };
    let Some(stream) = stream else { return Ok(()) };
    let protocol = match stream.get_ref().1.alpn_protocol() {
        Some(b"h2") => Protocol::Http2,
        _ => Protocol::Http1,
    };
    serve_protocol(inner, stream, peer, protocol, phases, slot).await
}

/// Returns `None` for a client that speaks plain HTTP, usually because the `s` in the address is
/// missing. It gets a readable response instead of TLS bytes.
async fn secure(mut stream: TcpStream, tls: &Tls) -> io::Result<Option<TlsStream<TcpStream>>> {
    let mut first = [0];
    // An HTTP method begins with a letter, a TLS record never does.
    if stream.peek(&mut first).await? == 1 && first[0].is_ascii_alphabetic() {
        // Unread input would make the close a reset, which discards the response.
        let mut head = Vec::new();
        while head.len() < MAX_REJECTED_HEAD && !head.windows(4).any(|end| end == b"\r\n\r\n") {
            if stream.read_buf(&mut head).await? == 0 {
                break;
            }
        }
        stream.write_all(HTTPS_REQUIRED).await?;
        return Ok(None);
    }
    tls.acceptor().accept(stream).await.map(Some)
}

/// Resolves some time after the stop, so that a silent connection does not delay the shutdown.
async fn silent(stop: &CancellationToken, grace: Duration) {
    stop.cancelled().await;
    tokio::time::sleep(grace).await;
}

async fn serve_protocol<B: Backend>(
    inner: Arc<Inner<B>>,
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    peer: Peer,
    protocol: Protocol,
    phases: Phases,
    slot: &ConnectionSlot,
) -> Result<(), Failure> {
    let limits = inner.settings.limits.clone();
    let activity = slot.activity().clone();
    let stream = WriteTimeout::new(stream, limits.body_timeout, activity.clone());
    let slot_of_app = peer.inside.then(|| slot.clone());
    let service = Service { gateway: Gateway { inner }, peer, activity: activity.clone(), slot: slot_of_app };
    let monitor = Monitor { activity, phases, limits, protocol, slot };
    match monitor.protocol {
        Protocol::Http1 => {
            let io = TokioIo::new(LineEnds::new(stream));
            monitor.drive(http1_settings(&monitor.limits).serve_connection(io, service)).await
        }
        Protocol::Http2 => {
            let io = TokioIo::new(stream);
            monitor.drive(http2_settings(&monitor.limits).serve_connection(io, service)).await
        }
    }
}

fn http1_settings(limits: &Limits) -> http1::Builder {
    let mut builder = http1::Builder::new();
    // `Monitor` enforces the head timeout, without a timer for every request. The number of headers
    // stays at hyper's default of 100: those are stored on the stack, while any other limit costs
    // each request two allocations, which is 3 % of its time.
    builder.header_read_timeout(None).max_header_size(limits.head_bytes);
    builder
}

fn http2_settings(limits: &Limits) -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_EVERY)
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(u32::try_from(limits.head_bytes).unwrap_or(u32::MAX))
        .initial_stream_window_size(256 << 10)
        .initial_connection_window_size(1 << 20);
    builder
}

/// Watches a connection besides its requests.
struct Monitor<'s> {
    activity: Arc<Activity>,
    phases: Phases,
    limits: Limits,
    protocol: Protocol,
    slot: &'s ConnectionSlot,
}

enum Event {
    Tick,
    Stop,
    IdleDeadline,
    HeadDeadline,
    Evicted,
    Kill,
}

impl Monitor<'_> {
    /// Drives a connection to its end. The other events have a waker of their own, so they cost a
    /// request almost nothing.
    async fn drive<C>(&self, connection: C) -> Result<(), Failure>
    where
        C: GracefulConnection,
        C::Error: Into<Failure>,
    {
        let mut connection = pin!(connection);
        let mut events = FuturesUnordered::<BoxFuture<'_, Event>>::new();
        events.push(self.tick());
        events.push(self.phases.stop.cancelled().map(|()| Event::Stop).boxed());
        events.push(self.phases.kill.cancelled().map(|()| Event::Kill).boxed());
        events.push(self.slot.evicted().map(|()| Event::Evicted).boxed());
        let mut idle = IdleTimer::new();
        loop {
            let event = match poll_fn(|context| next(connection.as_mut(), &mut events, context)).await {
                Polled::Ended(ended) => return ended.map_err(Into::into),
                Polled::Event(event) => event,
            };
            match event {
                Event::Tick if idle.tick(self.activity.begun_if_idle()) => return Ok(()),
                Event::Tick => events.push(self.tick()),
                // A request may be on its way: it is answered with `connection: close`.
                Event::Stop if matches!(self.protocol, Protocol::Http1) && self.activity.begun_if_idle().is_some() => {
                    let grace = tokio::time::sleep(self.limits.drain_idle);
                    events.push(grace.map(|()| Event::IdleDeadline).boxed());
                }
                Event::Stop | Event::IdleDeadline => {
                    connection.as_mut().graceful_shutdown();
                    let grace = tokio::time::sleep(self.limits.drain_head);
                    events.push(grace.map(|()| Event::HeadDeadline).boxed());
                }
                // Only part of a head has arrived. Over HTTP/2 a response that waits for its reader
                // looks the same, so such a connection is kept.
                Event::HeadDeadline
                    if !matches!(self.protocol, Protocol::Http2) && self.activity.begun_if_idle().is_some() =>
                {
                    return Ok(());
                }
                Event::HeadDeadline => {}
                Event::Evicted | Event::Kill => return Ok(()),
            }
        }
    }

    fn tick(&self) -> BoxFuture<'static, Event> {
        tokio::time::sleep(self.limits.head_timeout / IdleTimer::TICKS).map(|()| Event::Tick).boxed()
    }
}

enum Polled<E> {
    Ended(Result<(), E>),
    Event(Event),
}

fn next<C: GracefulConnection>(
    connection: Pin<&mut C>,
    events: &mut FuturesUnordered<BoxFuture<'_, Event>>,
    context: &mut Context<'_>,
) -> Poll<Polled<C::Error>> {
    if let Poll::Ready(ended) = connection.poll(context) {
        return Poll::Ready(Polled::Ended(ended));
    }
    match events.poll_next_unpin(context) {
        Poll::Ready(Some(event)) => Poll::Ready(Polled::Event(event)),
        Poll::Ready(None) | Poll::Pending => Poll::Pending,
    }
}

struct Service<B: Backend> {
    gateway: Gateway<B>,
    peer: Peer,
    activity: Arc<Activity>,
    /// Set on the inside listener, where connections count to the share of the calling app.
    slot: Option<ConnectionSlot>,
}

impl<B: Backend> hyper::service::Service<Request<Incoming>> for Service<B> {
    type Response = Response<ResponseBody<B::Body>>;
    type Error = Infallible;
    type Future = Served<B>;

    fn call(&self, mut request: Request<Incoming>) -> Served<B> {
        let in_flight = self.activity.begin();
        if let Some(slot) = &self.slot {
            request.extensions_mut().insert(slot.clone());
        }
        let draining = self.gateway.inner.draining.load(Ordering::Relaxed);
        let close = draining && request.version() < Version::HTTP_2;
        Served(self.gateway.handle(request, self.peer).on_connection(in_flight, close))
    }
}

/// A response that never fails, in the form that hyper expects.
struct Served<B: Backend>(ResponseFuture<B>);

impl<B: Backend> Future for Served<B> {
    type Output = Result<Response<ResponseBody<B::Body>>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll_unpin(context).map(Ok)
    }
}
