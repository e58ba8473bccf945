use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper_util::rt::{TokioExecutor, TokioIo};
use milepost_gateway::{Limits, Settings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::*;

const GET: &str = "GET /a.txt HTTP/1.1\r\nhost: shop.localhost\r\n\r\n";
const LAST: &str = "GET /a.txt HTTP/1.1\r\nhost: shop.localhost\r\nconnection: close\r\n\r\n";

fn with_limits(limits: Limits) -> World {
    let world = World::with(Settings { limits, ..Settings::default() });
    world.files(&[("a.txt", "hello")]);
    world
}

#[tokio::test]
async fn connection_serves_sequential_and_pipelined_requests() {
    let world = World::new();
    world.files(&[("a.txt", "hello")]);
    let served = world.serve().await;
    let mut stream = served.connect().await;
    for _ in 0..10 {
        stream.write_all(GET.as_bytes()).await.expect("sent");
        assert!(read_answer(&mut stream).await.ends_with("\r\n\r\nhello"));
    }
    let all = served.raw(format!("{GET}{GET}{LAST}")).await;
    assert_eq!(all.matches("HTTP/1.1 200 OK\r\n").count(), 3, "{all}");
    assert_eq!(all.matches("\r\n\r\nhello").count(), 3, "{all}");
    drop(stream);
    served.stopped().await;
}

#[tokio::test]
async fn http_1_0_is_answered_and_closed() {
    let world = with_limits(Limits::default());
    let served = world.serve().await;
    let answer = served.raw("GET /a.txt HTTP/1.0\r\nhost: shop.localhost\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.0 200") && answer.ends_with("hello"), "{answer}");
    served.stopped().await;
}

