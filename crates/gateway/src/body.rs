//! Request and response bodies, passed through without copying.

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

use crate::activity::InFlight;
use crate::settings::Limits;

/// The body of a request to a function: fails when it exceeds the limit or when its sender stalls.
pub struct RequestBody {
    source: Source,
    left: u64,
    patience: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    outcome: Option<Arc<BodyOutcome>>,
}

enum Source {
    Memory(Bytes),
    Wire(Incoming),
}

/// Why a body failed before its end.
#[derive(Debug, thiserror::Error)]
pub enum BodyFailure {
    #[error("the body of the request is larger than what is allowed")]
    TooLarge,
    #[error("the sender of the body stalled")]
    Stalled,
    #[error("the connection ended before the body did")]
    Broken(#[source] hyper::Error),
}

/// The outcome of a request body, for the caller that has to respond after the body was moved away.
#[derive(Debug, Default)]
pub(crate) struct BodyOutcome(AtomicU8);

/// [`BodyFailure`] without its source, which only the reader of the body gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyEnd {
    TooLarge,
    Stalled,
    Broken,
}

const TOO_LARGE: u8 = 1;
const STALLED: u8 = 2;
const BROKEN: u8 = 3;

impl BodyOutcome {
    /// Returns `None` as long as the body has not failed.
    pub(crate) fn end(&self) -> Option<BodyEnd> {
        match self.0.load(Ordering::Relaxed) {
            TOO_LARGE => Some(BodyEnd::TooLarge),
            STALLED => Some(BodyEnd::Stalled),
            BROKEN => Some(BodyEnd::Broken),
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

    /// Returns a handle to the outcome of this body. `None` if it cannot fail because no bytes are
    /// to come.
    pub(crate) fn outcome(&mut self) -> Option<Arc<BodyOutcome>> {
        if self.is_end_stream() {
            return None;
        }
        Some(self.outcome.get_or_insert_default().clone())
    }

    fn fail(&self, failure: BodyFailure) -> Poll<Option<Result<Frame<Bytes>, BodyFailure>>> {
        if let Some(outcome) = &self.outcome {
            let code = match failure {
                BodyFailure::TooLarge => TOO_LARGE,
                BodyFailure::Stalled => STALLED,
                BodyFailure::Broken(_) => BROKEN,
            };
            outcome.0.store(code, Ordering::Relaxed);
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
        Self { source: Source::Wire(body), left: u64::MAX, patience: Duration::MAX, timer: None, outcome: None }
    }
}

impl From<Bytes> for RequestBody {
    fn from(bytes: Bytes) -> Self {
        Self { source: Source::Memory(bytes), left: u64::MAX, patience: Duration::MAX, timer: None, outcome: None }
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

/// The body of a response.
///
/// hyper discards what it has not written yet when a body fails. So a failure is held back until
/// everything before it, even if that is only the head, has been sent: the client gets the status,
/// the id and all frames, and then the abort. Over HTTP/2 this reaches only as far as the client's
/// window: what does not fit into it during the wait is lost.
pub struct ResponseBody<B> {
    part: Part<B>,
    /// What remains of the `content-length` that a function set on a streamed body.
    remaining: Option<u64>,
    /// Held until the response was sent or aborted.
    in_flight: Option<InFlight>,
    /// The connection's flush count when it got the newest frame or the head, or when the body
    /// failed.
    flushes: u64,
    failed: Option<Box<Failed>>,
}

enum Part<B> {
    Memory(Bytes),
    Stream {
        stream: BoxStream<'static, io::Result<Bytes>>,
        left: u64,
    },
    Function(B),
    /// The first frame was ready when the response began. Boxed to keep all other responses small.
    Begun(Option<Box<Frame<Bytes>>>, B),
}

/// A failure that is held back.
struct Failed {
    error: Option<io::Error>,
    timer: Pin<Box<Sleep>>,
    checks_left: u32,
}

impl Failed {
    const CHECK_EVERY: Duration = Duration::from_millis(5);
    /// One second: a client that has not read everything before the failure by then may miss it.
    const CHECKS: u32 = 200;
    /// Used when the connection has flushed since the newest frame: there may be nothing left to
    /// write that would cause another flush.
    const CHECKS_AFTER_A_FLUSH: u32 = 10;
}

impl<B> ResponseBody<B> {
    pub(crate) fn empty() -> Self {
        Self::bytes(Bytes::new())
    }

    pub(crate) fn bytes(bytes: Bytes) -> Self {
        Self::of(Part::Memory(bytes))
    }

    /// A stream of exactly `length` bytes. Fewer or more are an error.
    pub(crate) fn stream(stream: BoxStream<'static, io::Result<Bytes>>, length: u64) -> Self {
        Self::of(Part::Stream { stream, left: length })
    }

    /// A streamed body. If `length` is given, another length is an error.
    pub(crate) fn function(first: Option<Frame<Bytes>>, length: Option<u64>, body: B) -> Self {
        let part = match first {
            None => Part::Function(body),
            Some(first) => Part::Begun(Some(Box::new(first)), body),
        };
        Self { remaining: length, ..Self::of(part) }
    }

    fn of(part: Part<B>) -> Self {
        Self { part, remaining: None, in_flight: None, flushes: 0, failed: None }
    }

    pub(crate) fn hold(mut self, in_flight: InFlight) -> Self {
        self.flushes = in_flight.flushes();
        self.in_flight = Some(in_flight);
        self
    }

    /// Checks this frame, or the end, against the declared length.
    fn count_down(&mut self, piece: Option<&Frame<Bytes>>) -> io::Result<()> {
        let Some(remaining) = self.remaining else { return Ok(()) };
        match piece {
            None if remaining > 0 => Err(io::Error::other("a function's body was shorter than its content-length")),
            None => Ok(()),
            Some(piece) => {
                let length = piece.data_ref().map_or(0, |data| data.len() as u64);
                let longer = || io::Error::other("a function's body was longer than its content-length");
                self.remaining = Some(remaining.checked_sub(length).ok_or_else(longer)?);
                Ok(())
            }
        }
    }

    /// Whether the connection has sent everything since `flushes` was recorded.
    fn is_flushed(&self) -> bool {
        self.in_flight.as_ref().is_none_or(|in_flight| in_flight.flushes() != self.flushes)
    }

    /// Holds a failure back until it can be reported.
    ///
    /// A flush since the newest frame does not prove that the frame was sent: over HTTP/2 another
    /// task writes to the connection, and its flush may have begun before it had the frame. So this
    /// waits for a flush that completes from now on. Over HTTP/1 that flush comes with this same
    /// poll, and one look is enough.
    fn fail(&mut self, context: &mut Context<'_>, error: io::Error) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let Some(in_flight) = &self.in_flight else { return Poll::Ready(Some(Err(error))) };
        let checks_left = if self.is_flushed() { Failed::CHECKS_AFTER_A_FLUSH } else { Failed::CHECKS };
        self.flushes = in_flight.flushes();
        let timer = Box::pin(tokio::time::sleep(Failed::CHECK_EVERY));
        self.failed = Some(Box::new(Failed { error: Some(error), timer, checks_left }));
        self.poll_failed(context)
    }

    fn poll_failed(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let is_flushed = self.is_flushed();
        let Some(failed) = &mut self.failed else { return Poll::Ready(None) };
        while failed.timer.poll_unpin(context).is_ready() {
            failed.checks_left = failed.checks_left.saturating_sub(1);
            if is_flushed || failed.checks_left == 0 {
                // `None` when polled again after the failure was returned.
                return Poll::Ready(failed.error.take().map(Err));
            }
            failed.timer.as_mut().reset(Instant::now() + Failed::CHECK_EVERY);
        }
        Poll::Pending
    }
}

impl<B: Body<Data = Bytes> + Unpin> Part<B> {
    fn poll_frame(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match self {
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
            Part::Begun(first @ Some(_), _) => Poll::Ready(first.take().map(|first| Ok(*first))),
            Part::Function(body) | Part::Begun(None, body) => {
                let frame = ready!(Pin::new(body).poll_frame(context));
                Poll::Ready(frame.map(|frame| frame.map_err(|_| io::ErrorKind::ConnectionAborted.into())))
            }
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for ResponseBody<B> {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.failed.is_some() {
            return self.poll_failed(context);
        }
        match ready!(self.part.poll_frame(context)) {
            Some(Err(error)) => self.fail(context, error),
            piece => {
                let piece_or_end = piece.as_ref().and_then(|piece| piece.as_ref().ok());
                if let Err(error) = self.count_down(piece_or_end) {
                    return self.fail(context, error);
                }
                if let Some(in_flight) = &self.in_flight {
                    self.flushes = in_flight.flushes();
                }
                Poll::Ready(piece)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.part {
            _ if self.failed.is_some() => false,
            Part::Memory(bytes) => bytes.is_empty(),
            Part::Stream { left, .. } => *left == 0,
            Part::Begun(Some(_), _) => false,
            Part::Function(body) | Part::Begun(None, body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.part {
            Part::Memory(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Part::Stream { left, .. } => SizeHint::with_exact(*left),
            // `Begun` is used only for bodies of unknown length.
            Part::Begun(Some(_), _) => SizeHint::default(),
            Part::Function(body) | Part::Begun(None, body) => body.size_hint(),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::poll;
    use http_body_util::{BodyExt, StreamBody};

    use super::*;
    use crate::activity::Activity;

    /// A response that sent one frame over a connection that was then flushed `flushes` times. Its
    /// next frame is a failure.
    async fn about_to_fail(activity: &Arc<Activity>, flushes: u32) -> ResponseBody<impl Body<Data = Bytes> + Unpin> {
        let pieces = [Ok(Frame::data(Bytes::from_static(b"piece"))), Err(io::Error::other("it breaks"))];
        let body = ResponseBody::function(None, None, StreamBody::new(futures::stream::iter(pieces)));
        let mut body = body.hold(activity.begin());
        body.frame().await.expect("a piece").expect("it is whole");
        (0..flushes).for_each(|_| activity.record_flush());
        body
    }

    #[tokio::test(start_paused = true)]
    async fn failure_waits_for_a_new_flush() {
        for flushes in [0, 1] {
            let activity = Arc::new(Activity::default());
            let mut body = about_to_fail(&activity, flushes).await;
            let begun = Instant::now();
            let mut failing = Box::pin(body.frame());
            assert!(poll!(&mut failing).is_pending(), "what was flushed may have been what came before the piece");
            activity.record_flush();
            failing.await.expect("its failure").expect_err("it breaks");
            assert!(begun.elapsed() < Failed::CHECK_EVERY * 2, "{:?} after {flushes} flushes", begun.elapsed());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn failure_is_reported_at_the_deadline_without_a_flush() {
        for (flushes, checks) in [(1, Failed::CHECKS_AFTER_A_FLUSH), (0, Failed::CHECKS)] {
            let activity = Arc::new(Activity::default());
            let mut body = about_to_fail(&activity, flushes).await;
            let begun = Instant::now();
            body.frame().await.expect("its failure").expect_err("it breaks");
            let (took, least) = (begun.elapsed(), Failed::CHECK_EVERY * checks);
            assert!(took >= least && took < least * 2, "{took:?} after {flushes} flushes");
            assert!(body.frame().await.is_none(), "it is reported once");
        }
    }
}
