//! Apps as the server would build them, without a server.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use anyhow::Result;
use bytes::Bytes;
use futures::stream::BoxStream;
use http::Response;
use http_body_util::Full;
use milepost_gateway::view::{AppView, Mount, ReleaseView, Target};
use milepost_gateway::{
    Backend, CallContext, CallFailure, CallScope, FileRef, FileTree, LoadFailure, RequestBody, Route, RouteRewrite,
};
use milepost_model::Digest;
use milepost_model::spec::FunctionPermission;

use super::{APPS, DOMAIN, FILES, RELEASES};

/// A backend whose functions respond at once. Nothing else is requested.
pub struct AtOnce;

impl Backend for AtOnce {
    type Function = ();
    type Body = Full<Bytes>;

    async fn call(
        &self,
        _: &Arc<()>,
        _: http::Request<RequestBody>,
        _: CallContext,
    ) -> Result<Response<Full<Bytes>>, CallFailure> {
        Ok(Response::new(Full::new(Bytes::from_static(b"Hello, world!\n"))))
    }

    async fn read(&self, _: &FileRef) -> std::io::Result<Bytes> {
        Err(std::io::ErrorKind::NotFound.into())
    }

    async fn stream(&self, _: &FileRef, _: Range<u64>) -> std::io::Result<BoxStream<'static, std::io::Result<Bytes>>> {
        Err(std::io::ErrorKind::NotFound.into())
    }

    async fn load(&self, _: &str) -> Result<Option<Arc<AppView<()>>>, LoadFailure> {
        Ok(None)
    }

    fn may_invoke(&self, _: &str, _: &str) -> Option<bool> {
        None
    }

    fn open_call_token(&self, _: &str) -> Option<CallScope> {
        None
    }

    fn make_call_token(&self, _: &str, _: &str) -> Box<str> {
        "".into()
    }
}

pub struct Request {
    pub host: String,
    pub path: &'static str,
}

/// Half of them for live, half for a release, in an order that no cache can predict.
pub fn requests(apps: usize) -> Vec<Request> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let one = |_| {
        // xorshift: looks random, but is the same in every run.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let app = (state >> 20) as usize % apps;
        let release = (state >> 9) as usize % RELEASES;
        let path = ["/hello", "/orders/17", "/orders/17/items"][(state & 0xFF) as usize % 3];
        let host = match state & 0x100 {
            0 => format!("app-{app}.{DOMAIN}"),
            _ => format!("app-{app}.{}.{DOMAIN}", release_id(app, release)),
        };
        Request { host, path }
    };
    (0..APPS).map(one).collect()
}

fn release_id(app: usize, release: usize) -> String {
    format!("r{app:x}x{release}")
}

/// Its releases share everything but the version of one function, as the server builds them.
pub fn app(at: usize) -> Arc<AppView<()>> {
    let file = FileRef { digest: Digest::of(&at.to_le_bytes()), size: 1000, pack: [0; 16], offset: 0 };
    let files = (0..FILES).map(|number| (format!("assets/file-{number}.js").into_boxed_str(), file));
    let tree = Arc::new(FileTree::new(files));
    let orders = target("orders", 1);
    let mut releases: Vec<Arc<ReleaseView<()>>> = Vec::with_capacity(RELEASES);
    for (number, version) in (0..RELEASES).zip(1..) {
        let hello = target("hello", version);
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
        let routes = vec![
            route("/hello", &hello),
            route("/hello/{name}", &hello),
            route("/orders", &orders),
            route("/orders/{id}", &orders),
            route("/orders/{id}/items", &orders),
        ];
        let functions = vec![hello, orders.clone()];
        let view = ReleaseView::new(release_id(at, number), vec![mount], functions, routes);
        releases.push(Arc::new(view.sharing(&releases)));
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

fn target(name: &str, version: i64) -> Target<()> {
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
