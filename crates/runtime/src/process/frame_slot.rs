//! One connection to a worker that speaks the frame protocol. A call is one write and, for a small
//! response, one read, both from the caller's own task.

use std::hash::{BuildHasher as _, RandomState};
use std::io::IoSlice;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::{Instant, Sleep};

use super::ProcessSlot;
use super::frame_body::FrameBody;
use super::frames::{Follows, FrameHeader, HEADER, encode_request};
use super::running::{Head, Running};
use super::upload::{Terms, Upload, UploadFault, body_fault, write_all};
use super::worker::Worker;
use crate::call::CallError;
use crate::executor::{Call, Failure, RequestBody, SlotHome, StopReason};

/// Bodies up to this size are sent with the head.
const WITH_HEAD: usize = 64 << 10;
/// Buffer size for a small response, head included.
const READ: usize = 8 << 10;
/// Buffer size in the middle of a large body.
const READ_MORE: usize = 128 << 10;
/// Logged when bytes of a response arrive after its end.
pub(crate) const ANSWERED_AGAIN: &str = "the function's process sent more than one response to a request, as a forked child \
    does that goes on as if it were the worker; the instance was stopped";

pub(crate) struct FrameSlot {
    reader: OwnedReadHalf,
    /// `None` while an upload owns it.
    pub(crate) writer: Option<OwnedWriteHalf>,
    pub(crate) input: BytesMut,
    head: Vec<u8>,
    /// Reused between calls: postponing a timer is nearly free.
    deadline: Pin<Box<Sleep>>,
    pub(crate) timeout: Duration,
    pub(crate) worker: Arc<Worker>,
    ids: Ids,
    /// The id of the current request, carried by every frame of its response.
    pub(crate) id: u64,
    /// The previous request: its frame id, and its id in the log.
    pub(crate) before: (u64, Box<str>),
}

/// Ids that code in a worker cannot guess: a keyed hash of a counter. So leftovers of one request,
/// or frames forged with a known id, never look like the response to another.
#[derive(Default)]
struct Ids {
    key: RandomState,
    count: u64,
}

impl Ids {
    fn next(&mut self) -> u64 {
        self.count += 1;
        // 0 is reserved for the handshake.
        self.key.hash_one(self.count).max(1)
    }
}

/// What was found on a connection without a running request.
enum Idle {
    Clean,
    Closed,
    /// Unsolicited bytes, with their frame's header if it is complete.
    Surplus(Option<FrameHeader>),
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
            ids: Ids::default(),
            id: 0,
            before: (0, Box::default()),
        }
    }

    /// Checks whether bytes have arrived since the last response. Asks the kernel directly, because
    /// the event loop may not have seen them yet.
    fn look(&self) -> Idle {
        let mut header = [0_u8; HEADER];
        match rustix::net::recv(self.reader.as_ref(), &mut header, RecvFlags::PEEK | RecvFlags::DONTWAIT) {
            Err(Errno::AGAIN | Errno::INTR) => Idle::Clean,
            Ok((_, 0)) | Err(_) => Idle::Closed,
            Ok((_, count)) => Idle::Surplus(FrameHeader::peek(&header[..count.min(HEADER)])),
        }
    }

    /// The log id of the request that a frame belongs to, if that is the previous one. Empty
    /// otherwise.
    pub fn name_of(&self, id: u64) -> &str {
        if id == self.before.0 { &self.before.1 } else { "" }
    }

    /// Frees the buffers that a large body has grown.
    pub fn trim(&mut self) {
        if self.input.is_empty() && self.input.capacity() > READ * 2 {
            self.input = BytesMut::new();
        }
        if self.head.capacity() > READ * 2 {
            self.head = Vec::with_capacity(READ / 8);
        }
    }

    /// Restarts the function's deadline.
    pub fn restart_deadline(&mut self) {
        self.deadline.as_mut().reset(Instant::now() + self.timeout);
    }

    /// Reads available bytes, or waits until the deadline.
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
        match self.look() {
            Idle::Clean => {}
            Idle::Closed => {
                home.broken(StopReason::Broken);
                return Err(Failure::NotSent(Box::new(call)));
            }
            Idle::Surplus(frame) => {
                home.report(frame.map_or("", |frame| self.name_of(frame.id)), ANSWERED_AGAIN);
                home.broken(StopReason::Broken);
                return Err(Failure::NotSent(Box::new(call)));
            }
        }
        let with_head = call.first.as_ref().filter(|first| first.len() <= WITH_HEAD).cloned().unwrap_or_default();
        let whole = ended && with_head.len() == call.first.as_ref().map_or(0, Bytes::len);
        let time = self.timeout.as_millis();
        self.id = self.ids.next();
        let follows = Follows { length: with_head.len(), end: whole };
        if !encode_request(&mut self.head, &call.head, &call.context, time, follows, self.id) {
            home.give_back(ProcessSlot::Frames(self));
            let problem = "its head is too large".to_owned();
            return Err(CallError::RequestBody { problem, too_large: true }.into());
        }
        self.restart_deadline();
        self.worker.output.begin(&call.context.request_id, self.id);
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
            running.upload(|on, writer, terms: Terms| Upload::start(on, writer, rest, call.body, terms));
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

    /// Writes the head and a small body at once. `Err(true)` means that nothing was sent.
    pub async fn write(&mut self, body: &[u8]) -> Result<(), bool> {
        let Some(writer) = &mut self.writer else { return Err(false) };
        let mut both = [IoSlice::new(&self.head), IoSlice::new(body)];
        tokio::select! {
            biased;
            written = write_all(writer, &mut both) => written.map_err(|fault| fault.nothing_sent),
            // The worker does not even read. The same deadline fails the call when it reads the
            // response.
            () = self.deadline.as_mut() => Ok(()),
        }
    }
}

/// Takes the available part of the body without waiting. Returns true if that was all of it.
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
