//! Invalid responses of functions.

use bytes::Bytes;
use http::Response;

use crate::support::*;

fn streamed(length: &'static str, all: &'static [&'static str]) -> Fake {
    Fake::Answer(Box::new(move || {
        let all = futures::stream::iter(all.iter().map(|piece| Ok(Bytes::from_static(piece.as_bytes()))));
        Response::builder().header("content-length", length).body(pieces(all)).expect("an answer")
    }))
}

#[tokio::test]
async fn streamed_response_of_wrong_length_never_looks_complete() {
    let world = World::new();
    let cases = [
        ("/invalid", "many", &["abc"][..], 502),
        ("/negative", "-3", &["abc"], 502),
        ("/empty", "3", &[], 502),
        ("/long", "2", &["abc"], 502),
        ("/right", "6", &["abc", "def"], 200),
        ("/later-long", "4", &["abc", "def"], 200),
        ("/short", "9", &["abc", "def"], 200),
    ];
    let routes =
        cases.iter().map(|(path, length, all, _)| route("", path, &public(streamed(length, all)))).collect::<Vec<_>>();
    world.shop(vec![], routes);
    let served = world.serve().await;
    for method in ["GET", "HEAD"] {
        for (path, length, _, status) in &cases {
            let asked = format!("{method} {path} HTTP/1.1\r\nhost: shop.localhost\r\nconnection: close\r\n\r\n");
            let answer = served.raw(asked).await;
            let status = if method == "HEAD" && length.parse::<u8>().is_ok() { 200 } else { *status };
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{method} {path}: {answer:?}");
            if method == "GET" && status == 200 {
                assert!(answer.contains("abc"), "{path}: {answer:?}");
                let body = answer.split_once("\r\n\r\n").expect("a head").1.len();
                assert_eq!(body.to_string() == *length, *path == "/right", "{path}: {answer:?}");
            }
        }
    }
    served.stopped().await;
}

#[tokio::test]
async fn invalid_status_or_oversized_head_is_a_502() {
    let world = World::new();
    let answer = |status: u16, header: usize| {
        let make = move || {
            let answer = Response::builder().status(status).header("x-long", "y".repeat(header));
            answer.body(full("body")).expect("an answer")
        };
        public(Fake::Answer(Box::new(make)))
    };
    world.shop(
        vec![],
        vec![
            route("", "/fine", &answer(599, 60_000)),
            route("", "/999", &answer(999, 1)),
            route("", "/600", &answer(600, 1)),
            route("", "/103", &answer(103, 1)),
            route("", "/long", &answer(200, 300_000)),
        ],
    );
    assert_eq!(world.get("shop.localhost/fine").await.status(), 599);
    for path in ["/999", "/600", "/103", "/long"] {
        let got = world.get_with(&format!("shop.localhost{path}"), &[("accept", "application/json")]).await;
        assert_eq!((got.status(), got.json()["code"].as_str()), (502, Some("bad_answer")), "{path}");
    }
}

#[tokio::test]
async fn function_cannot_set_cookies_for_other_apps() {
    let world = World::new();
    let make = || {
        let answer = Response::builder()
            .header("set-cookie", "mine=1; Path=/")
            .header("set-cookie", "all=1; Domain=localhost")
            .header("set-cookie", "host=1; Domain=.shop.localhost")
            .header("set-cookie", "app=1; Domain=r1.localhost");
        answer.body(full("")).expect("an answer")
    };
    world.shop(vec![], vec![route("", "/", &public(Fake::Answer(Box::new(make))))]);
    let set = |got: &Got| {
        let all = got.headers.get_all("set-cookie").iter();
        all.map(|value| value.to_str().expect("text").to_owned()).collect::<Vec<_>>()
    };
    let live = world.get("Shop.localhost:8080/").await;
    let kept = ["mine=1; Path=/", "host=1; Domain=.shop.localhost"];
    assert_eq!(set(&live)[..2], kept);
    assert_eq!(set(&live).len(), 3, "browsers refuse the last one");
    // `r1` may also be an app.
    assert_eq!(set(&world.get("shop.r1.localhost/").await), kept);
}
