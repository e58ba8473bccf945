//! Requests rejected by their head, over real sockets.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper_util::rt::{TokioExecutor, TokioIo};
use milepost_gateway::{Limits, Settings};
use tokio::io::AsyncWriteExt;

use crate::support::*;

fn world() -> World {
    let limits = Limits { head_bytes: 16 << 10, ..Limits::default() };
    let world = World::with(Settings { limits, ..Settings::default() });
    let mounts = vec![mount("/files", world.memory.tree(&[("a.txt", "hello")]))];
    world.shop(mounts, vec![route("", "/f/*", &public(Fake::Tell))]);
    world
}

/// The first byte could begin the HTTP/2 preface.
#[tokio::test]
async fn head_limit_holds_however_packets_are_split() {
    let world = world();
    let served = world.serve().await;
    for first in ["P", "PO"] {
        let mut stream = served.connect().await;
        stream.set_nodelay(true).expect("it is set");
        stream.write_all(first.as_bytes()).await.expect("sent");
        tokio::time::sleep(Duration::from_millis(20)).await;
        let rest = &"POST /f/ HTTP/1.1\r\nhost: shop.localhost\r\nx: "[first.len()..];
        stream.write_all(format!("{rest}{}\r\n\r\n", "y".repeat(100 << 10)).as_bytes()).await.expect("sent");
        let answer = read_to_close(&mut stream).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    }
    served.stopped().await;
}

#[tokio::test]
async fn http_2_has_the_same_header_limit() {
    let world = world();
    let served = world.serve().await;
    let io = TokioIo::new(served.connect().await);
    let (mut client, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.expect("it connects");
    let connection = tokio::spawn(connection);
    for (count, status) in [(99, 200), (101, 431)] {
        let mut request = http::Request::get("http://shop.localhost/f/");
        for number in 0..count {
            request = request.header(format!("x-{number}"), "1");
        }
        let request = request.body(Full::new(Bytes::new())).expect("a request");
        assert_eq!(collect(soon(client.send_request(request)).await.expect("an answer")).await.status(), status);
    }
    drop(client);
    soon(connection).await.expect("no panic").expect("it ends well");
    served.stopped().await;
}

#[tokio::test]
async fn rejects_websocket_upgrades_and_ignores_others() {
    let world = world();
    let handshake = [
        ("connection", "Upgrade"),
        ("upgrade", "WebSocket"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ("sec-websocket-version", "13"),
        ("accept", "application/json"),
    ];
    for path in ["/f/", "/files/a.txt", "/none", "/.milepost/health"] {
        let got = world.get_with(&format!("shop.localhost{path}"), &handshake).await;
        assert_eq!((got.status(), got.json()["code"].as_str()), (501, Some("websocket_unsupported")), "{path}");
        assert!(got.json()["hint"].as_str().is_some_and(|hint| hint.contains("server-sent events")), "{}", got.text());
    }
    let inside = [handshake[1], ("milepost-call", "call:shop:r1")];
    assert_eq!(world.get_inside("shop.localhost/f/", &inside).await.status(), 501);
    let h2c = [("connection", "Upgrade, HTTP2-Settings"), ("upgrade", "h2c"), ("http2-settings", "AAMAAABkAAQAAP__")];
    assert_eq!(world.get_with("shop.localhost/f/", &h2c).await.status(), 200);
}

#[tokio::test]
async fn rejects_unknown_codings_and_expectations() {
    let world = world();
    let served = world.serve().await;
    let ask = |header: &str, body: &str| {
        served.raw(format!("POST /f/ HTTP/1.1\r\nhost: shop.localhost\r\nconnection: close\r\n{header}\r\n\r\n{body}"))
    };
    for coding in ["gzip, chunked", "gzip\r\ntransfer-encoding: chunked", "chunked\r\ntransfer-encoding: chunked"] {
        let answer = ask(&format!("transfer-encoding: {coding}"), "3\r\nabc\r\n0\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 501") || answer.starts_with("HTTP/1.1 400"), "{coding}: {answer}");
    }
    let answer = ask("transfer-encoding: Chunked", "3\r\nabc\r\n0\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("abc"), "{answer}");
    let answer = ask("expect: the-unexpected\r\ncontent-length: 3", "abc").await;
    assert!(answer.starts_with("HTTP/1.1 417"), "{answer}");
    let answer = ask("expect: 100-Continue\r\ncontent-length: 3", "abc").await;
    assert!(answer.contains("HTTP/1.1 200") && answer.ends_with("abc"), "{answer}");
    served.stopped().await;
}

#[tokio::test]
async fn bare_lf_in_a_head_is_rejected_and_ends_the_connection() {
    let world = world();
    let served = world.serve().await;
    let good = "POST /f/ HTTP/1.1\r\nhost: shop.localhost\r\ncontent-length: 3\r\n\r\na\nb";
    let answer = served.raw(format!("{good}{}", good.replace("host:", "connection: close\r\nhost:"))).await;
    assert_eq!(answer.matches("HTTP/1.1 200").count(), 2, "{answer}");
    for bare in [
        "POST /f/ HTTP/1.1\nhost: shop.localhost\r\n\r\n",
        "POST /f/ HTTP/1.1\r\nhost: shop.localhost\n\r\n",
        "POST /f/ HTTP/1.1\r\nhost: shop.localhost\r\nx: 1\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /f/ HTTP/1.1\r\nhost: shop.localhost\r\n\n",
        "POST /f/ HTTP/1.1\nhost: shop.localhost\n\n",
    ] {
        let answer = served.raw(bare).await;
        assert!(answer.starts_with("HTTP/1.1 400") && answer.matches("HTTP/1.1").count() == 1, "{bare:?}: {answer}");
        let answer = served.raw(format!("{good}{bare}")).await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("HTTP/1.1 400"), "{bare:?}: {answer}");
    }
    served.stopped().await;
}
