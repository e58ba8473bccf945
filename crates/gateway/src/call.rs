//! Calls a function: checks permissions, prepares the request and relays the response.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use http_body::{Body, Frame};
use milepost_model::refusal::View;
use milepost_model::spec::FunctionPermission;
use milepost_model::{Next, Role};

use crate::backend::{Backend, CallContext, CallFailure};
use crate::body::{BodyEnd, RequestBody, ResponseBody};
use crate::cookies;
use crate::decide::FunctionFound;
use crate::gateway::{IncomingRequest, Inner};
use crate::headers::{self, Forwarding};
use crate::problem::{MILEPOST_REQUEST_ID, MILEPOST_VERSION, Problem};
use crate::reader::Reader;
use crate::request_id;
use crate::resolve::Destination;
use crate::response_check;
use crate::rewrite::{self, RouteFacts};
use crate::view::Target;

/// A request that a function answers.
pub(crate) struct Call<F> {
    pub(crate) request: IncomingRequest,
    pub(crate) destination: Destination<F>,
    pub(crate) found: FunctionFound,
}

impl<F: Send + Sync + 'static> Call<F> {
    pub(crate) async fn run<B: Backend<Function = F>>(mut self, inner: &Inner<B>) -> Response<ResponseBody<B::Body>> {
        // Never the caller's id: it could mix its log lines into those of another request.
        let id = request_id::new();
        if let Err(problem) = self.permitted(&*inner.backend).and_then(|()| self.fits(inner)) {
            return self.refuse(inner, problem, id);
        }
        // Needed for a response after the request was handed over.
        let reader = self.request.reader();
        let method = self.request.head.parts.method.clone();
        let (request, context) = self.hand_over(inner, &id);
        let mut request = request.map(|body| body.limit(&inner.settings.limits));
        let outcome = request.body_mut().outcome();
        let answered = inner.backend.call(&self.target().function, request, context).await;
        // Checked only after a failure: a function that has begun its response may still be reading
        // the body.
        let sender_is_to_blame = || outcome.as_ref().and_then(|outcome| outcome.end()).map(body_problem);
        let begun = match answered {
            Ok(mut answer) => match self.begin(&mut answer, inner).await {
                Ok(begun) => Ok((answer, begun)),
                Err(problem) => Err(sender_is_to_blame().unwrap_or_else(|| self.with_log(problem, &id))),
            },
            Err(failure) => Err(sender_is_to_blame().unwrap_or_else(|| self.failed(failure, &id))),
        };
        match begun {
            Ok((answer, begun)) => self.pass_on(inner, answer, begun, &method, &id),
            Err(problem) => self.problem(inner, problem, id, &reader),
        }
    }

    fn target(&self) -> &Target<F> {
        self.destination.chosen.release.target(self.found.target)
    }

    fn permitted<B: Backend>(&self, backend: &B) -> Result<(), Problem> {
        let target = self.target();
        match target.permission {
            FunctionPermission::Public => Ok(()),
            // Calls by name require a call token, so they are covered here.
            FunctionPermission::Token | FunctionPermission::Internal if self.destination.scope.is_some() => Ok(()),
            FunctionPermission::Internal => {
                let detail = format!("The function `{}` can only be called from inside its app.", target.name);
                Err(Problem::new(StatusCode::FORBIDDEN, "function_internal", detail))
            }
            FunctionPermission::Token => self.bearer_permitted(backend),
        }
    }

    fn bearer_permitted<B: Backend>(&self, backend: &B) -> Result<(), Problem> {
        let app = &self.destination.app.app;
        let invoker = || Next::CreateToken { role: Some(Role::Invoker.as_str().to_owned()) };
        let wanted = |detail: String| {
            Err(Problem::new(StatusCode::UNAUTHORIZED, "token_wanted", detail)
                .hint("send one as `authorization: Bearer TOKEN`")
                .operator(app, invoker())
                .header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")))
        };
        let Some(token) = bearer(&self.request.head.parts.headers) else {
            return wanted(format!("The function `{}` needs a token.", self.target().name));
        };
        match backend.may_invoke(app, token) {
            Some(true) => Ok(()),
            Some(false) => {
                let detail = format!("The token may not call functions of the app `{app}`.");
                Err(Problem::new(StatusCode::FORBIDDEN, "token_refused", detail).operator(app, invoker()))
            }
            None => wanted("The token is unknown to this server.".to_owned()),
        }
    }

    /// Rejects a body that is known to be too large before the call starts.
    fn fits<B: Backend>(&self, inner: &Inner<B>) -> Result<(), Problem> {
        if self.request.body.size_hint().lower() > inner.settings.limits.body_bytes {
            return Err(body_problem(BodyEnd::TooLarge));
        }
        Ok(())
    }

    /// Builds the request as the function sees it.
    fn hand_over<B: Backend>(&mut self, inner: &Inner<B>, id: &str) -> (Request<RequestBody>, CallContext) {
        let host = self.request.head.sent_host().and_then(|host| HeaderValue::from_bytes(host).ok());
        let host = host.unwrap_or_else(|| HeaderValue::from_static("localhost"));
        let mut request = Request::new(std::mem::replace(&mut self.request.body, RequestBody::empty()));
        let head = &mut self.request.head.parts;
        let uri = std::mem::take(&mut head.uri);
        *request.method_mut() = head.method.clone();
        *request.version_mut() = head.version;
        *request.uri_mut() = match self.found.by_name {
            Some(at) => cut_uri(&uri, at),
            None => rewrite::target(&uri, self.found.rewrite),
        };
        let mut map = std::mem::take(&mut head.headers);
        if self.target().permission == FunctionPermission::Token {
            // The token is for the platform, and would let the function act as its caller.
            map.remove(header::AUTHORIZATION);
        }
        let peer = self.request.head.peer;
        let client = peer.address;
        let proxies = &inner.settings.trusted_proxies;
        // A function on this machine is not a proxy, whatever address it calls from.
        let trusted =
            !peer.inside && client.is_some_and(|client| proxies.iter().any(|network| network.contains(client)));
        let forwarding = Forwarding { client, trusted, secure: peer.secure, host: &host };
        let id_value = HeaderValue::from_str(id).unwrap_or_else(|_| HeaderValue::from_static("-"));
        headers::clean_request(&mut map, &forwarding, id_value);
        let target = self.destination.chosen.release.target(self.found.target);
        let facts = RouteFacts {
            rewrite: self.found.rewrite,
            uri: &uri,
            trusted,
            function: &target.name,
            app: &self.destination.app.app,
            version: target.version,
            params: &self.found.params,
        };
        rewrite::set_headers(&mut map, &facts);
        *request.headers_mut() = map;
        let context = CallContext {
            request_id: id.into(),
            release: self.destination.chosen.release.id.as_str().into(),
            client,
            route: std::mem::take(&mut self.found.route),
            params: std::mem::take(&mut self.found.params),
            call_token: inner.backend.make_call_token(&self.destination.app.app, &self.destination.chosen.release.id),
        };
        (request, context)
    }

    /// Checks that the response can be sent, and polls the first frame of its body.
    async fn begin<B, R>(&self, answer: &mut Response<R>, inner: &Inner<B>) -> Result<Begun, Problem>
    where
        B: Backend<Function = F>,
        R: Body<Data = Bytes> + Unpin,
    {
        let head_only = self.request.head.parts.method == Method::HEAD;
        response_check::check(answer.status(), answer.headers(), inner.settings.limits.head_bytes)?;
        let is_whole = answer.body().size_hint().exact().is_some();
        // The length of a complete body comes from the body, not from the function's header.
        let length = if is_whole && !head_only { None } else { response_check::length(answer.headers())? };
        if is_whole {
            return Ok(Begun::default());
        }
        let length = length.filter(|_| !head_only);
        let first = first_piece(answer.body_mut()).await?;
        let came = match &first {
            First::Piece(frame) => frame.data_ref().map(|data| data.len() as u64),
            First::End => Some(0),
            First::Later => None,
        };
        if let (Some(length), Some(came)) = (length, came)
            && (came > length || (matches!(first, First::End) && came < length))
        {
            return Err(response_check::wrong_length());
        }
        Ok(Begun { first: if let First::Piece(frame) = first { Some(frame) } else { None }, length })
    }

    fn pass_on<B: Backend<Function = F>, R: Body>(
        &self,
        inner: &Inner<B>,
        answer: Response<R>,
        begun: Begun,
        method: &Method,
        id: &str,
    ) -> Response<ResponseBody<R>> {
        let (mut head, body) = answer.into_parts();
        headers::clean_answer(&mut head.headers);
        if head.headers.contains_key(header::SET_COOKIE) {
            cookies::drop_foreign(&mut head.headers, &self.request.head.host, &inner.domain);
        }
        let lengths = head.headers.get_all(header::CONTENT_LENGTH).iter().count();
        let head_only = *method == Method::HEAD;
        // Several lengths are invalid, and a body of known size determines its own length.
        if lengths > 1 || (lengths == 1 && !head_only && body.size_hint().exact().is_some()) {
            head.headers.remove(header::CONTENT_LENGTH);
        }
        head.headers.insert(MILEPOST_VERSION, self.target().version.into());
        if let Ok(id) = HeaderValue::from_str(id) {
            head.headers.insert(MILEPOST_REQUEST_ID, id);
        }
        head.extensions.clear();
        let body =
            if head_only { ResponseBody::empty() } else { ResponseBody::function(begun.first, begun.length, body) };
        Response::from_parts(head, body)
    }

    fn refuse<B: Backend>(self, inner: &Inner<B>, problem: Problem, id: Box<str>) -> Response<ResponseBody<B::Body>> {
        self.request.respond(inner, problem.request_id(id))
    }

    /// A problem after the call started, so it names the function's version.
    fn problem<B: Backend>(
        &self,
        inner: &Inner<B>,
        problem: Problem,
        id: Box<str>,
        reader: &Reader,
    ) -> Response<ResponseBody<B::Body>> {
        problem
            .request_id(id)
            .header(MILEPOST_VERSION, self.target().version.into())
            .into_response(reader, inner.settings.operator_words)
    }

    fn failed(&self, failure: CallFailure, id: &str) -> Problem {
        let status = StatusCode::from_u16(failure.status).ok().filter(|status| status.as_u16() >= 400);
        let status = status.unwrap_or(StatusCode::BAD_GATEWAY);
        let problem = Problem::new(status, failure.code, failure.message);
        match failure.retry_after {
            Some(after) => problem.header(header::RETRY_AFTER, (after.as_secs_f64().ceil() as u64).into()),
            None if status.is_server_error() => self.with_log(problem, id),
            None => problem,
        }
    }

    /// Points the app's operators to the reason. Callers are untrusted and get only the request id.
    fn with_log(&self, problem: Problem, id: &str) -> Problem {
        problem.operator(&self.destination.app.app, Next::See { view: View::RequestLog { id: id.to_owned() } })
    }
}

