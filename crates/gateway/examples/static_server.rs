//! Serves a directory from memory, for benchmarks: `static_server ADDRESS FOLDER`.
//!
//! The directory is served as the app `files` at `http://files.localhost:PORT/…`. The path
//! `/function` calls a function that does nothing.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use http_body_util::Full;
use milepost_gateway::view::{AppView, Mount, NameMap, ReleaseView, Target};
use milepost_gateway::{
    Backend, CallContext, CallFailure, CallScope, FileRef, FileTree, Gateway, Listener, LoadFailure, RequestBody,
    Route, RouteRewrite, Settings,
};
use milepost_model::Digest;
use milepost_model::spec::FunctionPermission;
use tokio_util::sync::CancellationToken;

struct Folder(HashMap<Digest, Bytes>);

impl Backend for Folder {
    type Function = ();
    type Body = Full<Bytes>;

    async fn call(
        &self,
        _: &Arc<()>,
        _: http::Request<RequestBody>,
        _: CallContext,
    ) -> Result<http::Response<Full<Bytes>>, CallFailure> {
        Ok(http::Response::new(Full::new(Bytes::from_static(b"hello"))))
    }

    async fn read(&self, file: &FileRef) -> io::Result<Bytes> {
        self.0.get(&file.digest).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    async fn stream(&self, file: &FileRef, range: Range<u64>) -> io::Result<BoxStream<'static, io::Result<Bytes>>> {
        let bytes = self.read(file).await?.slice(range.start as usize..range.end as usize);
        Ok(stream::iter([Ok(bytes)]).boxed())
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

fn read_folder(folder: &Path) -> io::Result<(Folder, FileTree)> {
    let (mut bytes_of, mut files) = (HashMap::new(), Vec::new());
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_type()?.is_file() {
            continue;
        }
        let bytes = Bytes::from(std::fs::read(entry.path())?);
        let file = FileRef { digest: Digest::of(&bytes), size: bytes.len() as u64, pack: [0; 16], offset: 0 };
        bytes_of.insert(file.digest, bytes);
        files.push((entry.file_name().to_string_lossy().into(), file));
    }
    Ok((Folder(bytes_of), FileTree::new(files)))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().ok_or("usage: static_server ADDRESS FOLDER");
    let (address, folder) = (next()?, next()?);
    let (backend, tree) = read_folder(Path::new(&folder))?;
    let gateway = Gateway::new(Settings::default(), Arc::new(backend))?;
    let mount = Mount {
        path: "/".into(),
        tree: Arc::new(tree),
        single: None,
        index: "index.html".into(),
        fallback: None,
        error_page: None,
        clean: false,
        expires: None,
    };
    let function =
        Target { function: Arc::new(()), name: "hello".into(), version: 1, permission: FunctionPermission::Public };
    let route = Route {
        methods: ["GET".to_owned()].into(),
        path: "/function".into(),
        prefix: false,
        rewrite: RouteRewrite::default(),
        host: "".into(),
        target: function,
    };
    let release = Arc::new(ReleaseView::new("r1", vec![mount], Vec::new(), vec![route]));
    gateway.directory().publish(Arc::new(AppView {
        app: "files".into(),
        order: 1,
        unready: Box::default(),
        live: Some(release.clone()),
        latest: Some(release),
        releases: NameMap::default(),
        expired: Arc::default(),
    }));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let socket = tokio::net::TcpListener::bind(&address).await?;
        let stop = CancellationToken::new();
        let token = stop.clone();
        tokio::spawn(async move {
            let _ = tokio::signal::ctrl_c().await;
            token.cancel();
        });
        gateway.serve(vec![Listener::plain(socket)], stop).await
    })?;
    Ok(())
}
