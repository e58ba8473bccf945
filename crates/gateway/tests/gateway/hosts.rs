use std::sync::Arc;
use std::sync::atomic::Ordering;

use milepost_gateway::view::AppView;
use milepost_gateway::{Gateway, Settings};
use tokio::sync::Semaphore;

use crate::support::*;

/// Releases `r1` (live, tagged `stable`) and `r2` (latest); `r0` has expired.
fn shop(world: &World) -> Arc<AppView<Fake>> {
    let releases =
        ["r1", "r2"].map(|id| release(id, vec![mount("/", world.memory.tree(&[("index.html", id)]))], vec![]));
    let mut view = Arc::into_inner(app("shop", 5, &releases)).expect("the only reference");
    let [stable, latest] = releases;
    view.releases = [("r1", stable.clone()), ("r2", latest), ("stable", stable)].into_iter().collect();
    let expired = ("r0", "2026-01-02T03:04:05Z".parse().expect("a time"));
    view.expired = Arc::new([expired].into_iter().collect());
    Arc::new(view)
}

fn world() -> World {
    let world = World::new();
    world.gateway.directory().publish(shop(&world));
    world
}

#[tokio::test]
async fn resolves_every_form_of_an_address() {
    let world = world();
    for (host, expected) in [
        ("shop.localhost", "r1"),
        ("SHOP.localhost.:8080", "r1"),
        ("shop.live.localhost", "r1"),
        ("shop.latest.localhost", "r2"),
        ("shop.r1.localhost", "r1"),
        ("shop.r2.localhost:80", "r2"),
        ("shop.stable.localhost", "r1"),
        ("r2--shop.localhost", "r2"),
        ("stable--shop.localhost", "r1"),
        ("latest--shop.localhost", "r2"),
        ("live--shop.localhost", "r1"),
    ] {
        let got = world.get(&format!("{host}/")).await;
        assert_eq!((got.status(), got.text(), got.header("milepost-release")), (200, expected, expected), "{host}");
    }
}

#[tokio::test]
async fn unresolved_addresses_report_the_reason() {
    let world = world();
    let bare = app("bare", 1, &[]);
    world.gateway.directory().publish(bare);
    for (host, status, code) in [
        ("localhost", 404, "no_app"),
        ("127.0.0.1:8080", 404, "no_app"),
        ("example.com", 404, "no_app"),
        ("a.b.c.localhost", 404, "no_app"),
        ("none.localhost", 404, "unknown_app"),
        ("r1--none.localhost", 404, "unknown_app"),
        ("shop.none.localhost", 404, "unknown_release"),
        ("none--shop.localhost", 404, "unknown_release"),
        ("bare.localhost", 404, "no_release"),
        ("latest--bare.localhost", 404, "no_release"),
        ("shop.r0.localhost", 410, "release_expired"),
        ("r0--shop.localhost", 410, "release_expired"),
    ] {
        let got = world.get_with(&format!("{host}/x"), &[("accept", "application/json")]).await;
        let problem = got.json();
        assert_eq!((got.status(), problem["code"].as_str()), (status, Some(code)), "{host}");
        assert_eq!(got.header("content-type"), "application/problem+json", "{host}");
        assert_eq!(problem["status"], status, "{host}");
        assert_eq!(got.header("milepost-release"), if status == 410 { "r0" } else { "" }, "{host}");
        if status == 410 {
            assert!(problem["detail"].as_str().is_some_and(|text| text.contains("2026-01-02T03:04:05Z")), "{problem}");
        }
    }
}

#[tokio::test]
async fn problem_format_follows_the_accept_header() {
    let world = world();
    let page = world.get_with("shop.r0.localhost/", &[("accept", "text/html,*/*;q=0.8")]).await;
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    assert!(
        page.text().starts_with("<!doctype html>") && page.text().contains("2026-01-02T03:04:05Z"),
        "{}",
        page.text()
    );
    let text = world.get("shop.r0.localhost/").await;
    assert_eq!(text.header("content-type"), "text/plain; charset=utf-8");
    assert!(text.text().starts_with("410 Gone: The release `r0`"), "{}", text.text());
    let head = world.ask(request("HEAD", "shop.r0.localhost/", &[])).await;
    assert_eq!((head.status(), head.body.len()), (410, 0));
    assert_eq!(head.header("content-length"), text.body.len().to_string());
}

#[tokio::test]
async fn rejects_requests_without_a_single_valid_host() {
    let world = world();
    let no_host = http::Request::builder().uri("/").body(bytes::Bytes::new()).expect("a request");
    assert_eq!(world.ask(no_host).await.status(), 400);
    let two = request("GET", "shop.localhost/", &[("host", "other.localhost")]);
    assert_eq!(world.ask(two).await.status(), 400);
    assert_eq!(world.get("sh op.localhost/").await.status(), 400);
    let absolute = http::Request::builder().uri("http://shop.localhost/").header("host", "none.localhost");
    let absolute = absolute.body(bytes::Bytes::new()).expect("a request");
    assert_eq!(world.ask(absolute).await.status(), 200);
}

