use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use http::{HeaderValue, Response};
use http_body_util::BodyExt;
use hyper_util::rt::TokioIo;
use milepost_gateway::{CallFailure, Limits, Settings};
use milepost_model::Next;
use milepost_model::spec::FunctionPermission;
use tokio::io::AsyncWriteExt;

use crate::support::*;

#[tokio::test]
async fn function_receives_a_cleaned_request() {
    let world = World::new();
    world.shop(vec![], vec![route("GET POST", "/orders/{id}/{what}", &public(Fake::Tell))]);
    let headers = [
        ("x-request-id", "mine-1"),
        ("cookie", "a=1"),
        ("cookie", "b=2"),
        ("connection", "x-secret"),
        ("x-secret", "1"),
        ("x-forwarded-for", "6.6.6.6"),
        ("milepost-release", "forged"),
        ("milepost-call", "call:shop:r1"),
        ("x_forwarded_for", "6.6.6.6"),
        ("authorization", "Bearer of-the-app"),
    ];
    let mut asked = request("POST", "Shop.localhost:8080/orders/%C3%BC%2F1/x?q=1&r=%20", &headers);
    *asked.body_mut() = Bytes::from_static(b"body \xc3\xbc");
    let got = world.ask(asked).await;
    let id = got.header("milepost-request-id");
    assert_eq!(id.len(), 16, "{id}");
    let expected = "POST /orders/%C3%BC%2F1/x?q=1&r=%20 route=/orders/{id}/{what} id=\u{fc}/1 what=x\n\
        release=r1 token=call:shop:r1\n\
        authorization: Bearer of-the-app\ncookie: a=1; b=2\nhost: Shop.localhost:8080\n\
        milepost-caller-request-id: mine-1\n\
        x-forwarded-for: 192.0.2.1\nx-forwarded-host: Shop.localhost:8080\nx-forwarded-proto: http\n\
        x-request-id: ID\nbody \u{fc}";
    assert_eq!(got.text().replace(id, "ID"), expected);
    assert_eq!((got.header("milepost-release"), got.header("milepost-version")), ("r1", "7"));
}

#[tokio::test]
async fn trusts_forwarding_headers_of_trusted_proxies() {
    let trusted_proxies = vec!["192.0.2.0/24".parse().expect("a network")];
    let world = World::with(Settings { trusted_proxies, ..Settings::default() });
    world.shop(vec![], vec![route("", "/*", &public(Fake::Tell))]);
    let got =
        world.get_with("shop.localhost/", &[("x-forwarded-for", "1.2.3.4"), ("x-forwarded-proto", "https")]).await;
    assert!(got.text().contains("x-forwarded-for: 1.2.3.4, 192.0.2.1\n"), "{}", got.text());
    assert!(got.text().contains("x-forwarded-proto: https\n"), "{}", got.text());
}

#[tokio::test]
async fn enforces_function_permissions() {
    let world = World::new();
    let at = |path: &str, permission| route("", path, &target(&path[1..], Fake::Tell, permission));
    world.shop(
        vec![],
        vec![
            at("/public", FunctionPermission::Public),
            at("/token", FunctionPermission::Token),
            at("/internal", FunctionPermission::Internal),
        ],
    );
    let good = ("authorization", "Bearer invoker-of-shop");
    let bad = ("authorization", "Bearer invoker-of-other");
    let basic = ("authorization", "Basic aW52b2tlcg==");
    let call = ("milepost-call", "call:shop:r1");
    let forged = ("milepost-call", "forged");
    for (path, headers, status) in [
        ("/public", &[][..], 200),
        ("/public", &[bad], 200),
        ("/token", &[], 401),
        ("/token", &[basic], 401),
        ("/token", &[bad], 403),
        ("/token", &[("authorization", "Bearer nobody-knows")], 401),
        ("/token", &[good], 200),
        ("/internal", &[], 403),
        ("/internal", &[good], 403),
        // The public listener ignores call tokens.
        ("/public", &[forged], 200),
        ("/token", &[call], 401),
        ("/internal", &[call], 403),
        ("/internal", &[call, good], 403),
        ("/.milepost/call/internal", &[call], 404),
    ] {
        let got = world.get_with(&format!("shop.localhost{path}"), headers).await;
        assert_eq!(got.status(), status, "{path} {headers:?}");
    }
    for (path, headers, status) in [
        ("/token", &[call][..], 200),
        ("/internal", &[call], 200),
        ("/public", &[forged], 401),
        ("/internal", &[forged, good], 401),
        ("/.milepost/call/internal", &[], 401),
        ("/.milepost/call/internal", &[good], 401),
        ("/.milepost/call/internal/a/b?c=d", &[call], 200),
        ("/.milepost/call/none/", &[call], 404),
    ] {
        let got = world.get_inside(&format!("shop.localhost{path}"), headers).await;
        assert_eq!(got.status(), status, "{path} {headers:?}");
        if status == 200 {
            assert!(!got.text().contains("milepost-call"), "{}", got.text());
        }
    }
    let seen = world.get_with("shop.localhost/token", &[good]).await;
    assert!(!seen.text().contains("authorization"), "the platform's token is not the function's: {}", seen.text());
    let asked = world.get("shop.localhost/token").await;
    assert_eq!(asked.header("www-authenticate"), "Bearer");
    let by_name = world.get_inside("x/.milepost/call/internal/a/b?c=d", &[call]).await;
    assert!(by_name.text().starts_with("GET /a/b?c=d route=\n"), "{}", by_name.text());
    let bare = world.get_inside("x/.milepost/call/internal", &[call]).await;
    assert!(bare.text().starts_with("GET / route=\n"), "{}", bare.text());
}

