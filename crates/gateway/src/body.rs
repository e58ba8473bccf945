//! Bodies on their way through the gateway, never copied.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep};

use crate::connection::Busy;
use crate::settings::Limits;

/// The body of a request on its way to a function: cut when it goes over the limit, given up when its sender stalls.
pub struct RequestBody {
    source: Source,
    left: u64,
    patience: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    fate: Option<Arc<Fate>>,
}

enum Source {
    Memory(Bytes),
    Wire(Incoming),
}

/// Why a body ended before its end.
#[derive(Debug, thiserror::Error)]
pub enum BodyFailure {
    #[error("the body of the request is larger than what is allowed")]
    TooLarge,
    #[error("the sender of the body stalled")]
    Stalled,
    #[error("the connection ended before the body did")]
    Broken(#[source] hyper::Error),
}

/// How it went, for the one who has to answer after the body was given away.
#[derive(Debug, Default)]
pub(crate) struct Fate(AtomicU8);

const TOO_LARGE: u8 = 1;
const STALLED: u8 = 2;

impl Fate {
    pub(crate) fn failure(&self) -> Option<BodyFailure> {
        match self.0.load(Ordering::Relaxed) {
            TOO_LARGE => Some(BodyFailure::TooLarge),
            STALLED => Some(BodyFailure::Stalled),
            _ => None,
        }
    }
}

impl RequestBody {
    pub fn empty() -> Self {
        Self::from(Bytes::new())
    }

    pub(crate) fn limit(mut self, limits: &Limits) -> Self {
        self.left = limits.body_bytes;
        self.patience = limits.body_timeout;
        self
    }

    /// A way to learn what became of it. `None` when nothing can: there are no bytes to come.
    pub(crate) fn fate(&mut self) -> Option<Arc<Fate>> {
        if self.is_end_stream() {
            return None;
        }
        Some(self.fate.get_or_insert_default().clone())
    }

    fn fail(&self, failure: BodyFailure) -> Poll<Option<Result<Frame<Bytes>, BodyFailure>>> {
        if let Some(fate) = &self.fate {
            let fate_of = match failure {
                BodyFailure::TooLarge => TOO_LARGE,
                BodyFailure::Stalled => STALLED,
                BodyFailure::Broken(_) => 0,
            };
            fate.0.store(fate_of, Ordering::Relaxed);
        }
        Poll::Ready(Some(Err(failure)))
    }

    fn has_stalled(&mut self, context: &mut Context<'_>) -> bool {
        let deadline = || Instant::now() + self.patience;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline())));
        timer.poll_unpin(context).is_ready()
    }
}

impl From<Incoming> for RequestBody {
    fn from(body: Incoming) -> Self {
        Self { source: Source::Wire(body), left: u64::MAX, patience: Duration::MAX, timer: None, fate: None }
    }
}

impl From<Bytes> for RequestBody {
    fn from(bytes: Bytes) -> Self {
        Self { source: Source::Memory(bytes), left: u64::MAX, patience: Duration::MAX, timer: None, fate: None }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = BodyFailure;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyFailure>>> {
        let polled = match &mut self.source {
            Source::Memory(bytes) if bytes.is_empty() => return Poll::Ready(None),
            Source::Memory(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Source::Wire(body) => Pin::new(body).poll_frame(context),
        };
        match polled {
            Poll::Pending if self.has_stalled(context) => self.fail(BodyFailure::Stalled),
            Poll::Pending => Poll::Pending,
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Ready(Some(Err(error))) => self.fail(BodyFailure::Broken(error)),
            Poll::Ready(Some(Ok(frame))) => {
                self.timer = None;
                let length = frame.data_ref().map_or(0, |data| data.len() as u64);
                match self.left.checked_sub(length) {
                    Some(left) => self.left = left,
                    None => return self.fail(BodyFailure::TooLarge),
                }
                Poll::Ready(Some(Ok(frame)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            Source::Memory(bytes) => bytes.is_empty(),
            Source::Wire(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::Memory(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Source::Wire(body) => body.size_hint(),
        }
    }
}

/// The body of an answer.
pub struct AnswerBody<B> {
    part: Part<B>,
    /// Held until the answer was sent or given up.
    _busy: Option<Busy>,
}

enum Part<B> {
    Memory(Bytes),
    Stream { stream: BoxStream<'static, io::Result<Bytes>>, left: u64 },
    Function(B),
}

impl<B> AnswerBody<B> {
    pub(crate) fn empty() -> Self {
        Self::bytes(Bytes::new())
    }

    pub(crate) fn bytes(bytes: Bytes) -> Self {
        Self { part: Part::Memory(bytes), _busy: None }
    }

    /// Exactly `length` bytes; a stream with fewer or more is an error.
    pub(crate) fn stream(stream: BoxStream<'static, io::Result<Bytes>>, length: u64) -> Self {
        Self { part: Part::Stream { stream, left: length }, _busy: None }
    }

    pub(crate) fn function(body: B) -> Self {
        Self { part: Part::Function(body), _busy: None }
    }

    pub(crate) fn hold(mut self, busy: Busy) -> Self {
        self._busy = Some(busy);
        self
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for AnswerBody<B> {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut self.part {
            Part::Memory(bytes) if bytes.is_empty() => Poll::Ready(None),
            Part::Memory(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Part::Stream { left: 0, .. } => Poll::Ready(None),
            Part::Stream { stream, left } => match ready!(stream.poll_next_unpin(context)) {
                Some(Ok(piece)) => match left.checked_sub(piece.len() as u64) {
                    Some(rest) => {
                        *left = rest;
                        Poll::Ready(Some(Ok(Frame::data(piece))))
                    }
                    None => Poll::Ready(Some(Err(io::Error::other("a file was longer than its list says")))),
                },
                Some(Err(error)) => {
                    tracing::warn!(%error, "a file could not be read to its end");
                    Poll::Ready(Some(Err(error)))
                }
                None => Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into()))),
            },
            Part::Function(body) => {
                let frame = ready!(Pin::new(body).poll_frame(context));
                Poll::Ready(frame.map(|frame| frame.map_err(|_| io::ErrorKind::ConnectionAborted.into())))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.part {
            Part::Memory(bytes) => bytes.is_empty(),
            Part::Stream { left, .. } => *left == 0,
            Part::Function(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.part {
            Part::Memory(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Part::Stream { left, .. } => SizeHint::with_exact(*left),
            Part::Function(body) => body.size_hint(),
        }
    }
}
