//! One connection to a worker that speaks frames. A call is one write and, for a small response, one read, both from the
//! caller's own task.

use std::io::IoSlice;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::{Instant, Sleep};

use super::ProcessSlot;
use super::frame_body::FrameBody;
use super::frames::encode_request;
use super::running::{Head, Running};
use super::upload::{Upload, UploadFault, body_fault, write_all};
use super::worker::Worker;
use crate::call::CallError;
use crate::executor::{Call, Failure, RequestBody, SlotHome};

/// A body of up to this size goes out with its head.
const WITH_HEAD: usize = 64 << 10;
/// Room for a response that is small, head included.
const READ: usize = 8 << 10;
/// Room for a read in the middle of a large body.
const READ_MORE: usize = 128 << 10;

pub(crate) struct FrameSlot {
    reader: OwnedReadHalf,
    /// Away while an upload has it.
    pub(crate) writer: Option<OwnedWriteHalf>,
    pub(crate) input: BytesMut,
    head: Vec<u8>,
    /// Kept between calls: moving a timer further into the future costs next to nothing.
    deadline: Pin<Box<Sleep>>,
    pub(crate) timeout: Duration,
    pub(crate) worker: Arc<Worker>,
}

pub(crate) enum ReadFault {
    TimedOut,
    Closed,
}

impl FrameSlot {
    pub fn new(stream: UnixStream, timeout: Duration, worker: Arc<Worker>) -> Self {
        let (reader, writer) = stream.into_split();
        Self {
            reader,
            writer: Some(writer),
            input: BytesMut::new(),
            head: Vec::with_capacity(1024),
            deadline: Box::pin(tokio::time::sleep(timeout)),
            timeout,
            worker,
        }
    }

    /// What a large body left behind is not kept for the next call.
    pub fn trim(&mut self) {
        if self.input.is_empty() && self.input.capacity() > READ * 2 {
            self.input = BytesMut::new();
        }
        if self.head.capacity() > READ * 2 {
            self.head = Vec::with_capacity(READ / 8);
        }
    }

    /// The function's time begins anew.
    pub fn restart_deadline(&mut self) {
        self.deadline.as_mut().reset(Instant::now() + self.timeout);
    }

    /// Reads what is there, or waits until the deadline.
    pub fn poll_fill(&mut self, cx: &mut Context<'_>, large: bool) -> Poll<Result<(), ReadFault>> {
        let room = if large { READ_MORE } else { READ };
        if self.input.capacity() - self.input.len() < room / 4 {
            self.input.reserve(room);
        }
        match tokio_util::io::poll_read_buf(Pin::new(&mut self.reader), cx, &mut self.input) {
            Poll::Ready(Ok(0) | Err(_)) => Poll::Ready(Err(ReadFault::Closed)),
            Poll::Ready(Ok(_)) => Poll::Ready(Ok(())),
            Poll::Pending => self.deadline.as_mut().poll(cx).map(|()| Err(ReadFault::TimedOut)),
        }
    }

    pub async fn call<B, H>(
        mut self: Box<Self>,
        mut call: Call<B>,
        home: H,
    ) -> Result<http::Response<FrameBody<H>>, Failure<B>>
    where
        B: RequestBody,
        H: SlotHome<ProcessSlot>,
    {
        let ended = match look_at_body(&mut call).await {
            Ok(ended) => ended,
            Err(error) => {
                home.report(&call.context.request_id, &error.to_string());
                home.give_back(ProcessSlot::Frames(self));
                return Err(error.into());
            }
        };
        let with_head = call.first.as_ref().filter(|first| first.len() <= WITH_HEAD).cloned().unwrap_or_default();
        let whole = ended && with_head.len() == call.first.as_ref().map_or(0, Bytes::len);
        let time = self.timeout.as_millis();
        if !encode_request(&mut self.head, &call.head, &call.context, time, with_head.len(), whole) {
            home.give_back(ProcessSlot::Frames(self));
            let problem = "its head is too large".to_owned();
            return Err(CallError::RequestBody { problem, too_large: true }.into());
        }
        self.restart_deadline();
        self.worker.output.begin(&call.context.request_id);
        let mut running = Running::new(self, home, std::mem::take(&mut call.context.request_id));
        match running.write_head(&with_head).await {
            Ok(()) => {}
            Err(nothing_sent) => {
                if nothing_sent {
                    call.context.request_id = running.dead_before_the_request();
                    return Err(Failure::NotSent(Box::new(call)));
                }
                return Err(running.crashed().await.into());
            }
        }
        if !whole {
            let rest = call.first.filter(|first| first.len() > WITH_HEAD);
            running.upload(|on, writer, timeout| Upload::start(on, writer, rest, call.body, timeout));
        }
        let head = loop {
            match running.take_head() {
                Ok(Some(head)) => break head,
                Ok(None) => {
                    if let Err(fault) = std::future::poll_fn(|cx| running.poll_fill(cx)).await {
                        return Err(running.failed(fault).await.into());
                    }
                }
                Err(fault) => return Err(running.failed(fault).await.into()),
            }
        };
        let Head { status, headers, whole } = head;
        let mut response = http::Response::new(match whole {
            Some(body) => {
                running.finish();
                FrameBody::whole(body)
            }
            None => FrameBody::stream(running),
        });
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        Ok(response)
    }

    /// One write for the head and a small body. `Err(true)`: nothing of it has been sent.
    pub async fn write(&mut self, body: &[u8]) -> Result<(), bool> {
        let Some(writer) = &mut self.writer else { return Err(false) };
        let mut both = [IoSlice::new(&self.head), IoSlice::new(body)];
        tokio::select! {
            biased;
            written = write_all(writer, &mut both) => written.map_err(|fault| fault.nothing_sent),
            // A worker that does not even read: what becomes of the call is decided by the same deadline when reading.
            () = self.deadline.as_mut() => Ok(()),
        }
    }
}

/// Takes what is there of the body, without waiting. True: that was all.
async fn look_at_body<B: RequestBody>(call: &mut Call<B>) -> Result<bool, CallError> {
    if call.body.is_end_stream() || call.first.is_some() {
        return Ok(call.body.is_end_stream());
    }
    let body = &mut call.body;
    let frame = std::future::poll_fn(|cx| {
        Poll::Ready(match Pin::new(&mut *body).poll_frame(cx) {
            Poll::Ready(frame) => Some(frame),
            Poll::Pending => None,
        })
    })
    .await;
    match frame {
        None => Ok(false),
        Some(None) => Ok(true),
        Some(Some(Ok(frame))) => {
            call.first = frame.into_data().ok();
            Ok(call.body.is_end_stream())
        }
        Some(Some(Err(error))) => Err(match body_fault(error.into()) {
            UploadFault::Body { problem, too_large } => CallError::RequestBody { problem, too_large },
            UploadFault::Write => CallError::RequestBody { problem: String::new(), too_large: false },
        }),
    }
}