#[tokio::test]
async fn call_token_pins_the_call_to_its_release() {
    let world = World::new();
    let releases = ["r1", "r2"].map(|id| release(id, vec![], vec![route("", "/*", &public(Fake::Tell))]));
    world.gateway.directory().publish(app("shop", 1, &releases));
    world.gateway.directory().publish(app("other", 1, &[release("o1", vec![], vec![])]));
    for host in ["shop.localhost", "shop.r1.localhost", "other.localhost", "127.0.0.1:8080"] {
        let got = world.get_inside(&format!("{host}/x"), &[("milepost-call", "call:shop:r2")]).await;
        assert_eq!((got.status(), got.header("milepost-release")), (200, "r2"), "{host}");
    }
    let gone = world.get_inside("shop.localhost/x", &[("milepost-call", "call:shop:r0")]).await;
    assert_eq!(gone.status(), 404);
}

#[tokio::test]
async fn call_failure_is_a_problem_with_an_id() {
    let world = World::new();
    let failure = CallFailure {
        status: 503,
        code: "queue_full",
        message: "The function is busy.".to_owned(),
        retry_after: Some(Duration::from_millis(1500)),
    };
    let odd = CallFailure { status: 99, retry_after: None, ..failure.clone() };
    world.shop(
        vec![],
        vec![route("", "/busy", &public(Fake::Fail(failure))), route("", "/odd", &public(Fake::Fail(odd)))],
    );
    let got = world.get_with("shop.localhost/busy", &[("accept", "application/json")]).await;
    assert_eq!((got.status(), got.header("retry-after")), (503, "2"));
    let problem = got.json();
    assert_eq!(
        (problem["code"].as_str(), problem["detail"].as_str()),
        (Some("queue_full"), Some("The function is busy."))
    );
    assert_eq!(problem["requestId"], got.header("milepost-request-id"));
    assert_eq!((got.header("milepost-release"), got.header("milepost-version")), ("r1", "7"));
    assert_eq!(world.get("shop.localhost/odd").await.status(), 502);
}

