//! A request body that records when it is first polled, which is when an instance received the
//! call. Waiting for an instance and starting it do not count as the function's time, and an
//! attempt that got no further has not begun.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::sync::Notify;

/// When the call reached an instance, if it has.
#[derive(Debug, Clone, Default)]
pub(super) struct Began(Arc<Noted>);

#[derive(Debug, Default)]
struct Noted {
    at: Mutex<Option<Instant>>,
    told: Notify,
}

impl Began {
    pub fn body(&self, input: Option<String>) -> Body {
        let rest = input.filter(|input| !input.is_empty()).map(Bytes::from);
        Body::new(Noting { rest, began: Self(Arc::clone(&self.0)) })
    }

    pub fn at(&self) -> Option<Instant> {
        *self.lock()
    }

    pub async fn wait(&self) {
        while self.at().is_none() {
            self.0.told.notified().await;
        }
    }

    /// Resets the time for another call.
    pub fn forget(&self) {
        *self.lock() = None;
    }

    fn note(&self) {
        let mut at = self.lock();
        if at.is_none() {
            *at = Some(Instant::now());
            self.0.told.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Noting {
    rest: Option<Bytes>,
    began: Began,
}

impl HttpBody for Noting {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.began.note();
        Poll::Ready(self.rest.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    /// Also records the time, because empty bodies are not polled but only asked whether they have
    /// ended.
    fn is_end_stream(&self) -> bool {
        self.began.note();
        self.rest.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}
