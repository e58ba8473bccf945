//! Bodies of every size, whole and in pieces, in both directions.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::Frame;
use http_body_util::{BodyExt as _, Full, Limited, StreamBody};
use milepost_runtime::{CallContext, CallError};
use tokio::sync::mpsc;

use crate::harness::Place;

/// Echoes each piece on arrival.
const ECHO: &str = "
from flask import Response
def main(request):
    return Response(iter(lambda: request.stream.read(65536), b''), mimetype='application/octet-stream')
";

fn noise(length: usize) -> Bytes {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let bytes = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[0]
    });
    bytes.take(length).collect::<Vec<_>>().into()
}

type Sender = mpsc::Sender<Result<Frame<Bytes>, Infallible>>;

/// A body fed by a test.
struct Fed(mpsc::Receiver<Result<Frame<Bytes>, Infallible>>);

impl futures::Stream for Fed {
    type Item = Result<Frame<Bytes>, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx)
    }
}

fn fed() -> (Sender, StreamBody<Fed>) {
    let (sender, receiver) = mpsc::channel(1);
    (sender, StreamBody::new(Fed(receiver)))
}

#[tokio::test]
async fn ten_megabytes_go_through_python_and_back() {
    let place = Place::new().await;
    let echo = place.python(ECHO, |_| {});
    for size in [0, 1, 65_535, 65_536, 65_537, 200_000, 10 << 20] {
        let body = noise(size);
        let answer = place.open(&echo, "r", body.clone()).await.expect("an answer");
        let back = answer.into_body().collect().await.expect("a whole body").to_bytes();
        assert!(back == body, "{size} bytes came back as {}", back.len());
    }
    assert_eq!(place.status(&echo).instances, 1);
    place.stop().await;
}

#[tokio::test]
async fn ten_megabytes_go_through_node_and_back() {
    let place = Place::new().await;
    let code = "export default { fetch: (request) => new Response(request.body) }";
    let echo = place.function(milepost_model::spec::Runtime::Node, &[("index.mjs", code.as_bytes())], |_| {});
    for size in [1, 100_000, 10 << 20] {
        let body = noise(size);
        let answer = place.open(&echo, "r", body.clone()).await.expect("an answer");
        let back = answer.into_body().collect().await.expect("a whole body").to_bytes();
        assert!(back == body, "{size} bytes came back as {}", back.len());
    }
    place.stop().await;
}

#[tokio::test]
async fn a_response_begins_before_the_request_has_ended() {
    let place = Place::new().await;
    let code = "
from flask import Response
def main(request):
    def pieces():
        while True:
            piece = request.stream.readline()
            if not piece:
                return
            yield piece.upper()
    return Response(pieces())
";
    let shout = place.python(code, |_| {});
    let (sender, body) = fed();
    sender.send(Ok(Frame::data("one\n".into()))).await.expect("a reader");
    let request = http::Request::post("/").body(body).expect("a request");
    let mut answer = place.runtime.call(&shout, request, CallContext::default()).await.expect("an answer");
    let next =
        |frame: Option<Result<Frame<Bytes>, _>>| frame.expect("more").expect("no fault").into_data().expect("data");
    assert_eq!(next(answer.frame().await), "ONE\n");
    for piece in ["two\n", "three\n"] {
        sender.send(Ok(Frame::data(piece.into()))).await.expect("a reader");
        assert_eq!(next(answer.frame().await), piece.to_uppercase());
    }
    drop(sender);
    assert!(answer.frame().await.is_none());
    place.stop().await;
}

#[tokio::test]
async fn an_unread_request_body_leaves_the_slot_usable() {
    let place = Place::new().await;
    let hello = place.python("import os\ndef main(request):\n    return str(os.getpid())\n", |_| {});
    let first = place.call(&hello, "r0").await.expect("an answer");
    let (sender, body) = fed();
    let request = http::Request::post("/").body(body).expect("a request");
    let feeder = tokio::spawn(async move { while sender.send(Ok(Frame::data(noise(100_000)))).await.is_ok() {} });
    let answer = place.runtime.call(&hello, request, CallContext::default()).await.expect("an answer");
    assert_eq!(answer.into_body().collect().await.expect("a body").to_bytes(), first.body);
    // The upload ends because its body is not read any more.
    feeder.await.expect("the feeder ends");
    assert_eq!(place.call(&hello, "r2").await.expect("an answer").body, first.body);
    place.stop().await;
}

#[tokio::test]
async fn a_body_over_the_limit_is_a_413_and_looks_truncated() {
    let place = Place::new().await;
    let code = "
def main(request):
    try:
        data = request.get_data()
        print('whole', len(data))
    except Exception as error:
        print('cut', type(error).__name__)
        raise
    return str(len(data))
";
    let count = place.python(code, |_| {});
    let (sender, body) = fed();
    let feeder = tokio::spawn(async move { while sender.send(Ok(Frame::data(noise(50_000)))).await.is_ok() {} });
    let request = http::Request::post("/").body(Limited::new(body, 1 << 20)).expect("a request");
    let context = CallContext { request_id: "r1".into(), ..CallContext::default() };
    let error = place.runtime.call(&count, request, context).await.err().expect("an error");
    assert!(matches!(error, CallError::RequestBody { too_large: true, .. }), "{error}");
    assert_eq!(error.status(), 413);
    feeder.await.expect("the feeder ends");
    let request = http::Request::post("/").body(Full::new(noise(100_000))).expect("a request");
    let next = place.runtime.call(&count, request, CallContext::default()).await.expect("an answer");
    assert_eq!(next.into_body().collect().await.expect("a body").to_bytes(), "100000");
    let said: Vec<_> = place.lines().into_iter().map(|line| line.text).collect();
    assert!(said.iter().any(|line| line.starts_with("cut ")), "{said:?}");
    assert!(!said.contains(&"whole 1048576".to_owned()), "{said:?}");
    place.stop().await;
}

