//! A running call on a frame slot, from the first byte of the request to the last of the response.
//! Even if the caller leaves, the slot ends up reusable or is reported as broken.

use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use http::{HeaderMap, StatusCode};
use tokio::net::unix::OwnedWriteHalf;
use tokio::runtime::Handle;

use super::ProcessSlot;
use super::frame_slot::{ANSWERED_AGAIN, FrameSlot, ReadFault};
use super::frames::{
    BODY, CANCEL, Complaint, ERROR, FrameHeader, HEADER, MAX_DOCUMENT, MAX_HEAD, RESPONSE, decode_response,
};
use super::upload::{Terms, Upload, UploadFault, write_frame};
use crate::call::{CallError, Ended};
use crate::executor::{BodyError, SlotHome, StopReason};

/// Single-frame responses up to this size are read whole before they are passed on.
const WHOLE: usize = 64 << 10;

pub(crate) struct Running<H: SlotHome<ProcessSlot>> {
    /// `Some` until the call is over.
    parts: Option<(Box<FrameSlot>, H)>,
    upload: Option<Upload>,
    request: Box<str>,
    /// Bytes of the current frame that were not passed on yet.
    left: usize,
    /// The current frame is the last of the body.
    last: bool,
    /// The response head has been received.
    answered: bool,
}

pub(crate) struct Head {
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// The whole body, if it was received with the head.
    pub whole: Option<Bytes>,
}

pub(crate) enum Fault {
    TimedOut,
    Closed,
    Request {
        problem: String,
        too_large: bool,
    },
    Malformed(String),
    /// A frame of another request, with its id.
    Foreign(u64),
    Threw(Complaint),
}

impl From<ReadFault> for Fault {
    fn from(fault: ReadFault) -> Self {
        match fault {
            ReadFault::TimedOut => Self::TimedOut,
            ReadFault::Closed => Self::Closed,
        }
    }
}

impl<H: SlotHome<ProcessSlot>> Running<H> {
    pub fn new(slot: Box<FrameSlot>, home: H, request: Box<str>) -> Self {
        Self { parts: Some((slot, home)), upload: None, request, left: 0, last: false, answered: false }
    }

    pub async fn write_head(&mut self, body: &[u8]) -> Result<(), bool> {
        match &mut self.parts {
            Some((slot, _)) => slot.write(body).await,
            None => Err(false),
        }
    }

    pub fn upload(&mut self, start: impl FnOnce(&Handle, OwnedWriteHalf, Terms) -> Upload) {
        if let Some((slot, _)) = &mut self.parts
            && let Some(writer) = slot.writer.take()
        {
            self.upload = Some(start(&slot.worker.runtime, writer, Terms { id: slot.id, timeout: slot.timeout }));
        }
    }