async fn over_http2(served: &Served, stream: tokio::net::TcpStream) {
    let (mut client, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.expect("it connects");
    let connection = tokio::spawn(connection);
    let asked = (0..50).map(|_| {
        let request = http::Request::get("http://shop.localhost/a.txt").body(Full::new(Bytes::new()));
        let answer = client.send_request(request.expect("a request"));
        async { collect(answer.await.expect("an answer")).await }
    });
    for got in soon(futures::future::join_all(asked)).await {
        assert_eq!((got.status(), got.text(), got.header("milepost-release")), (200, "hello", "r1"));
        assert_eq!(got.header("content-length"), "5");
    }
    let head = http::Request::head("http://shop.localhost/a.txt").body(Full::new(Bytes::new())).expect("a request");
    let got = collect(soon(client.send_request(head)).await.expect("an answer")).await;
    assert_eq!((got.header("content-length"), got.body.len()), ("5", 0));
    drop(client);
    soon(connection).await.expect("no panic").expect("it ends well");
    assert!(!served.done.is_finished());
}

#[tokio::test]
async fn serves_http_2_with_prior_knowledge() {
    let world = with_limits(Limits::default());
    let served = world.serve().await;
    over_http2(&served, served.connect().await).await;
    served.stopped().await;
}

/// Covers prefixes of the HTTP/2 preface and of HTTP/1 methods.
#[tokio::test]
async fn waits_for_enough_bytes_to_detect_the_protocol() {
    let world = with_limits(Limits::default());
    let served = world.serve().await;
    for (first, rest, expected) in [
        ("P", "OST /a.txt HTTP/1.1\r\nhost: shop.localhost\r\nconnection: close\r\n\r\n", "HTTP/1.1 405"),
        ("PR", "OPFIND /a.txt HTTP/1.1\r\nhost: shop.localhost\r\nconnection: close\r\n\r\n", "HTTP/1.1 405"),
        ("G", "ET /a.txt HTTP/1.1\r\nhost: shop.localhost\r\nconnection: close\r\n\r\n", "HTTP/1.1 200"),
        // The response is a SETTINGS frame, which only HTTP/2 sends.
        ("PR", "I * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u{4}\0\0\0\0\0nonsense to end it", "\0\0"),
    ] {
        let mut stream = served.connect().await;
        stream.set_nodelay(true).expect("it is set");
        stream.write_all(first.as_bytes()).await.expect("sent");
        tokio::time::sleep(Duration::from_millis(20)).await;
        stream.write_all(rest.as_bytes()).await.expect("sent");
        let answer = read_to_close(&mut stream).await;
        assert!(answer.starts_with(expected), "{first}: {answer:?}");
    }
    served.stopped().await;
}

#[tokio::test]
async fn rejects_heads_over_the_limit() {
    let world = with_limits(Limits { head_bytes: 16 << 10, ..Limits::default() });
    let served = world.serve().await;
    let long = format!("GET /a.txt HTTP/1.1\r\nhost: shop.localhost\r\nx: {}\r\n\r\n", "y".repeat(20 << 10));
    assert!(served.raw(long).await.starts_with("HTTP/1.1 431"));
    let many = |count| {
        let headers: String = (0..count).map(|number| format!("x-{number}: 1\r\n")).collect();
        format!("GET /a.txt HTTP/1.1\r\nhost: shop.localhost\r\nconnection: close\r\n{headers}\r\n")
    };
    assert!(served.raw(many(98)).await.starts_with("HTTP/1.1 200"));
    assert!(served.raw(many(99)).await.starts_with("HTTP/1.1 431"));
    served.stopped().await;
}

#[tokio::test]
async fn closes_connections_whose_head_times_out() {
    let world = with_limits(Limits { head_timeout: Duration::from_millis(150), ..Limits::default() });
    let served = world.serve().await;
    for start in ["", "G", "GET /a.txt HT", "GET /a.txt HTTP/1.1\r\nhost: sh", GET] {
        let mut stream = served.connect().await;
        stream.write_all(start.as_bytes()).await.expect("sent");
        let answer = read_to_close(&mut stream).await;
        assert_eq!(answer.is_empty(), start != GET, "{start}: {answer}");
    }
    // A byte now and then does not extend the time for a head.
    let mut stream = served.connect().await;
    stream.write_all(b"GET / HTTP/1.1\r\nx: ").await.expect("sent");
    let slow = soon(async {
        loop {
            tokio::time::sleep(Duration::from_millis(30)).await;
            if stream.write_all(b"y").await.is_err() || stream.read(&mut [0; 16]).now().is_some() {
                return;
            }
        }
    });
    slow.await;
    served.stopped().await;
}

trait Now: Future + Sized {
    fn now(self) -> Option<Self::Output> {
        futures::FutureExt::now_or_never(self)
    }
}

impl<F: Future> Now for F {}

#[tokio::test]
async fn busy_connections_do_not_time_out() {
    let world = with_limits(Limits { head_timeout: Duration::from_millis(300), ..Limits::default() });
    let served = world.serve().await;
    let mut stream = served.connect().await;
    let began = std::time::Instant::now();
    while began.elapsed() < Duration::from_millis(1000) {
        stream.write_all(GET.as_bytes()).await.expect("sent");
        assert!(read_answer(&mut stream).await.ends_with("hello"));
    }
    drop(stream);
    served.stopped().await;
}

#[tokio::test]
async fn prevents_request_smuggling() {
    let world = World::new();
    world.shop(vec![], vec![route("", "/*", &public(Fake::Tell))]);
    let served = world.serve().await;
    let head = "POST /one HTTP/1.1\r\nhost: shop.localhost\r\n";
    let hidden = "GET /two HTTP/1.1\r\nhost: shop.localhost\r\n\r\n";
    // With both lengths the chunks count, and the connection ends, so that nothing after them is a
    // request.
    for both in ["content-length: 6\r\ntransfer-encoding: chunked", "transfer-encoding: chunked\r\ncontent-length: 6"] {
        let answer = served.raw(format!("{head}{both}\r\n\r\n0\r\n\r\n{hidden}")).await;
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
        assert!(answer.contains("POST /one") && !answer.contains("content-length: 6"), "{answer}");
    }
    for bad in [
        "content-length: 1\r\ncontent-length: 2",
        "content-length: +1",
        "content-length: 1, 2",
        "content-length: -1",
        "transfer-encoding: identity",
        "transfer-encoding: chunked, gzip",
        "transfer-encoding: xchunked",
        "transfer-encoding : chunked",
        " folded: 1",
        "x\0: 1",
    ] {
        let answer = served.raw(format!("{head}{bad}\r\n\r\n{hidden}")).await;
        assert!(answer.starts_with("HTTP/1.1 400") && answer.matches("HTTP/1.1 ").count() == 1, "{bad}: {answer}");
    }
    let tunnel =
        served.raw("CONNECT shop.localhost:80 HTTP/1.1\r\nhost: shop.localhost\r\nconnection: close\r\n\r\n").await;
    assert!(tunnel.starts_with("HTTP/1.1 405"), "{tunnel}");
    // The client's framing never reaches the function.
    let chunked = format!("{head}transfer-encoding: chunked\r\nconnection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
    let answer = served.raw(chunked).await;
    assert!(answer.ends_with("abc") && !answer.contains("transfer-encoding"), "{answer}");
    served.stopped().await;
}

#[tokio::test]
async fn garbage_ends_only_its_own_connection() {
    let world = with_limits(Limits::default());
    let served = world.serve().await;
    for nonsense in
        [&b"\x16\x03\x01\x02\x00"[..], b"\0\0\0\0", b"GET\r\n\r\n", b"HELO x\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"]
    {
        let mut stream = served.connect().await;
        stream.write_all(nonsense).await.expect("sent");
        stream.shutdown().await.expect("it is closed");
        let answer = read_to_close(&mut stream).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400"), "{nonsense:?}: {answer}");
    }
    assert!(served.raw(LAST).await.ends_with("hello"));
    served.stopped().await;
}
