//! The future of a response: often ready at once, otherwise boxed.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures::FutureExt;
use futures::future::BoxFuture;
use http::{HeaderValue, Response, header};

use crate::activity::InFlight;
use crate::backend::Backend;
use crate::body::ResponseBody;
use crate::choose::ChoiceHeaders;
use crate::stats::Counters;

/// A response in progress. Resolves to a response in every case: failures are responses too.
pub struct ResponseFuture<B: Backend> {
    state: State<B>,
    counters: Option<Arc<Counters>>,
    choice: Option<ChoiceHeaders>,
    in_flight: Option<InFlight>,
    close: bool,
}

enum State<B: Backend> {
    Ready(Option<Response<ResponseBody<B::Body>>>),
    Later(BoxFuture<'static, Response<ResponseBody<B::Body>>>),
}

impl<B: Backend> ResponseFuture<B> {
    pub(crate) fn ready(response: Response<ResponseBody<B::Body>>) -> Self {
        Self { state: State::Ready(Some(response)), counters: None, choice: None, in_flight: None, close: false }
    }

    pub(crate) fn later(future: impl Future<Output = Response<ResponseBody<B::Body>>> + Send + 'static) -> Self {
        Self { state: State::Later(future.boxed()), counters: None, choice: None, in_flight: None, close: false }
    }

    /// Counts the response for an app once it is ready.
    pub(crate) fn counted_by(mut self, counters: Arc<Counters>) -> Self {
        self.counters = Some(counters);
        self
    }

    /// Adds what the response says about the choice of its release.
    pub(crate) fn chosen_by(mut self, choice: ChoiceHeaders) -> Self {
        self.choice = Some(choice);
        self
    }

    pub(crate) fn on_connection(mut self, in_flight: InFlight, close: bool) -> Self {
        self.in_flight = Some(in_flight);
        self.close = close;
        self
    }
}

impl<B: Backend> Future for ResponseFuture<B> {
    type Output = Response<ResponseBody<B::Body>>;

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
        if let Some(choice) = self.choice.take() {
            choice.add_to(response.headers_mut());
        }
        if self.close {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        match self.in_flight.take() {
            Some(in_flight) => Poll::Ready(response.map(|body| body.hold(in_flight))),
            None => Poll::Ready(response),
        }
    }
}