    pub fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        let Some((slot, _)) = &mut self.parts else { return Poll::Ready(Err(Fault::Closed)) };
        if let Some(upload) = &mut self.upload
            && let Poll::Ready(uploaded) = upload.poll(cx)
        {
            self.upload = None;
            if let Some(uploaded) = uploaded {
                slot.writer = Some(uploaded.writer);
                if let Err(UploadFault::Body { problem, too_large }) = uploaded.outcome {
                    return Poll::Ready(Err(Fault::Request { problem, too_large }));
                }
            }
        }
        slot.poll_fill(cx, self.answered).map_err(Fault::from)
    }

    /// Returns the response head once it was received, with the body if that is small and complete.
    pub fn take_head(&mut self) -> Result<Option<Head>, Fault> {
        let Some((slot, _)) = &mut self.parts else { return Err(Fault::Closed) };
        let input = &mut slot.input;
        let Some(frame) = FrameHeader::peek(input) else { return Ok(None) };
        if frame.id != slot.id {
            return Err(Fault::Foreign(frame.id));
        }
        if frame.kind == ERROR {
            return self.take_complaint();
        }
        if frame.kind != RESPONSE || frame.length < 4 {
            return Err(Fault::Malformed(format!("a frame of kind {} came instead of a response", frame.kind)));
        }
        let Some(length) = input.get(HEADER..).and_then(|rest| rest.first_chunk::<4>()) else { return Ok(None) };
        let text = u32::from_le_bytes(*length) as usize;
        if text > MAX_HEAD || 4 + text > frame.length {
            return Err(Fault::Malformed(format!("its head has {text} bytes, and {MAX_HEAD} is the most")));
        }
        let wanted = if frame.end && frame.length <= WHOLE { frame.length } else { 4 + text };
        if input.len() < HEADER + wanted {
            input.reserve(HEADER + wanted - input.len());
            return Ok(None);
        }
        input.advance(HEADER + 4);
        let head = input.split_to(text).freeze();
        let (status, headers) = decode_response(&head).map_err(Fault::Malformed)?;
        self.answered = true;
        self.left = frame.length - 4 - text;
        self.last = frame.end;
        let whole = (self.last && self.left <= input.len()).then(|| {
            let body = input.split_to(self.left).freeze();
            self.left = 0;
            body
        });
        Ok(Some(Head { status, headers, whole }))
    }

    fn take_complaint<T>(&mut self) -> Result<Option<T>, Fault> {
        let Some((slot, _)) = &mut self.parts else { return Err(Fault::Closed) };
        let Some(frame) = FrameHeader::peek(&slot.input) else { return Ok(None) };
        if frame.length > MAX_DOCUMENT {
            return Err(Fault::Malformed("its error is too long".to_owned()));
        }
        if slot.input.len() < HEADER + frame.length {
            return Ok(None);
        }
        slot.input.advance(HEADER);
        Err(Fault::Threw(Complaint::read(&slot.input.split_to(frame.length))))
    }

    /// Returns the next received bytes of the response body. `Ok(None)` means that more must be
    /// read.
    pub fn take_piece(&mut self) -> Result<Option<Piece>, Fault> {
        loop {
            let Some((slot, _)) = &mut self.parts else { return Err(Fault::Closed) };
            if self.left == 0 && self.last {
                return Ok(Some(Piece::End));
            }
            if self.left > 0 {
                let here = self.left.min(slot.input.len());
                if here == 0 {
                    return Ok(None);
                }
                self.left -= here;
                return Ok(Some(Piece::Data(slot.input.split_to(here).freeze())));
            }
            match FrameHeader::peek(&slot.input) {
                None => return Ok(None),
                Some(frame) if frame.id != slot.id => return Err(Fault::Foreign(frame.id)),
                Some(frame) if frame.kind == BODY => {
                    slot.input.advance(HEADER);
                    self.left = frame.length;
                    self.last = frame.end;
                }
                Some(frame) if frame.kind == ERROR => return self.take_complaint(),
                Some(frame) => {
                    return Err(Fault::Malformed(format!("a frame of kind {} came inside its body", frame.kind)));
                }
            }
        }
    }

    /// The whole body was taken.
    pub fn is_complete(&self) -> bool {
        self.left == 0 && self.last
    }

    /// The number of remaining bytes, if known.
    pub fn remaining(&self) -> Option<u64> {
        self.last.then_some(self.left as u64)
    }

    /// Restarts the deadline for the next piece.
    pub fn restart_deadline(&mut self) {
        if let Some((slot, _)) = &mut self.parts {
            slot.restart_deadline();
        }
    }

    /// Called when the response has ended normally.
    pub fn finish(mut self) {
        let Some((mut slot, home)) = self.parts.take() else { return };
        slot.worker.output.end();
        if !slot.input.is_empty() {
            home.report(&self.request, ANSWERED_AGAIN);
            return home.broken(StopReason::Broken);
        }
        slot.trim();
        slot.before = (slot.id, std::mem::take(&mut self.request));
        match self.upload.take() {
            None if slot.writer.is_some() => home.give_back(ProcessSlot::Frames(slot)),
            None => home.broken(StopReason::Broken),
            // The worker answered before it had read the whole request. It skips the rest once it
            // knows where the request ends.
            Some(upload) => {
                let runtime = slot.worker.runtime.clone();
                runtime.spawn(async move {
                    slot.writer = upload.settle().await;
                    match slot.writer {
                        Some(_) => home.give_back(ProcessSlot::Frames(slot)),
                        None => home.broken(StopReason::Broken),
                    }
                });
            }
        }
    }

    /// The worker died before it received anything. Returns the request's id.
    pub fn dead_before_the_request(mut self) -> Box<str> {
        if let Some((slot, home)) = self.parts.take() {
            slot.worker.output.end();
            home.broken(StopReason::Broken);
        }
        std::mem::take(&mut self.request)
    }

    pub async fn crashed(self) -> CallError {
        self.failed(Fault::Closed).await
    }

    /// The caller's error in place of a response.
    pub async fn failed(mut self, fault: Fault) -> CallError {
        if let Fault::Request { problem, too_large } = fault {
            let error = CallError::RequestBody { problem, too_large };
            if let Some((_, home)) = &self.parts {
                home.report(&self.request, &error.to_string());
            }
            // Dropped here: the upload cancelled the request, and the drop drains the response.
            return error;
        }
        let Some((slot, home)) = self.parts.take() else { return CallError::Stopping };
        let (error, broken) = match fault {
            Fault::TimedOut => (CallError::TimedOut { after: slot.timeout }, Some(StopReason::TimedOut)),
            Fault::Malformed(problem) => (CallError::Malformed { problem }, Some(StopReason::Broken)),
            Fault::Foreign(id) => {
                let problem = foreign(&slot, &home, id);
                (CallError::Malformed { problem }, Some(StopReason::Broken))
            }
            Fault::Threw(complaint) => (CallError::Threw(complaint.into()), None),
            Fault::Closed | Fault::Request { .. } => {
                (CallError::Crashed { how: slot.worker.how_it_ended().await }, Some(StopReason::Broken))
            }
        };
        home.report(&self.request, &error.to_string());
        self.leave(slot, home, broken);
        error
    }

    /// The error that cuts off a response that has begun.
    pub async fn cut(mut self, fault: Fault) -> BodyError {
        let after = self.parts.as_ref().map_or(Duration::ZERO, |(slot, _)| slot.timeout);
        if let Fault::Request { problem, .. } = fault {
            // Dropped, as above.
            return BodyError::Malformed { problem: format!("the request's body could not be read: {problem}") };
        }
        let Some((slot, home)) = self.parts.take() else { return BodyError::Crashed { how: Ended::default() } };
        let (error, broken) = match fault {
            Fault::TimedOut => (BodyError::TimedOut { after }, Some(StopReason::TimedOut)),
            Fault::Malformed(problem) => (BodyError::Malformed { problem }, Some(StopReason::Broken)),
            Fault::Foreign(id) => {
                let problem = foreign(&slot, &home, id);
                (BodyError::Malformed { problem }, Some(StopReason::Broken))
            }
            Fault::Threw(complaint) => (BodyError::Threw(complaint.into()), None),
            Fault::Closed | Fault::Request { .. } => {
                (BodyError::Crashed { how: slot.worker.how_it_ended().await }, Some(StopReason::Broken))
            }
        };
        home.report(&self.request, &error.to_string());
        self.leave(slot, home, broken);
        error
    }

    fn leave(mut self, slot: Box<FrameSlot>, home: H, broken: Option<StopReason>) {
        if let Some(reason) = broken {
            slot.worker.output.end();
            home.broken(reason);
        } else {
            // A throw ends the response like any other end.
            self.parts = Some((slot, home));
            self.finish();
        }
    }

    /// Drains the rest of an unwanted response.
    async fn drain(&mut self) -> Result<(), Fault> {
        if let Some(upload) = &self.upload {
            upload.stop();
        } else if let Some((slot, _)) = &mut self.parts {
            let terms = Terms { id: slot.id, timeout: slot.timeout };
            let writer = slot.writer.as_mut().ok_or(Fault::Closed)?;
            write_frame(writer, CANCEL, false, &[], terms).await.map_err(|_| Fault::Closed)?;
        }
        loop {
            if !self.answered {
                match self.take_head() {
                    Ok(None) => {}
                    Ok(Some(head)) if head.whole.is_some() => return Ok(()),
                    Ok(Some(_)) => continue,
                    Err(Fault::Threw(_)) => return Ok(()),
                    Err(fault) => return Err(fault),
                }
            } else {
                match self.take_piece() {
                    Ok(None) => {}
                    Ok(Some(Piece::End)) | Err(Fault::Threw(_)) => return Ok(()),
                    Ok(Some(Piece::Data(_))) => continue,
                    Err(fault) => return Err(fault),
                }
            }
            match std::future::poll_fn(|cx| self.poll_fill(cx)).await {
                Ok(()) | Err(Fault::Request { .. }) => {}
                Err(fault) => return Err(fault),
            }
        }
    }
}

