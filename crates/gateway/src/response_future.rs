//! The future of a response: often ready at once, otherwise boxed.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures::FutureExt;
use futures::future::BoxFuture;
use http::{HeaderValue, Response, header};

use crate::activity::Busy;
use crate::backend::Backend;
use crate::body::AnswerBody;
use crate::stats::Counters;

/// A response in progress. Resolves to a response in every case: failures are responses too.
pub struct Answering<B: Backend> {
    state: State<B>,
    counters: Option<Arc<Counters>>,
    busy: Option<Busy>,
    close: bool,
}

enum State<B: Backend> {
    Ready(Option<Response<AnswerBody<B::Body>>>),
    Later(BoxFuture<'static, Response<AnswerBody<B::Body>>>),
}

impl<B: Backend> Answering<B> {
    pub(crate) fn ready(response: Response<AnswerBody<B::Body>>) -> Self {
        Self { state: State::Ready(Some(response)), counters: None, busy: None, close: false }
    }

    pub(crate) fn later(future: impl Future<Output = Response<AnswerBody<B::Body>>> + Send + 'static) -> Self {
        Self { state: State::Later(future.boxed()), counters: None, busy: None, close: false }
    }

    /// Counts the response for an app once it is ready.
    pub(crate) fn of(mut self, counters: Arc<Counters>) -> Self {
        self.counters = Some(counters);
        self
    }

    pub(crate) fn on(mut self, busy: Busy, close: bool) -> Self {
        self.busy = Some(busy);
        self.close = close;
        self
    }
}

impl<B: Backend> Future for Answering<B> {
    type Output = Response<AnswerBody<B::Body>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut response = match &mut self.state {
            State::Ready(response) => match response.take() {
                Some(response) => response,
                // Polled again after completion.
                None => return Poll::Pending,
            },
            State::Later(future) => ready!(future.poll_unpin(context)),
        };
        if let Some(counters) = &self.counters {
            counters.count(response.status());
        }
        if self.close {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        match self.busy.take() {
            Some(busy) => Poll::Ready(response.map(|body| body.hold(busy))),
            None => Poll::Ready(response),
        }
    }
}
