//! A worker that runs a function, and its slots.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use super::frame_body::FrameBody;
use super::frame_slot::FrameSlot;
use super::http_slot::{HttpBody, HttpSlot};
use super::worker::Worker;
use crate::executor::{BodyError, Call, Failure, Instance, RequestBody, Slot, SlotHome, StopReason};

pub(crate) struct ProcessInstance {
    worker: Arc<Worker>,
    slots: Mutex<Vec<ProcessSlot>>,
}

impl ProcessInstance {
    pub fn new(worker: Arc<Worker>, slots: Vec<ProcessSlot>) -> Self {
        Self { worker, slots: Mutex::new(slots) }
    }
}

impl Instance for ProcessInstance {
    type Slot = ProcessSlot;

    fn id(&self) -> u64 {
        self.worker.id
    }

    fn take_slots(&self) -> Vec<ProcessSlot> {
        std::mem::take(&mut self.slots.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn stop(&self, reason: StopReason) {
        self.worker.kill(reason);
    }

    async fn ended(&self) -> String {
        self.worker.ended().await.how
    }
}

impl Drop for ProcessInstance {
    fn drop(&mut self) {
        self.worker.kill(StopReason::Broken);
    }
}

/// Boxed because a slot is moved several times per call.
pub(crate) enum ProcessSlot {
    Frames(Box<FrameSlot>),
    Http(Box<HttpSlot>),
}

impl Slot for ProcessSlot {
    type Body<H: SlotHome<Self>> = ProcessBody<H>;

    async fn ready(&mut self) -> Result<(), String> {
        match self {
            // The worker reported ready after it had loaded the code.
            Self::Frames(_) => Ok(()),
            Self::Http(slot) => slot.ready().await,
        }
    }

    async fn call<B, H>(self, call: Call<B>, home: H) -> Result<http::Response<ProcessBody<H>>, Failure<B>>
    where
        B: RequestBody,
        H: SlotHome<Self>,
    {
        match self {
            Self::Frames(slot) => Ok(slot.call(call, home).await?.map(ProcessBody::Frames)),
            Self::Http(slot) => Ok(slot.call(call, home).await?.map(ProcessBody::Http)),
        }
    }
}

pub(crate) enum ProcessBody<H: SlotHome<ProcessSlot>> {
    Frames(FrameBody<H>),
    Http(HttpBody<H>),
}

impl<H: SlotHome<ProcessSlot>> http_body::Body for ProcessBody<H> {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match self.get_mut() {
            Self::Frames(body) => Pin::new(body).poll_frame(cx),
            Self::Http(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Frames(body) => body.is_end_stream(),
            Self::Http(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Frames(body) => body.size_hint(),
            Self::Http(body) => body.size_hint(),
        }
    }
}
