//! What a route requires and allows. The router declares it beside the route.

use std::time::Duration;

use axum::extract::Request;
use axum::handler::Handler;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, any, on};
use milepost_model::{Code, Permission, Refusal};

use crate::error::ApiError;
use crate::state::State;

/// Time limit of requests that only use the database.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// The rule of a route. Handlers reach it through [`Caller`](crate::auth::Caller), which checks
/// the permission, and [`Json`](crate::edge::extract::Json), which bounds the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rule {
    needs: Needs,
    time: Time,
    body: Body,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// No token: knowing the URL is enough.
    Nothing,
    /// Any token.
    Token,
    /// A token whose role has this permission, for the app of the path or for all apps.
    Permission(Permission),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Time {
    Limited,
    Unlimited,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body {
    /// A JSON document.
    Document,
    /// A JSON document with the input of a function, which is what makes it large.
    Input,
    /// Bytes, which the handler bounds while they arrive.
    Stream,
}

/// The usual rules: a JSON document, answered within the time limit.
pub(crate) const OPEN: Rule = Rule::new(Needs::Nothing);
pub(crate) const TOKEN: Rule = Rule::new(Needs::Token);
pub(crate) const READ: Rule = Rule::new(Needs::Permission(Permission::Read));
pub(crate) const INVOKE: Rule = Rule::new(Needs::Permission(Permission::Invoke));
pub(crate) const MOVE_POINTER: Rule = Rule::new(Needs::Permission(Permission::MovePointer));
pub(crate) const CHANGE_CODE: Rule = Rule::new(Needs::Permission(Permission::ChangeCode));
pub(crate) const ADMINISTER: Rule = Rule::new(Needs::Permission(Permission::Administer));

impl Rule {
    const fn new(needs: Needs) -> Self {
        Self { needs, time: Time::Limited, body: Body::Document }
    }

    /// The request may take longer than the time limit: an upload, a download, a log stream, a
    /// function call or an install.
    pub(crate) const fn long(self) -> Self {
        Self { time: Time::Unlimited, ..self }
    }

    pub(crate) const fn input(self) -> Self {
        Self { body: Body::Input, ..self }
    }

    pub(crate) const fn stream(self) -> Self {
        Self { body: Body::Stream, ..self }
    }

    pub(crate) fn needs(self) -> Needs {
        self.needs
    }

    pub(crate) fn body(self) -> Body {
        self.body
    }

    /// Puts the routes under this rule.
    pub(crate) fn apply(self, routes: MethodRouter<State>) -> MethodRouter<State> {
        routes.route_layer(from_fn(move |request, next| enforce(self, request, next)))
    }

    /// For a handler of every method.
    pub(crate) fn any<T: 'static>(self, handler: impl Handler<T, State>) -> MethodRouter<State> {
        any(handler).layer(from_fn(move |request, next| enforce(self, request, next)))
    }

    pub(crate) fn get<T: 'static>(self, handler: impl Handler<T, State>) -> MethodRouter<State> {
        self.on(MethodFilter::GET, handler)
    }

    pub(crate) fn post<T: 'static>(self, handler: impl Handler<T, State>) -> MethodRouter<State> {
        self.on(MethodFilter::POST, handler)
    }

    pub(crate) fn put<T: 'static>(self, handler: impl Handler<T, State>) -> MethodRouter<State> {
        self.on(MethodFilter::PUT, handler)
    }

    pub(crate) fn delete<T: 'static>(self, handler: impl Handler<T, State>) -> MethodRouter<State> {
        self.on(MethodFilter::DELETE, handler)
    }

    fn on<T: 'static>(self, method: MethodFilter, handler: impl Handler<T, State>) -> MethodRouter<State> {
        self.apply(on(method, handler))
    }
}

async fn enforce(rule: Rule, mut request: Request, next: Next) -> Response {
    request.extensions_mut().insert(rule);
    if rule.time == Time::Unlimited {
        return next.run(request).await;
    }
    match tokio::time::timeout(TIME_LIMIT, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let refusal = Refusal::new(Code::TimedOut, "the server did not finish in time")
                .correct("send the request again; a change that was sent with an idempotency key is not applied twice");
            ApiError(refusal).into_response()
        }
    }
}