/// Logs another request's frame under that request, and returns the problem for the running one.
fn foreign<H: SlotHome<ProcessSlot>>(slot: &FrameSlot, home: &H, id: u64) -> String {
    let name = slot.name_of(id);
    if !name.is_empty() {
        home.report(name, ANSWERED_AGAIN);
    }
    "its process sent a response to another request".to_owned()
}

pub(crate) enum Piece {
    Data(Bytes),
    End,
}

/// The caller left. The slot is reusable only after the worker has ended its response, so a task
/// waits for that.
impl<H: SlotHome<ProcessSlot>> Drop for Running<H> {
    fn drop(&mut self) {
        let Some((mut slot, home)) = self.parts.take() else { return };
        slot.restart_deadline();
        let timeout = slot.timeout;
        let runtime = slot.worker.runtime.clone();
        let mut rest = Self {
            parts: Some((slot, home)),
            upload: self.upload.take(),
            request: std::mem::take(&mut self.request),
            left: self.left,
            last: self.last,
            answered: self.answered,
        };
        runtime.spawn(async move {
            let drained = tokio::time::timeout(timeout, rest.drain()).await;
            match drained {
                Ok(Ok(())) => rest.finish(),
                outcome => {
                    let Some((slot, home)) = rest.parts.take() else { return };
                    slot.worker.output.end();
                    if let Ok(Err(Fault::Foreign(id))) = &outcome {
                        foreign(&slot, &home, *id);
                    }
                    let timed_out = matches!(outcome, Err(_) | Ok(Err(Fault::TimedOut)));
                    if timed_out {
                        home.report(&rest.request, "the function went on for too long after its caller had left");
                    }
                    home.broken(if timed_out { StopReason::TimedOut } else { StopReason::Broken });
                }
            }
        });
    }
}
