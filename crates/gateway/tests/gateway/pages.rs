//! Clean URLs and `cache-control`.

use std::time::Duration;

use milepost_gateway::view::{Expires, Mount};

use crate::support::*;

const IMMUTABLE: &str = "public, max-age=31536000, immutable";

async fn check(world: &World, cases: &[(&str, &str, u16, &str)]) {
    for (method, path, status, expected) in cases {
        let got = world.ask(request(method, &format!("shop.localhost{path}"), &[])).await;
        let actual = match status {
            308 => got.header("location"),
            405 => got.header("allow"),
            404 if expected.is_empty() => "",
            _ => got.text(),
        };
        assert_eq!((got.status(), actual), (*status, *expected), "{method} {path}");
    }
}

#[tokio::test]
async fn clean_urls_serve_pages_after_files_and_routes() {
    let world = World::new();
    let site = Mount {
        clean: true,
        fallback: Some("app.html".into()),
        ..mount(
            "/",
            world.memory.tree(&[
                ("index.html", "home"),
                ("app.html", "app"),
                ("login.html", "login"),
                ("routed.html", "routed page"),
                ("both.html", "the page"),
                ("both/index.html", "the folder"),
                ("docs/index.html", "docs"),
                ("docs/a b.html", "a b"),
                ("twin", "no page"),
                ("twin.html", "twin page"),
                ("plain.txt", "text"),
            ]),
        )
    };
    let plain = mount("/plain", world.memory.tree(&[("login.html", "plain"), ("docs/index.html", "docs")]));
    let function = public(Fake::Answer(Box::new(|| http::Response::new(full("function")))));
    world.shop(vec![site, plain], vec![route("GET", "/routed", &function), route("POST", "/login", &function)]);
    check(
        &world,
        &[
            ("GET", "/login", 200, "login"),
            ("GET", "/login.html?a=1&b", 308, "/login?a=1&b"),
            ("HEAD", "/login.html", 308, "/login"),
            ("GET", "/login/", 308, "/login"),
            ("GET", "/login.html/", 308, "/login.html"),
            ("POST", "/login", 200, "function"),
            ("PUT", "/login", 405, "GET, HEAD, POST"),
            ("PUT", "/app", 405, "GET, HEAD"),
            // The route takes precedence, so the page keeps its own path.
            ("GET", "/routed", 200, "function"),
            ("GET", "/routed.html", 200, "routed page"),
            // The same holds for a file at the clean path.
            ("GET", "/twin", 200, "no page"),
            ("GET", "/twin.html", 200, "twin page"),
            ("GET", "/both", 200, "the page"),
            ("GET", "/both/", 200, "the folder"),
            ("GET", "/both.html", 308, "/both"),
            ("GET", "/both/index.html", 308, "/both/"),
            ("GET", "/", 200, "home"),
            ("GET", "/index.html", 308, "/"),
            ("GET", "/index.html/", 308, "/index.html"),
            ("GET", "/docs", 200, "docs"),
            ("GET", "/docs/", 200, "docs"),
            ("GET", "/docs/a%20b", 200, "a b"),
            ("GET", "/docs/a%20b.html", 308, "/docs/a%20b"),
            ("GET", "/plain.txt", 200, "text"),
            ("GET", "/plain.txt/", 308, "/plain.txt"),
            ("GET", "//login.html", 200, "app"),
            ("GET", "/login%2ehtml", 200, "login"),
            ("GET", "/no/page", 200, "app"),
            // Only in items with clean URLs.
            ("GET", "/plain/login.html", 200, "plain"),
            ("GET", "/plain/login", 404, ""),
            ("GET", "/plain/docs", 308, "/plain/docs/"),
        ],
    )
    .await;
}

#[tokio::test]
async fn clean_urls_work_below_the_path_of_their_item() {
    let world = World::new();
    let site = Mount {
        clean: true,
        error_page: Some("404.html".into()),
        ..mount("/help", world.memory.tree(&[("index.html", "help"), ("a.html", "a"), ("404.html", "lost")]))
    };
    world.shop(vec![site], vec![]);
    check(
        &world,
        &[
            ("GET", "/help", 200, "help"),
            ("GET", "/help/", 200, "help"),
            ("GET", "/help/index.html", 308, "/help/"),
            ("GET", "/help/a", 200, "a"),
            ("GET", "/help/a.html", 308, "/help/a"),
            ("GET", "/help/.html", 404, "lost"),
            ("GET", "/help/b", 404, "lost"),
            ("GET", "/a", 404, ""),
        ],
    )
    .await;
}

#[tokio::test]
async fn hashed_files_are_immutable_and_others_follow_the_item() {
    let world = World::new();
    let files = [
        ("index.html", "home"),
        ("404.html", "lost"),
        ("assets/index-DsBhw8EC.js", "js"),
        ("assets/jquery-3.7.1.min.js", "jquery"),
        ("copy.3f2a9c1b.css", "js"),
    ];
    let tree = || world.memory.tree(&files);
    let after = |seconds| Some(Expires::after(Duration::from_secs(seconds)));
    let lost = Mount { error_page: Some("404.html".into()), ..mount("/", tree()) };
    let hour = Mount { expires: after(3600), error_page: Some("404.html".into()), ..mount("/hour", tree()) };
    let never = Mount { expires: after(0), ..mount("/never", tree()) };
    let script = || world.memory.tree(&[("app.3f2a9c1b.js", "js")]);
    let single = |path: &str| Mount { single: Some("app.3f2a9c1b.js".into()), ..mount(path, script()) };
    let index =
        Mount { index: "app.3f2a9c1b.js".into(), fallback: Some("app.3f2a9c1b.js".into()), ..mount("/i", script()) };
    let all = vec![lost, hour, never, single("/app.js"), single("/as/app.3f2a9c1b.js"), index];
    world.shop(all, vec![]);
    for (path, expected) in [
        ("/", "no-cache"),
        ("/assets/index-DsBhw8EC.js", IMMUTABLE),
        ("/assets/jquery-3.7.1.min.js", "no-cache"),
        // The same bytes under another name are a separate file.
        ("/copy.3f2a9c1b.css", IMMUTABLE),
        ("/assets/index-GoneGon3.js", "no-cache"),
        // Only a path that contains the hash is immutable.
        ("/app.js", "no-cache"),
        ("/as/app.3f2a9c1b.js", IMMUTABLE),
        ("/i/", "no-cache"),
        ("/i/none", "no-cache"),
        ("/i/app.3f2a9c1b.js", IMMUTABLE),
        ("/hour/", "public, max-age=3600"),
        ("/hour/assets/index-DsBhw8EC.js", "public, max-age=3600"),
        ("/hour/none", "no-cache"),
        ("/never/assets/index-DsBhw8EC.js", "no-cache"),
    ] {
        for _ in 0..2 {
            let got = world.get(&format!("shop.localhost{path}")).await;
            assert_eq!(got.header("cache-control"), expected, "{path}");
            let known =
                world.get_with(&format!("shop.localhost{path}"), &[("if-none-match", got.header("etag"))]).await;
            if got.status() == 200 {
                assert_eq!((known.status(), known.header("cache-control")), (304, expected), "{path}");
            }
        }
    }
}
