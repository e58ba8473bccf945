//! What functions write, and which request it is attributed to.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use milepost_runtime::{CallContext, LogSource};

use crate::harness::{Place, eventually};

#[tokio::test]
async fn attributes_each_line_to_its_request() {
    let place = Place::new().await;
    let code = "
import sys
print('loading')
def main(request):
    print('one for', request.headers['x-id'])
    sys.stderr.write('no newline, \\u00fcml\\u00e4ut')
    return 'ok'
";
    let function = place.python(code, |_| {});
    for id in 0..50 {
        let request = http::Request::get("/").header("x-id", id).body(http_body_util::Empty::new()).expect("a request");
        let context = CallContext { request_id: format!("r{id}").into(), ..CallContext::default() };
        place.runtime.call(&function, request, context).await.expect("an answer");
        assert_eq!(place.lines_of(&format!("r{id}")), [format!("one for {id}"), "no newline, ümläut".to_owned()]);
    }
    let loading = place.lines().into_iter().find(|line| line.text == "loading").expect("the line of the start");
    assert_eq!((loading.request, loading.source), (None, LogSource::Stdout));
    place.stop().await;
}

#[tokio::test]
async fn bounds_a_flood_of_output_without_delaying_others() {
    let place = Place::new().await;
    let code = "
import sys
def main(request):
    line = 'x' * 999 + '\\n'
    for _ in range(100):
        sys.stdout.write(line * 1000)
    return 'ok'
";
    let function = place.python(code, |_| {});
    let other = place.python("def main(request):\n    print('hi')\n    return 'hello'\n", |_| {});
    place.call(&other, "warm").await.expect("an answer");
    let flood = place.call(&function, "flood");
    let meanwhile = async {
        let mut slowest = Duration::ZERO;
        for _ in 0..100 {
            let started = Instant::now();
            place.call(&other, "other").await.expect("an answer");
            slowest = slowest.max(started.elapsed());
        }
        slowest
    };
    let (flood, slowest) = tokio::join!(flood, meanwhile);
    assert_eq!(flood.expect("an answer").text(), "ok");
    assert!(slowest < Duration::from_millis(500), "another function waited for {slowest:?}");
    let lines = place.lines_of("flood");
    let kept: usize = lines.iter().map(String::len).sum();
    assert!((200 << 10..=257 << 10).contains(&kept), "{kept} bytes were kept");
    let last = lines.last().expect("lines");
    assert!(last.starts_with("dropped ") && last.contains("bytes of output"), "{last}");
    place.stop().await;
}

/// As much as a request keeps, and more than a pipe holds. By default, Node would write the rest
/// after the response.
#[tokio::test]
async fn attributes_a_long_output_of_node_to_its_request() {
    let place = Place::new().await;
    let code = "
let count = 0
module.exports = () => {
  count++
  for (let line = 0; line < 2300; line++) console.log(`${count} ${line} ${'x'.repeat(80)}`)
  return 'ok'
}
";
    let function = place.node(code, |_| {});
    for request in 1..=5 {
        let id = format!("r{request}");
        place.call(&function, &id).await.expect("an answer");
        let lines = place.lines_of(&id);
        assert_eq!(lines.len(), 2300, "lines of the request {id}");
        let own = format!("{request} ");
        assert!(lines.iter().all(|line| line.starts_with(&own)), "a line of another request");
    }
    place.stop().await;
}

#[tokio::test]
async fn a_flood_of_output_of_node_does_not_delay_the_next_request() {
    let place = Place::new().await;
    let code = "
module.exports = ({ request }) => {
  if (request.headers['x-quiet']) {
    console.log('quiet')
    return 'quiet'
  }
  const lines = ('x'.repeat(999) + '\\n').repeat(1000)
  for (let piece = 0; piece < 100; piece++) process.stdout.write(lines)
  return 'ok'
}
";
    let function = place.node(code, |function| function.memory = 128 << 20);
    for round in 0..3 {
        let flood = format!("flood{round}");
        assert_eq!(place.call(&function, &flood).await.expect("an answer").text(), "ok");
        let kept: usize = place.lines_of(&flood).iter().map(String::len).sum();
        assert!((200 << 10..=257 << 10).contains(&kept), "{kept} bytes were kept");
        assert!(place.lines_of(&flood).last().is_some_and(|last| last.starts_with("dropped ")));

        let quiet = format!("quiet{round}");
        let request =
            http::Request::get("/").header("x-quiet", 1).body(http_body_util::Empty::new()).expect("a request");
        let context = milepost_runtime::CallContext {
            request_id: quiet.as_str().into(),
            ..milepost_runtime::CallContext::default()
        };
        let answer = place.runtime.call(&function, request, context).await.expect("the next request is answered");
        assert_eq!(answer.status(), 200);
        assert_eq!(place.lines_of(&quiet), ["quiet"]);
    }
    assert_eq!(place.status(&function).restarts, 0);
    place.stop().await;
}

#[tokio::test]
async fn cuts_an_endless_line_and_accepts_invalid_utf8() {
    let place = Place::new().await;
    let code = "
import os
def main(request):
    os.write(1, b'y' * 40000 + b'\\n\\xff\\xfe\\n')
    return 'ok'
";
    let function = place.python(code, |_| {});
    place.call(&function, "r1").await.expect("an answer");
    let lengths: Vec<_> = place.lines_of("r1").iter().map(|line| line.chars().count()).collect();
    assert_eq!(lengths, [16 << 10, 16 << 10, 40_000 - (32 << 10), 2]);
    place.stop().await;
}

#[tokio::test]
async fn logs_output_before_a_long_call_ends() {
    let place = Place::new().await;
    let code = "
import time
def main(request):
    print('begun')
    time.sleep(30)
";
    let function = place.python(code, |_| {});
    tokio::select! {
        _ = place.call(&function, "r1") => panic!("it sleeps"),
        () = eventually("the line is there", || place.lines_of("r1") == ["begun"]) => {}
    }
    place.runtime.stop(Duration::ZERO).await;
}

#[tokio::test]
async fn attributes_late_output_of_node_to_its_request() {
    let place = Place::new().await;
    // As in Express: the error is printed in a later turn than the response.
    let code = "module.exports = (req, res) => {
        res.statusCode = 500
        res.end('Internal Server Error')
        setTimeout(() => console.error(new Error('boom of ' + req.headers['x-user'])), 50)
    }";
    let function = place.node(code, |_| {});
    for user in ["alice", "bob", "carol"] {
        let request = http::Request::get("/").header("x-user", user).body(Full::new(Bytes::new())).expect("a request");
        let context = CallContext { request_id: user.into(), ..CallContext::default() };
        let answer = place.runtime.call(&function, request, context).await.expect("an answer");
        assert_eq!(answer.status(), 500);
    }
    for user in ["alice", "bob", "carol"] {
        let said = format!("Error: boom of {user}");
        eventually("the error is logged", || place.lines_of(user).contains(&said)).await;
    }
    place.stop().await;
}