#[tokio::test]
async fn leaving_in_the_middle_of_a_response_frees_the_slot() {
    let place = Place::new().await;
    let code = "
from flask import Response
import os
def main(request):
    if request.get_data() == b'pid':
        return str(os.getpid())
    return Response(b'x' * 1000 for _ in iter(int, 1))
";
    let endless = place.python(code, |_| {});
    let pid = |answer: http::Response<milepost_runtime::ResponseBody>| async {
        answer.into_body().collect().await.expect("a body").to_bytes()
    };
    let before = pid(place.open(&endless, "r1", "pid").await.expect("an answer")).await;
    let mut answer = place.open(&endless, "r2", "").await.expect("an answer");
    answer.frame().await.expect("a piece").expect("no fault");
    drop(answer);
    let after = pid(place.open(&endless, "r3", "pid").await.expect("an answer")).await;
    assert_eq!(before, after, "the worker noticed and served the next request");
    place.stop().await;
}

#[tokio::test]
async fn leaving_before_the_response_keeps_the_instance() {
    let place = Place::new().await;
    let code = "import os, time\ndef main(request):\n    time.sleep(0.3)\n    return str(os.getpid())\n";
    let slow = place.python(code, |_| {});
    let before = place.call(&slow, "r1").await.expect("an answer").body;
    let left = tokio::time::timeout(Duration::from_millis(50), place.call(&slow, "r2")).await;
    assert!(left.is_err());
    assert_eq!(place.call(&slow, "r3").await.expect("an answer").body, before);
    place.stop().await;
}

#[tokio::test]
async fn a_stdio_binary_runs_once_per_request() {
    let place = Place::new().await;
    let program =
        b"#!/bin/sh\ncat\necho \" $HTTP_X_NAME $GREETING\"\necho for the log >&2\n[ $REQUEST_METHOD = POST ]\n";
    let function = place.function(milepost_model::spec::Runtime::Binary, &[("hello", program)], |function| {
        function.interpreter = "stdio".to_owned();
        function.variables.insert("GREETING".to_owned(), "hello".to_owned());
    });
    for user in ["alice", "bob"] {
        let body = Full::new(Bytes::from_static(b"body"));
        let request = http::Request::post("/").header("x-name", user).body(body).expect("a request");
        let context = CallContext { request_id: user.into(), ..CallContext::default() };
        let answer = place.runtime.call(&function, request, context).await.expect("an answer");
        let body = answer.into_body().collect().await.expect("a body").to_bytes();
        assert_eq!(body, format!("body {user} hello\n"));
        assert_eq!(place.lines_of(user), ["for the log"]);
    }
    let request = http::Request::get("/").body(Full::new(Bytes::new())).expect("a request");
    let error = place.runtime.call(&function, request, CallContext::default()).await.err().expect("an error");
    assert_eq!(
        (error.status(), error.to_string()),
        (500, "the function threw: the program ended with exit code 1".to_owned())
    );
    place.stop().await;
}

#[tokio::test]
async fn a_binary_serves_http_on_the_socket_it_is_given() {
    let place = Place::new().await;
    let program = crate::support::stages().with_file_name("http_binary");
    let program = std::fs::read(program).expect("the example is built with the tests");
    let function = place.function(milepost_model::spec::Runtime::Binary, &[("main", &program)], |function| {
        function.variables.insert("GREETING".to_owned(), "grüß dich".to_owned());
    });
    let get = |path: &str| http::Request::get(path).body(Full::new(Bytes::new())).expect("a request");
    for path in ["/hello", "/close", "/hello", "/hello"] {
        let context = CallContext { request_id: "r1".into(), ..CallContext::default() };
        let answer = place.runtime.call(&function, get(path), context).await.expect("an answer");
        assert_eq!(answer.into_body().collect().await.expect("a body").to_bytes(), "grüß dich");
    }
    let body = noise(10 << 20);
    let answer = place.open(&function, "r2", body.clone()).await.expect("an answer");
    assert!(answer.into_body().collect().await.expect("a body").to_bytes() == body);
    assert_eq!(place.status(&function).instances, 1);
    let context = CallContext { request_id: "r3".into(), ..CallContext::default() };
    let error = place.runtime.call(&function, get("/exit"), context).await.err().expect("an error");
    assert_eq!(error.to_string(), "the function's process ended before it answered (exit code 7)");
    place.call(&function, "r4").await.expect("a new instance answers");
    assert!(place.lines_of("r2").iter().any(|line| line.contains("for r2")), "{:?}", place.lines());
    place.stop().await;
}
