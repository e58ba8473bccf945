//! A connection to a worker that speaks HTTP/1.1: any executable that serves the socket passed to
//! it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::header::{CONNECTION, HOST, HeaderName, HeaderValue};
use http_body::{Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tokio::time::{Instant, Sleep};

use super::upload::{UploadFault, body_fault};
use super::worker::Worker;
use super::{ProcessSlot, accepts};
use crate::call::{CallContext, CallError, Ended};
use crate::executor::{BodyError, Call, Failure, RequestBody, SlotHome, StopReason};

type OutgoingBody = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

pub(crate) struct HttpSlot {
    worker: Arc<Worker>,
    timeout: Duration,
    /// The slot has had a call before.
    used: bool,
}

impl HttpSlot {
    pub fn new(worker: Arc<Worker>, timeout: Duration) -> Self {
        Self { worker, timeout, used: false }
    }

    pub async fn call<B, H>(
        mut self: Box<Self>,
        call: Call<B>,
        home: H,
    ) -> Result<http::Response<HttpBody<H>>, Failure<B>>
    where
        B: RequestBody,
        H: SlotHome<ProcessSlot>,
    {
        let timeout = self.timeout;
        let fresh = !std::mem::replace(&mut self.used, true);
        self.worker.output.begin(&call.context.request_id, 0);
        let connected = self.connect().await;
        let worker = self.worker.clone();
        let mut running =
            Running { parts: Some((self, home)), request: call.context.request_id.clone(), sender: connected.ok() };
        let Some(sender) = &mut running.sender else {
            // Nothing listens: the process has ended. If it never served a call, it would not serve
            // the next one either.
            if fresh {
                return Err(running.crashed().await.into());
            }
            running.broken();
            return Err(Failure::NotSent(Box::new(call)));
        };
        match tokio::time::timeout(timeout, sender.send_request(outgoing(call))).await {
            Ok(Ok(response)) => {
                let deadline = Box::pin(tokio::time::sleep(timeout));
                Ok(response.map(|body| HttpBody(State::Stream { body, running, deadline, waiting: false })))
            }
            Ok(Err(error)) => {
                let error = why(&worker, &error).await;
                Err(running.failed(error, StopReason::Broken).into())
            }
            Err(_) => Err(running.failed(CallError::TimedOut { after: timeout }, StopReason::TimedOut).into()),
        }
    }

    /// Waits until the program has accepted a connection. Nothing is sent on it.
    pub async fn ready(&self) -> Result<(), String> {
        let Ok(_connection) = self.connect().await else {
            let how = self.worker.how_it_ended().await;
            return Err(format!("its process ended before it accepted a connection on file descriptor 3 ({how})"));
        };
        accepts::accepted(&self.worker).await
    }

    /// Opens a connection for a single call. HTTP has no request ids, so a late or repeated
    /// response must stay on the connection of its own call, which is never read again.
    async fn connect(&self) -> std::io::Result<SendRequest<OutgoingBody>> {
        let stream = UnixStream::connect(&self.worker.socket).await?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(std::io::Error::other)?;
        // Ends with the response, the sender or the worker.
        self.worker.runtime.spawn(async move {
            let _ = connection.await;
        });
        Ok(sender)
    }
}

struct Running<H: SlotHome<ProcessSlot>> {
    parts: Option<(Box<HttpSlot>, H)>,
    request: Box<str>,
    /// Keeps the connection open.
    sender: Option<SendRequest<OutgoingBody>>,
}

impl<H: SlotHome<ProcessSlot>> Running<H> {
    async fn crashed(self) -> CallError {
        let how = match &self.parts {
            Some((slot, _)) => slot.worker.how_it_ended().await,
            None => Ended::default(),
        };
        self.failed(CallError::Crashed { how }, StopReason::Broken)
    }

    fn broken(mut self) {
        if let Some((slot, home)) = self.parts.take() {
            slot.worker.output.end();
            home.broken(StopReason::Broken);
        }
    }

    fn failed(mut self, error: CallError, reason: StopReason) -> CallError {
        let Some((slot, home)) = self.parts.take() else { return error };
        home.report(&self.request, &error.to_string());
        slot.worker.output.end();
        if matches!(error, CallError::RequestBody { .. }) {
            home.give_back(ProcessSlot::Http(slot));
        } else {
            home.broken(reason);
        }
        error
    }

    fn finish(&mut self) {
        self.sender = None;
        if let Some((slot, home)) = self.parts.take() {
            slot.worker.output.end();
            home.give_back(ProcessSlot::Http(slot));
        }
    }

    fn timeout(&self) -> Duration {
        self.parts.as_ref().map_or(Duration::ZERO, |(slot, _)| slot.timeout)
    }

    fn timed_out(mut self, after: Duration) -> BodyError {
        let error = BodyError::TimedOut { after };
        if let Some((slot, home)) = self.parts.take() {
            home.report(&self.request, &error.to_string());
            slot.worker.output.end();
            home.broken(StopReason::TimedOut);
        }
        error
    }

    async fn cut(mut self, error: hyper::Error) -> BodyError {
        let Some((slot, home)) = self.parts.take() else { return BodyError::Crashed { how: Ended::default() } };
        let error = match why(&slot.worker, &error).await {
            CallError::Crashed { how } => BodyError::Crashed { how },
            other => BodyError::Malformed { problem: other.to_string() },
        };
        home.report(&self.request, &error.to_string());
        slot.worker.output.end();
        home.broken(StopReason::Broken);
        error
    }
}

async fn why(worker: &Worker, error: &hyper::Error) -> CallError {
    if error.is_user()
        && let Some(source) = std::error::Error::source(error)
        && let UploadFault::Body { problem, too_large } = body_fault(source.to_string().into())
    {
        let too_large = too_large || source.is::<http_body_util::LengthLimitError>();
        return CallError::RequestBody { problem, too_large };
    }
    if error.is_parse() {
        return CallError::Malformed { problem: error.to_string() };
    }
    CallError::Crashed { how: worker.how_it_ended().await }
}

/// The caller left. Dropping the sender and the body closes the connection, which signals this to
/// the program.
impl<H: SlotHome<ProcessSlot>> Drop for Running<H> {
    fn drop(&mut self) {
        if let Some((slot, home)) = self.parts.take() {
            slot.worker.output.end();
            home.give_back(ProcessSlot::Http(slot));
        }
    }
}

pub(crate) struct HttpBody<H: SlotHome<ProcessSlot>>(State<H>);

enum State<H: SlotHome<ProcessSlot>> {
    Stream {
        body: Incoming,
        running: Running<H>,
        deadline: Pin<Box<Sleep>>,
        /// The deadline of the next piece is already running.
        waiting: bool,
    },
    /// Finding out why the body was cut off.
    Cut(BoxFuture<'static, BodyError>),
    Done,
}

impl<H: SlotHome<ProcessSlot>> http_body::Body for HttpBody<H> {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        loop {
            let (body, running, deadline, waiting) = match &mut self.0 {
                State::Done => return Poll::Ready(None),
                State::Cut(why) => {
                    let error = ready!(why.as_mut().poll(cx));
                    self.0 = State::Done;
                    return Poll::Ready(Some(Err(error)));
                }
                State::Stream { body, running, deadline, waiting } => (body, running, deadline, waiting),
            };
            match Pin::new(body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    *waiting = false;
                    return Poll::Ready(Some(Ok(frame)));
                }
                Poll::Ready(None) => {
                    running.finish();
                    self.0 = State::Done;
                }
                Poll::Ready(Some(Err(error))) => self.cut(|running| Box::pin(running.cut(error))),
                Poll::Pending => {
                    let timeout = running.timeout();
                    if !std::mem::replace(waiting, true) {
                        deadline.as_mut().reset(Instant::now() + timeout);
                    }
                    ready!(deadline.as_mut().poll(cx));
                    self.cut(|running| Box::pin(std::future::ready(running.timed_out(timeout))));
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, State::Done)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            State::Stream { body, .. } => body.size_hint(),
            State::Cut(_) => SizeHint::default(),
            State::Done => SizeHint::with_exact(0),
        }
    }
}

impl<H: SlotHome<ProcessSlot>> HttpBody<H> {
    fn cut(&mut self, why: impl FnOnce(Running<H>) -> BoxFuture<'static, BodyError>) {
        if let State::Stream { running, .. } = std::mem::replace(&mut self.0, State::Done) {
            self.0 = State::Cut(why(running));
        }
    }
}

/// Converts the call to an HTTP request. What the frame protocol sends as facts are headers here.
fn outgoing<B: RequestBody>(call: Call<B>) -> http::Request<OutgoingBody> {
    let Call { mut head, body, first, context } = call;
    let authority = head.uri.authority().map(ToString::to_string);
    let target = head.uri.path_and_query().cloned().unwrap_or_else(|| http::uri::PathAndQuery::from_static("/"));
    head.uri = target.into();
    head.version = http::Version::HTTP_11;
    if !head.headers.contains_key(HOST) {
        let host = authority.and_then(|name| HeaderValue::try_from(name).ok());
        head.headers.insert(HOST, host.unwrap_or_else(|| HeaderValue::from_static("localhost")));
    }
    head.headers.insert(CONNECTION, HeaderValue::from_static("close"));
    add_facts(&mut head.headers, &context);
    let body = match first {
        None => body.map_err(Into::into).boxed_unsync(),
        Some(first) if body.is_end_stream() => Full::new(first).map_err(|never| match never {}).boxed_unsync(),
        Some(first) => Preceded { first: Some(first), rest: body }.boxed_unsync(),
    };
    http::Request::from_parts(head, body)
}

fn add_facts(headers: &mut http::HeaderMap, context: &CallContext) {
    let facts = [
        ("milepost-request-id", &*context.request_id),
        ("milepost-release", &*context.release),
        ("milepost-call", &*context.call_token),
        ("milepost-route", &*context.route),
    ];
    for (name, value) in facts {
        if let (false, Ok(value)) = (value.is_empty(), HeaderValue::try_from(value)) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    for (name, value) in &context.params {
        // Parameter names come from the route. A parameter that cannot be a header is still in the
        // path.
        if let (Ok(name), Ok(value)) =
            (HeaderName::try_from(format!("milepost-param-{name}")), HeaderValue::try_from(&**value))
        {
            headers.insert(name, value);
        }
    }
}

/// A body whose first part was already read.
struct Preceded<B> {
    first: Option<Bytes>,
    rest: B,
}

impl<B: RequestBody> http_body::Body for Preceded<B> {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        Pin::new(&mut self.rest).poll_frame(cx).map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_none() && self.rest.is_end_stream()
    }
}
