use bytes::Bytes;
use milepost_gateway::view::Mount;
use milepost_model::Digest;

use crate::support::*;

#[tokio::test]
async fn files_have_metadata_headers() {
    let world = World::new();
    world.files(&[("a/b.html", "<p>hi")]);
    let got = world.get("shop.localhost/a/b.html?x=1").await;
    assert_eq!((got.status(), got.text()), (200, "<p>hi"));
    for (name, value) in [
        ("content-type", "text/html; charset=utf-8"),
        ("cache-control", "no-cache"),
        ("vary", "accept-encoding"),
        ("accept-ranges", "bytes"),
        ("x-content-type-options", "nosniff"),
        ("milepost-release", "r1"),
        ("etag", &format!("\"{}\"", Digest::of(b"<p>hi").hex())),
    ] {
        assert_eq!(got.header(name), value, "{name}");
    }
    assert_eq!(got.header("last-modified"), "");
    let head = world.ask(request("HEAD", "shop.localhost/a/b.html", &[])).await;
    assert_eq!((head.status(), head.body.len(), head.header("content-length")), (200, 0, "5"));
    assert_eq!(head.header("etag"), got.header("etag"));
}

#[tokio::test]
async fn files_and_indexes_come_before_routes_and_fallbacks() {
    let world = World::new();
    let tree = |files| world.memory.tree(files);
    let site = Mount {
        fallback: Some("app.html".into()),
        ..mount(
            "/",
            tree(&[("index.html", "home"), ("app.html", "app"), ("docs/index.html", "docs"), ("empty/x", "x")]),
        )
    };
    let assets = Mount {
        error_page: Some("404.html".into()),
        ..mount("/assets", tree(&[("app.js", "js"), ("404.html", "no such asset"), ("index.html", "assets")]))
    };
    let single =
        Mount { single: Some("robots.txt".into()), ..mount("/assets/robots.txt", tree(&[("robots.txt", "robots")])) };
    let tell = public(Fake::Answer(Box::new(|| http::Response::new(full("function")))));
    let routes =
        vec![route("GET", "/docs", &tell), route("GET POST", "/api/*", &tell), route("POST", "/app.html", &tell)];
    world.shop(vec![site, assets, single], routes);
    for (method, path, status, body) in [
        ("GET", "/", 200, "home"),
        ("GET", "/index.html", 200, "home"),
        ("GET", "/docs/", 200, "docs"),
        ("GET", "/docs?a=b&c", 308, "/docs/?a=b&c"),
        ("HEAD", "/docs", 308, "/docs/"),
        ("POST", "/docs", 405, "GET, HEAD"),
        ("GET", "/api/x", 200, "function"),
        ("DELETE", "/api/x", 405, "GET, HEAD, POST"),
        ("POST", "/app.html", 200, "function"),
        ("PUT", "/app.html", 405, "GET, HEAD, POST"),
        ("PUT", "/index.html", 405, "GET, HEAD"),
        ("GET", "/some/page", 200, "app"),
        ("GET", "/empty", 200, "app"),
        ("GET", "/empty/", 200, "app"),
        ("GET", "/index.html/", 200, "app"),
        ("POST", "/some/page", 404, ""),
        ("GET", "/assets/app.js", 200, "js"),
        ("GET", "/assets", 308, "/assets/"),
        ("GET", "/assets/", 200, "assets"),
        ("GET", "/assets/none.js", 404, "no such asset"),
        ("GET", "/assets/robots.txt", 200, "robots"),
        ("GET", "/assets/robots.txt/x", 404, "no such asset"),
        ("GET", "/assetsx", 200, "app"),
    ] {
        let got = world.ask(request(method, &format!("shop.localhost{path}"), &[])).await;
        assert_eq!(got.status(), status, "{method} {path}");
        let actual = match status {
            308 => got.header("location"),
            405 => got.header("allow"),
            404 if body.is_empty() => "",
            _ => got.text(),
        };
        assert_eq!(actual, body, "{method} {path}");
        assert_eq!(got.header("milepost-release"), "r1", "{method} {path}");
    }
}

#[tokio::test]
async fn empty_release_responds_404_with_its_id() {
    let world = World::new();
    world.shop(vec![], vec![]);
    let got = world.get_with("shop.localhost/it's", &[("accept", "text/html")]).await;
    assert_eq!((got.status(), got.header("milepost-release")), (404, "r1"));
    assert!(got.text().contains("/it&#39;s"), "{}", got.text());
}

#[tokio::test]
async fn honours_conditional_requests() {
    let world = World::new();
    world.files(&[("a.txt", "hello")]);
    let url = "shop.localhost/a.txt";
    let etag = world.get(url).await.header("etag").to_owned();
    let weak = format!("W/{etag}");
    let list = format!("\"x\", {weak}");
    for (name, value, status) in [
        ("if-none-match", &*etag, 304),
        ("if-none-match", &*weak, 304),
        ("if-none-match", &*list, 304),
        ("if-none-match", "*", 304),
        ("if-none-match", "\"x\"", 200),
        ("if-match", &*etag, 200),
        ("if-match", "*", 200),
        ("if-match", &*weak, 412),
        ("if-match", "\"x\"", 412),
        ("if-modified-since", "Wed, 21 Oct 2099 07:28:00 GMT", 200),
    ] {
        let got = world.get_with(url, &[(name, value)]).await;
        assert_eq!(got.status(), status, "{name}: {value}");
        if status == 304 {
            assert!(got.body.is_empty() && got.header("etag") == etag, "{name}: {value}");
            assert_eq!((got.header("content-type"), got.header("vary")), ("", "accept-encoding"));
        }
    }
    // The condition does not apply to the error page.
    assert_eq!(world.get_with("shop.localhost/none", &[("if-none-match", "*")]).await.status(), 404);
}

