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

/// [`BodyFailure`] without what only the reader of the body gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyEnd {
    TooLarge,
    Stalled,
    Broken,
}

const TOO_LARGE: u8 = 1;
const STALLED: u8 = 2;
const BROKEN: u8 = 3;

impl Fate {
    /// `None` as long as it has not failed.
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
                BodyFailure::Broken(_) => BROKEN,
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
///
/// hyper forgets what it has not written yet when a body fails. So a failure waits until what went before it, be it only
/// the head, is out: the other side gets the status, the id and all pieces, and then the break. Over HTTP/2 that is as far
/// as the other side's window reaches: what it has no room for within the wait is lost.
pub struct AnswerBody<B> {
    part: Part<B>,
    /// What is left of the length that a function gave for a body that it streams.
    owed: Option<u64>,
    /// Held until the answer was sent or given up.
    busy: Option<Busy>,
    /// The connection's flushes when the newest piece, or the head, was given to it, or when the body failed.
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
    /// The first piece was there when the answer began. Boxed, since all other answers would carry the room for it.
    Begun(Option<Box<Frame<Bytes>>>, B),
}

/// A failure that waits to be told.
struct Failed {
    error: Option<io::Error>,
    timer: Pin<Box<Sleep>>,
    looks_left: u32,
}

impl Failed {
    const LOOK_EVERY: Duration = Duration::from_millis(5);
    /// A second: whoever has not taken what came before by then may miss it.
    const LOOKS: u32 = 200;
    /// If there was a flush already since the newest piece, and nothing more may be written that would bring another one.
    const LOOKS_AFTER_A_FLUSH: u32 = 10;
}

impl<B> AnswerBody<B> {
    pub(crate) fn empty() -> Self {
        Self::bytes(Bytes::new())
    }

    pub(crate) fn bytes(bytes: Bytes) -> Self {
        Self::of(Part::Memory(bytes))
    }

    /// Exactly `length` bytes; a stream with fewer or more is an error.
    pub(crate) fn stream(stream: BoxStream<'static, io::Result<Bytes>>, length: u64) -> Self {
        Self::of(Part::Stream { stream, left: length })
    }

    /// A streamed body with another length than the given one is an error.
    pub(crate) fn function(first: Option<Frame<Bytes>>, length: Option<u64>, body: B) -> Self {
        let part = match first {
            None => Part::Function(body),
            Some(first) => Part::Begun(Some(Box::new(first)), body),
        };
        Self { owed: length, ..Self::of(part) }
    }

    fn of(part: Part<B>) -> Self {
        Self { part, owed: None, busy: None, flushes: 0, failed: None }
    }

    pub(crate) fn hold(mut self, busy: Busy) -> Self {
        self.flushes = busy.flushes();
        self.busy = Some(busy);
        self
    }

    /// Whether the body keeps to its length with this piece, or its end.
    fn pay(&mut self, piece: Option<&Frame<Bytes>>) -> io::Result<()> {
        let Some(owed) = self.owed else { return Ok(()) };
        match piece {
            None if owed > 0 => Err(io::Error::other("a function's body was shorter than its content-length")),
            None => Ok(()),
            Some(piece) => {
                let length = piece.data_ref().map_or(0, |data| data.len() as u64);
                let longer = || io::Error::other("a function's body was longer than its content-length");
                self.owed = Some(owed.checked_sub(length).ok_or_else(longer)?);
                Ok(())
            }
        }
    }

    /// Whether all that the connection had to send went out since it was last asked how often that was.
    fn is_out(&self) -> bool {
        self.busy.as_ref().is_none_or(|busy| busy.flushes() != self.flushes)
    }

    /// A flush since the newest piece does not say that the piece is out: over HTTP/2 the connection is written by another
    /// task, whose flush may have begun before it had the piece. So one that ends from now on is waited for. Over HTTP/1 it
    /// comes with this very poll, and there is one look.
    fn fail(&mut self, context: &mut Context<'_>, error: io::Error) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let Some(busy) = &self.busy else { return Poll::Ready(Some(Err(error))) };
        let looks_left = if self.is_out() { Failed::LOOKS_AFTER_A_FLUSH } else { Failed::LOOKS };
        self.flushes = busy.flushes();
        let timer = Box::pin(tokio::time::sleep(Failed::LOOK_EVERY));
        self.failed = Some(Box::new(Failed { error: Some(error), timer, looks_left }));
        self.poll_failed(context)
    }

    fn poll_failed(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let is_out = self.is_out();
        let Some(failed) = &mut self.failed else { return Poll::Ready(None) };
        while failed.timer.poll_unpin(context).is_ready() {
            failed.looks_left = failed.looks_left.saturating_sub(1);
            if is_out || failed.looks_left == 0 {
                // Polled after its end, it has ended.
                return Poll::Ready(failed.error.take().map(Err));
            }
            failed.timer.as_mut().reset(Instant::now() + Failed::LOOK_EVERY);
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

impl<B: Body<Data = Bytes> + Unpin> Body for AnswerBody<B> {
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
                if let Err(error) = self.pay(piece_or_end) {
                    return self.fail(context, error);
                }
                if let Some(busy) = &self.busy {
                    self.flushes = busy.flushes();
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
            // Only bodies of no known length are looked into.
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
    use crate::connection::Pulse;

    /// An answer that sent a piece, over a connection that was then flushed so often, and fails next.
    async fn about_to_fail(pulse: &Arc<Pulse>, flushes: u32) -> AnswerBody<impl Body<Data = Bytes> + Unpin> {
        let pieces = [Ok(Frame::data(Bytes::from_static(b"piece"))), Err(io::Error::other("it breaks"))];
        let body = AnswerBody::function(None, None, StreamBody::new(futures::stream::iter(pieces)));
        let mut body = body.hold(pulse.begin());
        body.frame().await.expect("a piece").expect("it is whole");
        (0..flushes).for_each(|_| pulse.all_is_out());
        body
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_waits_for_a_flush_of_its_own_even_if_there_was_one_since_the_newest_piece() {
        for flushes in [0, 1] {
            let pulse = Arc::new(Pulse::default());
            let mut body = about_to_fail(&pulse, flushes).await;
            let begun = Instant::now();
            let mut failing = Box::pin(body.frame());
            assert!(poll!(&mut failing).is_pending(), "what was flushed may have been what came before the piece");
            pulse.all_is_out();
            failing.await.expect("its failure").expect_err("it breaks");
            assert!(begun.elapsed() < Failed::LOOK_EVERY * 2, "{:?} after {flushes} flushes", begun.elapsed());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_told_soon_if_nothing_is_left_to_be_flushed_and_at_last_in_any_case() {
        for (flushes, looks) in [(1, Failed::LOOKS_AFTER_A_FLUSH), (0, Failed::LOOKS)] {
            let pulse = Arc::new(Pulse::default());
            let mut body = about_to_fail(&pulse, flushes).await;
            let begun = Instant::now();
            body.frame().await.expect("its failure").expect_err("it breaks");
            let (took, least) = (begun.elapsed(), Failed::LOOK_EVERY * looks);
            assert!(took >= least && took < least * 2, "{took:?} after {flushes} flushes");
            assert!(body.frame().await.is_none(), "it is told once");
        }
    }
}
