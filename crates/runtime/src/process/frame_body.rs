//! A response body that arrives in frames.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::future::BoxFuture;
use http_body::{Frame, SizeHint};

use super::ProcessSlot;
use super::running::{Fault, Piece, Running};
use crate::executor::{BodyError, SlotHome};

pub(crate) struct FrameBody<H: SlotHome<ProcessSlot>>(State<H>);

enum State<H: SlotHome<ProcessSlot>> {
    Whole(Bytes),
    /// The flag says whether the deadline of the next piece is already running.
    Stream(Box<Running<H>>, bool),
    /// Finding out why the body was cut off.
    Cut(BoxFuture<'static, BodyError>),
    Done,
}

impl<H: SlotHome<ProcessSlot>> FrameBody<H> {
    pub fn whole(body: Bytes) -> Self {
        Self(if body.is_empty() { State::Done } else { State::Whole(body) })
    }

    pub fn stream(running: Running<H>) -> Self {
        Self(State::Stream(Box::new(running), false))
    }

    fn cut(&mut self, fault: Fault) {
        if let State::Stream(running, _) = std::mem::replace(&mut self.0, State::Done) {
            self.0 = State::Cut(Box::pin(running.cut(fault)));
        }
    }

    fn finish(&mut self) {
        if let State::Stream(running, _) = std::mem::replace(&mut self.0, State::Done) {
            running.finish();
        }
    }
}

impl<H: SlotHome<ProcessSlot>> http_body::Body for FrameBody<H> {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        loop {
            match &mut self.0 {
                State::Done => return Poll::Ready(None),
                State::Whole(body) => {
                    let body = std::mem::take(body);
                    self.0 = State::Done;
                    return Poll::Ready(Some(Ok(Frame::data(body))));
                }
                State::Cut(why) => {
                    let error = ready!(why.as_mut().poll(cx));
                    self.0 = State::Done;
                    return Poll::Ready(Some(Err(error)));
                }
                State::Stream(running, waiting) => match running.take_piece() {
                    Ok(Some(Piece::Data(data))) => {
                        *waiting = false;
                        // The slot goes home with the last bytes, without waiting for the next
                        // poll.
                        if running.is_complete() {
                            self.finish();
                        }
                        return Poll::Ready(Some(Ok(Frame::data(data))));
                    }
                    Ok(Some(Piece::End)) => self.finish(),
                    Ok(None) => {
                        if !std::mem::replace(waiting, true) {
                            running.restart_deadline();
                        }
                        if let Err(fault) = ready!(running.poll_fill(cx)) {
                            self.cut(fault);
                        }
                    }
                    Err(fault) => self.cut(fault),
                },
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, State::Done)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            State::Done => SizeHint::with_exact(0),
            State::Whole(body) => SizeHint::with_exact(body.len() as u64),
            State::Stream(running, _) => running.remaining().map_or_else(SizeHint::default, SizeHint::with_exact),
            State::Cut(_) => SizeHint::default(),
        }
    }
}