#[tokio::test]
async fn serves_ranges_of_cached_and_streamed_files() {
    let small: String = (0..100).map(|number| format!("{number:02}")).collect();
    let large: String = (0..50_000).map(|number| format!("{number:08}")).collect();
    let world = World::new();
    world.files(&[("small.bin", &small), ("large.bin", &large)]);
    for (path, bytes) in [("small.bin", &small), ("large.bin", &large)] {
        let (url, size) = (format!("shop.localhost/{path}"), bytes.len());
        let etag = world.get(&url).await.header("etag").to_owned();
        assert_eq!(world.get(&url).await.text(), bytes);
        for (range, from, to) in [
            ("bytes=0-0", 0, 1),
            ("bytes=10-19", 10, 20),
            ("bytes=-7", size - 7, size),
            ("bytes=150-", 150, size),
            ("bytes=150-99999999999", 150, size),
        ] {
            let got = world.get_with(&url, &[("range", range), ("if-range", &etag)]).await;
            assert_eq!((got.status(), got.text()), (206, &bytes[from..to]), "{path} {range}");
            assert_eq!(got.header("content-range"), format!("bytes {from}-{}/{size}", to - 1), "{path} {range}");
        }
        for range in ["bytes=5-4", "lines=1-2", "bytes=x", "bytes=0-,0-"] {
            assert_eq!(world.get_with(&url, &[("range", range)]).await.status(), 200, "{path} {range}");
        }
        let beyond = world.get_with(&url, &[("range", &format!("bytes={size}-"))]).await;
        assert_eq!((beyond.status(), beyond.header("content-range")), (416, &*format!("bytes */{size}")));
        let other = world.get_with(&url, &[("range", "bytes=0-0"), ("if-range", "\"x\"")]).await;
        assert_eq!((other.status(), other.body.len()), (200, size));
        let head = world.ask(request("HEAD", &url, &[("range", "bytes=0-0")])).await;
        assert_eq!((head.status(), head.header("content-length")), (200, &*size.to_string()));
    }
}

#[tokio::test]
async fn serves_several_ranges_as_multipart() {
    let large: String = (0..50_000).map(|number| format!("{number:08}")).collect();
    let world = World::new();
    world.files(&[("small.txt", "0123456789"), ("large.txt", &large)]);
    for (path, bytes) in [("small.txt", "0123456789"), ("large.txt", &large)] {
        let got = world.get_with(&format!("shop.localhost/{path}"), &[("range", "bytes=0-1,4-5,-1")]).await;
        let size = bytes.len();
        assert_eq!(got.status(), 206);
        let boundary = got.header("content-type").strip_prefix("multipart/byteranges; boundary=").expect("parts");
        let part = |from: usize, to: usize| {
            let content = &bytes[from..to];
            let range = format!("bytes {from}-{}/{size}", to - 1);
            format!(
                "\r\n--{boundary}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-range: {range}\r\n\r\n{content}"
            )
        };
        let expected = [part(0, 2), part(4, 6), part(size - 1, size), format!("\r\n--{boundary}--\r\n")].concat();
        assert_eq!(got.text(), expected, "{path}");
    }
    let many = format!("bytes={}", vec!["0-0"; 17].join(","));
    assert_eq!(world.get_with("shop.localhost/small.txt", &[("range", &many)]).await.status(), 200);
}

#[tokio::test]
async fn serves_empty_files() {
    let world = World::new();
    world.files(&[("empty.txt", "")]);
    let got = world.get("shop.localhost/empty.txt").await;
    assert_eq!((got.status(), got.body.len(), got.header("content-type")), (200, 0, "text/plain; charset=utf-8"));
    let ranged = world.get_with("shop.localhost/empty.txt", &[("range", "bytes=0-")]).await;
    assert_eq!((ranged.status(), ranged.header("content-range")), (416, "bytes */0"));
    assert_eq!(world.get_with("shop.localhost/empty.txt", &[("range", "bytes=-1")]).await.status(), 200);
}

#[tokio::test]
async fn content_type_follows_the_name_not_the_bytes() {
    let world = World::new();
    world.files(&[("a.txt", "{}"), ("a.json", "{}"), ("a.txt2", "{}")]);
    for (path, expected) in
        [("a.txt", "text/plain; charset=utf-8"), ("a.json", "application/json"), ("a.txt2", "application/octet-stream")]
    {
        for _ in 0..2 {
            assert_eq!(world.get(&format!("shop.localhost/{path}")).await.header("content-type"), expected);
        }
    }
}

#[tokio::test]
async fn unreadable_file_is_a_502_with_an_id() {
    let world = World::new();
    world.files(&[("a.txt", "hello")]);
    world.memory.lose_files();
    let got = world.get_with("shop.localhost/a.txt", &[("accept", "application/json")]).await;
    assert_eq!((got.status(), got.json()["code"].as_str()), (502, Some("file_unreadable")));
    assert_eq!(got.json()["requestId"], got.header("milepost-request-id"));
    world.memory.file(Bytes::from_static(b"hello"));
    assert_eq!(world.get("shop.localhost/a.txt").await.text(), "hello");
}

#[tokio::test]
async fn small_files_are_read_once() {
    let world = World::new();
    world.files(&[("a.txt", "hello")]);
    for _ in 0..10 {
        assert_eq!(world.get("shop.localhost/a.txt").await.text(), "hello");
    }
    assert_eq!(world.memory.reads.load(std::sync::atomic::Ordering::SeqCst), 1);
}
