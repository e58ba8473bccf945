//! Heads of requests and responses: what clients and functions may send.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::stage::Stage;

const APP: &[(&str, &str)] = &[
    (
        "milepost.yaml",
        "app: shop
functions:
  f: { env: python, src: f/, entrypoint: main.app, scale: { min: 1 } }
routes:
  - GET /length: f
  - GET /status: f
  - GET /cookies: f
  - POST /echo: f
",
    ),
    (
        "f/main.py",
        "def app(environ, start_response):
    kind = environ['PATH_INFO']
    if kind == '/length':
        # A generator is streamed: its length is not known when the head is sent.
        start_response('200 OK', [('content-length', 'many')])
        return (piece for piece in [b'bo', b'dy'])
    if kind == '/status':
        start_response('999 Odd', [])
    elif kind == '/cookies':
        start_response('200 OK', [('set-cookie', 'mine=1'), ('set-cookie', 'all=1; Domain=localhost')])
    else:
        start_response('200 OK', [])
    return [b'body']
",
    ),
];

fn stage() -> Stage {
    let stage = Stage::new("shop", &[], APP);
    stage.deploy();
    stage
}

/// Sends the pieces one by one, and returns everything until the server closes the connection.
async fn raw(stage: &Stage, pieces: &[&[u8]]) -> String {
    let address = stage.url("").trim_start_matches("http://").to_owned();
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    for piece in pieces {
        // The server may refuse the request before it has read all of it.
        if stream.write_all(piece).await.is_err() {
            break;
        }
        tokio::task::yield_now().await;
    }
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn rejects_oversized_request_heads_however_they_are_split() {
    let stage = stage();
    let rest = format!("OST /echo HTTP/1.1\r\nhost: shop.localhost\r\nx: {}\r\n\r\n", "y".repeat(500_000));
    for first in ["P", "PO"] {
        let answer = raw(&stage, &[first.as_bytes(), &rest.as_bytes()[first.len() - 1..]]).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rejects_bare_line_feeds_and_unknown_codings_and_expectations() {
    let stage = stage();
    let head = |rest: &str| format!("POST /echo HTTP/1.1\r\nhost: shop.localhost\r\nconnection: close\r\n{rest}");
    for (request, status) in [
        (head("content-length: 3\r\n\r\nabc"), "200"),
        (head("x: 1\ncontent-length: 3\r\n\r\nabc"), "400"),
        (head("transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n"), "501"),
        (head("expect: the-unexpected\r\ncontent-length: 3\r\n\r\nabc"), "417"),
    ] {
        let answer = raw(&stage, &[request.as_bytes()]).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{request:?}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_with_an_invalid_response_head_gets_a_502() {
    let stage = stage();
    for path in ["/length", "/status"] {
        assert_eq!(stage.get(path).await.status, 502, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_cannot_set_cookies_for_other_apps() {
    let stage = stage();
    let request = b"GET /cookies HTTP/1.1\r\nhost: shop.localhost\r\nconnection: close\r\n\r\n";
    let answer = raw(&stage, &[request]).await;
    assert!(answer.contains("set-cookie: mine=1") && !answer.contains("all=1"), "{answer}");
}
