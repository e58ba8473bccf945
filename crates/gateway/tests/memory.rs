//! The memory of an idle app. A counting allocator makes the results reproducible.

use std::collections::BTreeSet;
use std::sync::Arc;

use http::Method;
use milepost_gateway::view::{AppView, Mount, ReleaseView, Target};
use milepost_gateway::{Directory, FileRef, FileTree, Lookup, Route, RouteRewrite};
use milepost_model::Digest;
use milepost_model::spec::FunctionPermission;

const APPS: usize = 1_000;
const RELEASES: usize = 10;
const FILES: usize = 10;

/// How the releases of an app differ, besides their names.
#[derive(Clone, Copy)]
enum Change {
    /// Only in parts that the gateway does not serve, such as an unused configuration.
    Nothing,
    /// Each release has a new version of one of the two functions.
    OneFunction,
    /// Each release also has an additional route.
    FunctionAndRoute,
}

fn target(name: &str, version: usize) -> Target<()> {
    let version = i64::try_from(version).unwrap_or_default();
    Target { function: Arc::new(()), name: name.into(), version, permission: FunctionPermission::Public }
}

fn route(path: &str, target: &Target<()>) -> Route<Target<()>> {
    let methods = BTreeSet::from(["GET".to_owned()]);
    Route {
        methods,
        path: path.into(),
        prefix: false,
        rewrite: RouteRewrite::default(),
        host: "".into(),
        target: target.clone(),
    }
}

fn app(at: usize, change: Change) -> Arc<AppView<()>> {
    let file = FileRef { digest: Digest::of(&at.to_le_bytes()), size: 1000, pack: [0; 16], offset: 0 };
    let files = (0..FILES).map(|number| (format!("assets/file-{number}.js").into_boxed_str(), file));
    let tree = Arc::new(FileTree::new(files));
    let (mut hello, orders) = (target("hello", 0), target("orders", 0));
    let mut releases: Vec<Arc<ReleaseView<()>>> = Vec::new();
    for number in 0..RELEASES {
        if !matches!(change, Change::Nothing) {
            hello = target("hello", number);
        }
        let mount = Mount {
            path: "/static".into(),
            tree: tree.clone(),
            single: None,
            index: "index.html".into(),
            fallback: None,
            error_page: None,
            clean: false,
            expires: None,
        };
        let mut routes = vec![
            route("/hello", &hello),
            route("/hello/{name}", &hello),
            route("/orders", &orders),
            route("/orders/{id}", &orders),
            route("/orders/{id}/items", &orders),
        ];
        if matches!(change, Change::FunctionAndRoute) {
            routes.push(route(&format!("/only-{number}"), &hello));
        }
        let functions = vec![hello.clone(), orders.clone()];
        let release = ReleaseView::new(format!("r{at:x}x{number}"), vec![mount], functions, routes);
        releases.push(Arc::new(release.sharing(&releases)));
    }
    Arc::new(AppView {
        app: format!("app-{at}").into(),
        order: 1,
        unready: Box::default(),
        live: releases.last().cloned(),
        latest: releases.last().cloned(),
        releases: releases.iter().map(|release| (release.id.clone(), release.clone())).collect(),
        expired: Arc::default(),
    })
}

/// Bytes and allocations that each of many apps keeps.
fn kept(change: Change) -> (i64, i64) {
    let directory = Directory::default();
    // Excludes what is allocated once, however many apps there are.
    directory.publish(app(APPS, change));
    let info = allocation_counter::measure(|| {
        for at in 0..APPS {
            assert!(directory.publish(app(at, change)));
        }
    });
    let apps = i64::try_from(APPS).unwrap_or(i64::MAX);
    (info.bytes_current / apps, info.count_current / apps)
}

#[test]
fn idle_app_with_similar_releases_is_small() {
    for (change, most) in [(Change::Nothing, 4_000), (Change::OneFunction, 6_000), (Change::FunctionAndRoute, 14_000)] {
        let (bytes, blocks) = kept(change);
        println!("{bytes} bytes in {blocks} blocks");
        assert!(bytes < most, "{bytes} bytes in {blocks} blocks, and {most} is the most");
    }
}

#[test]
fn republishing_an_app_leaks_no_memory() {
    let directory = Directory::default();
    directory.publish(app(1, Change::OneFunction));
    let info = allocation_counter::measure(|| {
        for _ in 0..100 {
            assert!(directory.publish(app(1, Change::OneFunction)));
        }
    });
    assert!(info.bytes_current <= 0, "{} bytes more", info.bytes_current);
}

#[test]
fn route_lookup_does_not_allocate() {
    let directory = Directory::default();
    directory.publish(app(7, Change::OneFunction));
    let info = allocation_counter::measure(|| {
        let view = directory.get("app-7").expect("it was published");
        let release = view.releases.get("r7x3").expect("it is active");
        let Lookup::Found { target, params, .. } = release.routes().find("app-7.localhost", &Method::GET, "/hello")
        else {
            panic!("it has the route");
        };
        assert_eq!((release.target(*target).version, params.len()), (3, 0));
    });
    assert_eq!(info.count_total, 0);
}