#[tokio::test]
async fn concurrent_requests_share_one_load() {
    let world = World::new();
    world.memory.apps.lock().expect("no panic").insert("shop".to_owned(), shop(&world));
    let gate = Arc::new(Semaphore::new(0));
    *world.memory.load_gate.lock().expect("no panic") = Some(gate.clone());
    let ask = || world.get("shop.localhost/");
    let all = futures::future::join_all((0..50).map(|_| ask()));
    let open = async {
        while world.memory.loads.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        gate.add_permits(100);
    };
    let (all, ()) = soon(futures::future::join(all, open)).await;
    assert!(all.iter().all(|got| got.text() == "r1"));
    assert_eq!(world.memory.loads.load(Ordering::SeqCst), 1);
    assert_eq!(world.get("shop.localhost/").await.text(), "r1");
    assert_eq!(world.memory.loads.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn loads_apps_for_single_label_releases() {
    let world = World::new();
    world.memory.apps.lock().expect("no panic").insert("shop".to_owned(), shop(&world));
    assert_eq!(world.get("r2--shop.localhost/").await.text(), "r2");
}

/// The label is looked up as an app first. Its absence is remembered for a second, but loading the
/// other app takes longer.
#[tokio::test]
async fn loads_single_label_releases_from_a_slow_database() {
    let world = World::new();
    world.memory.apps.lock().expect("no panic").insert("shop".to_owned(), shop(&world));
    let gate = Arc::new(Semaphore::new(1));
    *world.memory.load_gate.lock().expect("no panic") = Some(gate.clone());
    let slow = async {
        while world.memory.loads.load(Ordering::SeqCst) < 2 {
            tokio::task::yield_now().await;
        }
        tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
        gate.add_permits(1);
    };
    let (got, ()) = soon(futures::future::join(world.get("r2--shop.localhost/"), slow)).await;
    assert_eq!((got.status(), got.text()), (200, "r2"));
}

#[tokio::test]
async fn unknown_app_is_cached_until_published() {
    let world = World::new();
    for _ in 0..5 {
        assert_eq!(world.get("shop.localhost/").await.status(), 404);
    }
    assert_eq!(world.memory.loads.load(Ordering::SeqCst), 1);
    world.gateway.directory().publish(shop(&world));
    assert_eq!(world.get("shop.localhost/").await.text(), "r1");
    assert_eq!(world.memory.loads.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn serves_known_apps_while_the_database_is_down() {
    let world = world();
    world.memory.database_away.store(true, Ordering::SeqCst);
    assert_eq!(world.get("shop.localhost/").await.text(), "r1");
    let got = world.get("other.localhost/").await;
    assert_eq!((got.status(), got.header("retry-after")), (503, "1"));
    world.memory.database_away.store(false, Ordering::SeqCst);
    assert_eq!(world.get("other.localhost/").await.status(), 404);
}

#[tokio::test]
async fn older_view_never_replaces_a_newer_one() {
    let world = World::new();
    let directory = world.gateway.directory();
    let at = |event| app("shop", event, &[]);
    assert!(directory.publish(at(5)));
    assert!(!directory.publish(at(4)));
    assert!(directory.publish(at(5)) && directory.publish(at(6)));
    assert_eq!(directory.get("shop").map(|view| view.order), Some(6));
    assert!(!directory.remove("shop", 5));
    assert!(directory.remove("shop", 7));
    assert!(directory.get("shop").is_none() && directory.is_empty());
    assert!(!directory.publish(at(6)), "a view from before the removal came late");
    assert!(directory.publish(at(8)));
    assert_eq!(directory.get("shop").map(|view| view.order), Some(8));
}

#[tokio::test]
async fn counts_responses_by_app() {
    let world = world();
    world.get("shop.localhost/").await;
    world.get("shop.localhost/none").await;
    world.get("none.localhost/").await;
    let stats = world.gateway.stats();
    assert_eq!(stats.unmatched.client_error, 1);
    let (app, counts) = &stats.apps[0];
    assert_eq!((&**app, counts.success, counts.client_error, counts.total()), ("shop", 1, 1, 2));
}

#[tokio::test]
async fn reserves_its_own_paths() {
    let world = world();
    assert_eq!(world.get("anything/.milepost/health").await.status(), 200);
    for path in ["/.milepost", "/.milepost/", "/.milepost/none"] {
        assert_eq!(world.get(&format!("shop.localhost{path}")).await.status(), 404, "{path}");
    }
    assert_eq!(world.get("shop.localhost/.milepost/call/f/").await.status(), 404, "that is for calls from inside");
}

#[test]
fn rejects_invalid_domains() {
    for domain in ["", "a b", "localhost:8080", ".localhost", "http://x"] {
        let settings = Settings { domain: domain.to_owned(), ..Settings::default() };
        assert!(Gateway::new(settings, Arc::new(Memory::default())).is_err(), "{domain}");
    }
}