#[tokio::test]
async fn response_is_cleaned_and_its_length_corrected() {
    let world = World::new();
    let answer = |make: fn() -> Response<FakeBody>| public(Fake::Answer(Box::new(make)));
    let lying = answer(|| Response::builder().header("content-length", "99").body(full("abc")).expect("an answer"));
    let dirty = answer(|| {
        let mut answer = Response::new(full("x"));
        for (name, value) in [
            ("connection", "x-hop"),
            ("x-hop", "1"),
            ("transfer-encoding", "chunked"),
            ("milepost-release", "forged"),
            ("milepost-secret", "1"),
            ("set-cookie", "a=1"),
            ("set-cookie", "b=2"),
            ("x-mine", "stays"),
        ] {
            answer.headers_mut().append(name, HeaderValue::from_static(value));
        }
        answer
    });
    let early = answer(|| Response::builder().status(103).body(full("")).expect("an answer"));
    let headed = answer(|| Response::builder().header("content-length", "12").body(full("")).expect("an answer"));
    world.shop(
        vec![],
        vec![
            route("", "/lying", &lying),
            route("", "/dirty", &dirty),
            route("", "/early", &early),
            route("GET", "/headed", &headed),
        ],
    );
    let served = world.serve().await;
    let ask = |method: &'static str, path: &'static str| {
        served.raw(format!("{method} {path} HTTP/1.1\r\nhost: shop.localhost\r\nconnection: close\r\n\r\n"))
    };
    let lying = ask("GET", "/lying").await;
    assert!(lying.contains("content-length: 3\r\n") && lying.ends_with("\r\n\r\nabc"), "{lying}");
    let dirty = ask("GET", "/dirty").await;
    for part in ["set-cookie: a=1\r\n", "set-cookie: b=2\r\n", "x-mine: stays\r\n", "milepost-release: r1\r\n"] {
        assert!(dirty.contains(part), "{part} {dirty}");
    }
    for part in ["x-hop", "chunked", "forged", "milepost-secret"] {
        assert!(!dirty.contains(part), "{part} {dirty}");
    }
    assert!(ask("GET", "/early").await.starts_with("HTTP/1.1 502"));
    let headed = ask("HEAD", "/headed").await;
    assert!(headed.contains("content-length: 12\r\n") && headed.ends_with("\r\n\r\n"), "{headed}");
    served.stopped().await;
}