/// What is known about a streamed response before its head is sent.
#[derive(Default)]
struct Begun {
    first: Option<Frame<Bytes>>,
    /// The `content-length` that the function set.
    length: Option<u64>,
}

enum First {
    Piece(Frame<Bytes>),
    End,
    Later,
}

/// Polls the first frame of a streamed body without waiting. A function that fails before its first
/// byte still gets an error status.
async fn first_piece<B: Body<Data = Bytes> + Unpin>(body: &mut B) -> Result<First, Problem> {
    let polled = poll_fn(|context| Poll::Ready(Pin::new(&mut *body).poll_frame(context))).await;
    match polled {
        Poll::Ready(Some(Err(_))) => {
            let detail = "The function stopped before it sent anything of its response.";
            Err(Problem::new(StatusCode::BAD_GATEWAY, "function_broke_off", detail))
        }
        Poll::Ready(Some(Ok(first))) => Ok(First::Piece(first)),
        Poll::Ready(None) => Ok(First::End),
        Poll::Pending => Ok(First::Later),
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The path after the function's name; `/` if there is none.
fn cut_uri(uri: &Uri, at: usize) -> Uri {
    let path = uri.path().get(at..).filter(|rest| !rest.is_empty()).unwrap_or("/");
    rewrite::with_query(path, uri)
}

fn body_problem(end: BodyEnd) -> Problem {
    match end {
        BodyEnd::TooLarge => {
            let detail = "The body of the request is larger than allowed.";
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", detail)
        }
        BodyEnd::Stalled => {
            let detail = "The body of the request did not arrive in time.";
            Problem::new(StatusCode::REQUEST_TIMEOUT, "body_stalled", detail)
        }
        BodyEnd::Broken => {
            let detail = "The body of the request broke off before its end.";
            Problem::new(StatusCode::BAD_REQUEST, "request_body", detail)
        }
    }
}