#[tokio::test]
async fn streams_bodies_in_both_directions_at_once() {
    let world = World::new();
    world.shop(vec![], vec![route("POST", "/echo", &public(Fake::Echo))]);
    let served = world.serve().await;
    let stream = served.connect().await;
    let (mut client, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.expect("it connects");
    let connection = tokio::spawn(connection);
    let (sender, receiver) = tokio::sync::mpsc::channel::<std::io::Result<Bytes>>(1);
    let body =
        pieces(futures::stream::unfold(receiver, |mut receiver| async { Some((receiver.recv().await?, receiver)) }));
    let request = http::Request::post("/echo").header("host", "shop.localhost").body(body).expect("a request");
    sender.send(Ok(Bytes::from_static(b"piece 0"))).await.expect("it is taken");
    let mut answer = soon(client.send_request(request)).await.expect("it answers before the body ends").into_body();
    for number in 1..20 {
        let back = soon(answer.frame()).await.expect("a piece").expect("no error").into_data().expect("data");
        assert_eq!(back, format!("piece {}", number - 1));
        sender.send(Ok(Bytes::from(format!("piece {number}")))).await.expect("it is taken");
    }
    drop(sender);
    let rest = soon(answer.collect()).await.expect("it ends").to_bytes();
    assert_eq!(rest, "piece 19");
    drop(client);
    soon(connection).await.expect("no panic").expect("it ends well");
    served.stopped().await;
}

#[tokio::test]
async fn rejects_bodies_over_the_limit_with_or_without_a_length() {
    let limits = Limits { body_bytes: 1000, ..Limits::default() };
    let world = World::with(Settings { limits, ..Settings::default() });
    world.shop(vec![], vec![route("POST", "/", &public(Fake::Swallow))]);
    let served = world.serve().await;
    let head = "POST / HTTP/1.1\r\nhost: shop.localhost\r\nconnection: close\r\n";
    let told = served.raw(format!("{head}content-length: 1001\r\n\r\n{}", "x".repeat(1001))).await;
    assert!(told.starts_with("HTTP/1.1 413"), "{told}");
    let chunk = format!("190\r\n{}\r\n", "x".repeat(400));
    let chunked = served.raw(format!("{head}transfer-encoding: chunked\r\n\r\n{}0\r\n\r\n", chunk.repeat(3))).await;
    assert!(chunked.starts_with("HTTP/1.1 413"), "{chunked}");
    let fits = served.raw(format!("{head}transfer-encoding: chunked\r\n\r\n{}0\r\n\r\n", chunk.repeat(2))).await;
    assert!(fits.ends_with("\r\n\r\n800"), "{fits}");
    served.stopped().await;
}

#[tokio::test]
async fn stalled_request_body_times_out() {
    let limits = Limits { body_timeout: Duration::from_millis(100), ..Limits::default() };
    let world = World::with(Settings { limits, ..Settings::default() });
    world.shop(vec![], vec![route("POST", "/", &public(Fake::Swallow))]);
    let served = world.serve().await;
    let mut stream = served.connect().await;
    stream.write_all(b"POST / HTTP/1.1\r\nhost: shop.localhost\r\ncontent-length: 10\r\n\r\nabc").await.expect("sent");
    let answer = read_answer(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    served.stopped().await;
}

/// A function that sends these frames at once and then fails.
fn breaking(pieces_of_it: &'static [&'static str]) -> Fake {
    Fake::Answer(Box::new(move || {
        let start = futures::stream::iter(pieces_of_it.iter().map(|piece| Ok(Bytes::from_static(piece.as_bytes()))));
        Response::new(pieces(start.chain(futures::stream::iter([Err(std::io::ErrorKind::BrokenPipe.into())]))))
    }))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failing_body_aborts_the_response_after_what_was_sent() {
    let world = World::new();
    let broken = public(breaking(&["start", "more"]));
    world.shop(vec![], vec![route("", "/broken", &broken), route("", "/fine", &public(Fake::Tell))]);
    let served = world.serve().await;
    for _ in 0..50 {
        let answer = served.raw("GET /broken HTTP/1.1\r\nhost: shop.localhost\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("milepost-request-id: "), "{answer:?}");
        assert!(answer.contains("start") && answer.contains("more"), "{answer:?}");
        assert!(!answer.ends_with("0\r\n\r\n"), "it must not look complete: {answer}");
    }
    let fine = served.raw("GET /fine HTTP/1.1\r\nhost: shop.localhost\r\nconnection: close\r\n\r\n").await;
    assert!(fine.starts_with("HTTP/1.1 200"), "{fine}");
    served.stopped().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http_2_sends_the_head_before_the_abort() {
    let world = World::new();
    world.shop(vec![], vec![route("", "/broken", &public(breaking(&["start"])))]);
    let served = world.serve().await;
    let io = TokioIo::new(served.connect().await);
    let executor = hyper_util::rt::TokioExecutor::new();
    let (mut client, connection) = hyper::client::conn::http2::handshake(executor, io).await.expect("it connects");
    let connection = tokio::spawn(connection);
    for _ in 0..50 {
        let request = http::Request::get("http://shop.localhost/broken").body(full("")).expect("a request");
        let answer = soon(client.send_request(request)).await.expect("a head");
        assert!(answer.headers().contains_key("milepost-request-id"), "{answer:?}");
        soon(answer.into_body().collect()).await.expect_err("it breaks");
    }
    drop(client);
    soon(connection).await.expect("no panic").expect("it ends well");
    served.stopped().await;
}

#[tokio::test]
async fn body_that_fails_before_its_first_frame_is_a_502() {
    let operator_words = |next: &Next, app: &str| Some(format!("{next:?} in {app}"));
    let world = World::with(Settings { operator_words, ..Settings::default() });
    world.shop(vec![], vec![route("", "/broken", &public(breaking(&[])))]);
    let served = world.serve().await;
    let answer = served.raw("GET /broken HTTP/1.1\r\nhost: shop.localhost\r\nconnection: close\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 502"), "{answer}");
    let id = answer.lines().find_map(|line| line.strip_prefix("milepost-request-id: ")).expect("an id");
    let hint = format!("See {{ view: RequestLog {{ id: \"{id}\" }} }} in shop");
    assert!(answer.contains("The function stopped before it sent") && answer.contains(&hint), "{answer}");
    served.stopped().await;
}

#[tokio::test]
async fn client_errors_take_precedence_over_function_failures() {
    let limits = Limits { body_bytes: 1000, body_timeout: Duration::from_millis(100), ..Limits::default() };
    let world = World::with(Settings { limits, ..Settings::default() });
    world.shop(vec![], vec![route("POST", "/", &public(Fake::BreakOff))]);
    let served = world.serve().await;
    let head = "POST / HTTP/1.1\r\nhost: shop.localhost\r\naccept: application/json\r\nconnection: close\r\n";
    let chunked = format!("{head}transfer-encoding: chunked\r\n\r\n");
    let requests = [
        (format!("{chunked}3e9\r\n{}\r\n0\r\n\r\n", "x".repeat(1001)), "413", "body_too_large"),
        (format!("{head}content-length: 10\r\n\r\nabc"), "408", "body_stalled"),
        (format!("{chunked}no length\r\n"), "400", "request_body"),
        (format!("{chunked}3\r\nabc\r\n0\r\n\r\n"), "502", "function_broke_off"),
    ];
    for (request, status, code) in requests {
        let answer = served.raw(request).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")) && answer.contains(code), "{answer}");
    }
    served.stopped().await;
}
