//! An in-memory backend, views to publish, and clients.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use milepost_gateway::view::{AppView, Mount, ReleaseView, Target};
use milepost_gateway::{
    Backend, CallContext, CallFailure, CallScope, FileRef, FileTree, Gateway, Listener, LoadFailure, Peer, RequestBody,
    Route, RouteRewrite, Settings,
};
use milepost_model::Digest;
use milepost_model::spec::FunctionPermission;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub type FakeBody = UnsyncBoxBody<Bytes, io::Error>;

/// The behaviour of a fake function.
pub enum Fake {
    /// Describes its call, and appends the request's body.
    Tell,
    /// Sends each frame of the body back as it arrives.
    Echo,
    Answer(Box<dyn Fn() -> Response<FakeBody> + Send + Sync>),
    Fail(CallFailure),
    /// Reads the body to its end, and fails as a worker would if that fails.
    Swallow,
    /// Begins a response whatever becomes of the body, and fails before its first frame.
    BreakOff,
    /// Waits for a permit.
    Wait(Arc<tokio::sync::Semaphore>),
}

#[derive(Default)]
pub struct Memory {
    files: Mutex<HashMap<Digest, Bytes>>,
    pub apps: Mutex<HashMap<String, Arc<AppView<Fake>>>>,
    pub reads: AtomicUsize,
    pub loads: AtomicUsize,
    /// Calls of [`Fake::Wait`] that began.
    pub waits: AtomicUsize,
    pub database_away: AtomicBool,
    /// When set, a load waits for a permit.
    pub load_gate: Mutex<Option<Arc<tokio::sync::Semaphore>>>,
}

pub fn full(text: impl Into<Bytes>) -> FakeBody {
    Full::new(text.into()).map_err(|never| match never {}).boxed_unsync()
}

impl Backend for Memory {
    type Function = Fake;
    type Body = FakeBody;

    async fn call(
        &self,
        function: &Arc<Fake>,
        request: Request<RequestBody>,
        context: CallContext,
    ) -> Result<Response<FakeBody>, CallFailure> {
        match &**function {
            Fake::Tell => {
                let (head, body) = request.into_parts();
                let mut told = format!("{} {} route={}", head.method, head.uri, context.route);
                for (name, value) in &context.params {
                    told += &format!(" {name}={value}");
                }
                told += &format!("\nrelease={} token={}\n", context.release, context.call_token);
                let mut lines: Vec<_> =
                    head.headers.iter().map(|(name, value)| format!("{name}: {}\n", value.to_str().unwrap())).collect();
                lines.sort();
                told += &lines.concat();
                let body = body.collect().await.map_err(broken)?.to_bytes();
                told += std::str::from_utf8(&body).unwrap();
                Ok(Response::new(full(told)))
            }
            Fake::Echo => {
                let pieces = request.into_body().map_err(io::Error::other).boxed_unsync();
                Ok(Response::new(pieces))
            }
            Fake::Answer(make) => Ok(make()),
            Fake::Fail(failure) => Err(failure.clone()),
            Fake::Swallow => {
                let mut body = request.into_body();
                let mut length = 0;
                while let Some(frame) = body.frame().await {
                    length += frame.map_err(broken)?.data_ref().map_or(0, Bytes::len);
                }
                Ok(Response::new(full(length.to_string())))
            }
            Fake::BreakOff => {
                let mut body = request.into_body();
                while let Some(Ok(_)) = body.frame().await {}
                Ok(Response::new(pieces(stream::iter([Err(io::ErrorKind::BrokenPipe.into())]))))
            }
            Fake::Wait(gate) => {
                self.waits.fetch_add(1, Ordering::SeqCst);
                gate.acquire().await.unwrap().forget();
                Ok(Response::new(full("waited")))
            }
        }
    }

    async fn read(&self, file: &FileRef) -> io::Result<Bytes> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.bytes(file)
    }

    async fn stream(&self, file: &FileRef, range: Range<u64>) -> io::Result<BoxStream<'static, io::Result<Bytes>>> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        if file.pack == ZEROS {
            return Ok(zeros(range.end - range.start));
        }
        let bytes = self.bytes(file)?.slice(range.start as usize..range.end as usize);
        let pieces: Vec<_> = bytes.chunks(10_000).map(|piece| Ok(bytes.slice_ref(piece))).collect();
        Ok(stream::iter(pieces).boxed())
    }

    async fn load(&self, app: &str) -> Result<Option<Arc<AppView<Fake>>>, LoadFailure> {
        self.loads.fetch_add(1, Ordering::SeqCst);
        let gate = self.load_gate.lock().unwrap().clone();
        if let Some(gate) = gate {
            gate.acquire().await.unwrap().forget();
        }
        if self.database_away.load(Ordering::SeqCst) {
            return Err(LoadFailure("the database is away".to_owned()));
        }
        Ok(self.apps.lock().unwrap().get(app).cloned())
    }

    fn may_invoke(&self, app: &str, token: &str) -> Option<bool> {
        token.strip_prefix("invoker-of-").map(|of| of == app)
    }

    fn open_call_token(&self, token: &str) -> Option<CallScope> {
        let (app, release) = token.strip_prefix("call:")?.split_once(':')?;
        Some(CallScope { app: app.into(), release: release.into() })
    }

    fn make_call_token(&self, app: &str, release: &str) -> Box<str> {
        format!("call:{app}:{release}").into()
    }
}

fn broken(error: milepost_gateway::BodyFailure) -> CallFailure {
    CallFailure { status: 502, code: "worker_failed", message: error.to_string(), retry_after: None }
}

/// The pack of a file of zeros, of any size.
pub const ZEROS: [u8; 16] = [0xff; 16];

fn zeros(length: u64) -> BoxStream<'static, io::Result<Bytes>> {
    static PIECE: [u8; 64 << 10] = [0; 64 << 10];
    stream::unfold(length, |left| async move {
        let now = left.min(PIECE.len() as u64);
        (now > 0).then(|| (Ok(Bytes::from_static(&PIECE[..now as usize])), left - now))
    })
    .boxed()
}

impl Memory {
    fn bytes(&self, file: &FileRef) -> io::Result<Bytes> {
        self.files.lock().unwrap().get(&file.digest).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub fn file(&self, bytes: impl Into<Bytes>) -> FileRef {
        let bytes = bytes.into();
        let digest = Digest::of(&bytes);
        let size = bytes.len() as u64;
        self.files.lock().unwrap().insert(digest, bytes);
        FileRef { digest, size, pack: [0; 16], offset: 0 }
    }

    /// Loses all bytes, like a broken disk.
    pub fn lose_files(&self) {
        self.files.lock().unwrap().clear();
    }

    pub fn tree(&self, files: &[(&str, &str)]) -> Arc<FileTree> {
        let files =
            files.iter().map(|(path, bytes)| ((*path).into(), self.file(Bytes::copy_from_slice(bytes.as_bytes()))));
        Arc::new(FileTree::new(files.collect::<Vec<_>>()))
    }
}

pub fn mount(path: &str, tree: Arc<FileTree>) -> Mount {
    Mount {
        path: path.into(),
        tree,
        single: None,
        index: "index.html".into(),
        fallback: None,
        error_page: None,
        clean: false,
        expires: None,
    }
}

pub fn target(name: &str, function: Fake, permission: FunctionPermission) -> Target<Fake> {
    Target { function: Arc::new(function), name: name.into(), version: 7, permission }
}

pub fn public(function: Fake) -> Target<Fake> {
    target("f", function, FunctionPermission::Public)
}

pub fn route(methods: &str, path: &str, target: &Target<Fake>) -> Route<Target<Fake>> {
    let prefix = path.strip_suffix('*');
    Route {
        methods: methods.split_whitespace().map(str::to_owned).collect(),
        path: prefix.unwrap_or(path).into(),
        prefix: prefix.is_some(),
        rewrite: RouteRewrite::default(),
        host: "".into(),
        target: target.clone(),
    }
}

pub fn release(id: &str, mounts: Vec<Mount>, routes: Vec<Route<Target<Fake>>>) -> Arc<ReleaseView<Fake>> {
    let functions = routes.iter().map(|route| route.target.clone()).collect();
    Arc::new(ReleaseView::new(id, mounts, functions, routes))
}

/// An app whose first release is live and whose last one is latest.
pub fn app(name: &str, order: i64, releases: &[Arc<ReleaseView<Fake>>]) -> Arc<AppView<Fake>> {
    Arc::new(AppView {
        app: name.into(),
        order,
        unready: Box::default(),
        live: releases.first().cloned(),
        latest: releases.last().cloned(),
        releases: releases.iter().map(|release| (release.id.clone(), release.clone())).collect(),
        expired: Arc::default(),
    })
}

pub struct World {
    pub memory: Arc<Memory>,
    pub gateway: Gateway<Memory>,
}

impl World {
    pub fn new() -> Self {
        Self::with(Settings::default())
    }

    pub fn with(settings: Settings) -> Self {
        let memory = Arc::new(Memory::default());
        let gateway = Gateway::new(settings, memory.clone()).unwrap();
        Self { memory, gateway }
    }

    /// Publishes the app `shop` with one release, `r1`.
    pub fn shop(&self, mounts: Vec<Mount>, routes: Vec<Route<Target<Fake>>>) {
        assert!(self.gateway.directory().publish(app("shop", 1, &[release("r1", mounts, routes)])));
    }

    pub fn files(&self, files: &[(&str, &str)]) {
        self.shop(vec![mount("/", self.memory.tree(files))], Vec::new());
    }

    /// Sends a request without a socket.
    pub async fn ask(&self, request: Request<Bytes>) -> Got {
        let address: SocketAddr = "192.0.2.1:1234".parse().unwrap();
        self.ask_from(request, Peer::from(address)).await
    }

    /// Returns when this many calls of [`Fake::Wait`] have begun.
    pub async fn waiting(&self, calls: usize) {
        soon(async {
            while self.memory.waits.load(Ordering::SeqCst) < calls {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }

    /// Sends a request to the inside listener.
    pub async fn get_inside(&self, url: &str, headers: &[(&str, &str)]) -> Got {
        let address: SocketAddr = "127.0.0.1:1234".parse().unwrap();
        self.ask_from(request("GET", url, headers), Peer { inside: true, ..Peer::from(address) }).await
    }

    async fn ask_from(&self, request: Request<Bytes>, peer: Peer) -> Got {
        let (head, body) = self.gateway.handle(request, peer).await.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Got { status: head.status, headers: head.headers, body }
    }

    pub async fn get(&self, url: &str) -> Got {
        self.ask(request("GET", url, &[])).await
    }

    pub async fn get_with(&self, url: &str, headers: &[(&str, &str)]) -> Got {
        self.ask(request("GET", url, headers)).await
    }

    pub async fn serve(&self) -> Served {
        self.serve_on(Listener::plain).await
    }

    pub async fn serve_on(&self, listener: impl FnOnce(TcpListener) -> Listener) -> Served {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let stop = CancellationToken::new();
        let (gateway, token, listener) = (self.gateway.clone(), stop.clone(), listener(socket));
        let done = tokio::spawn(async move { gateway.serve(vec![listener], token).await.unwrap() });
        Served { address, stop, done }
    }
}

/// A gateway that serves on a socket.
pub struct Served {
    pub address: SocketAddr,
    pub stop: CancellationToken,
    pub done: JoinHandle<()>,
}

impl Served {
    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends raw bytes and reads until the gateway closes the connection.
    pub async fn raw(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut stream = self.connect().await;
        stream.write_all(bytes.as_ref()).await.unwrap();
        read_to_close(&mut stream).await
    }

    pub async fn stopped(self) {
        self.stop.cancel();
        soon(self.done).await.unwrap();
    }
}

/// The response to a connection that the listener refuses.
pub async fn refused(door: &Served) -> String {
    read_to_close(&mut door.connect().await).await
}

/// Reads until the connection is closed or reset.
pub async fn read_to_close(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    let _ = soon(stream.read_to_end(&mut all)).await;
    String::from_utf8_lossy(&all).into_owned()
}

/// Reads one response with a `content-length` from a connection that stays open.
pub async fn read_answer(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&all).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
            if body.len() >= length.parse::<usize>().unwrap() {
                return text;
            }
        }
        if soon(stream.read_buf(&mut all)).await.unwrap() == 0 {
            panic!("the connection was closed after {text:?}");
        }
    }
}

/// Fails instead of hanging if the future does not complete.
pub async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("it takes too long")
}

pub fn request(method: &str, url: &str, headers: &[(&str, &str)]) -> Request<Bytes> {
    let (host, path) = url.split_once('/').map_or((url, "/".to_owned()), |(host, path)| (host, format!("/{path}")));
    let mut request = Request::builder().method(method).uri(path).header("host", host);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Bytes::new()).unwrap()
}

#[derive(Debug)]
pub struct Got {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Got {
    pub fn status(&self) -> u16 {
        self.status.as_u16()
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

pub fn pieces(
    pieces: impl futures::Stream<Item = io::Result<Bytes>> + Send + 'static,
) -> UnsyncBoxBody<Bytes, io::Error> {
    StreamBody::new(pieces.map(|piece| piece.map(Frame::data))).boxed_unsync()
}

pub async fn collect(response: Response<hyper::body::Incoming>) -> Got {
    let (head, body) = response.into_parts();
    let body = soon(body.collect()).await.unwrap().to_bytes();
    Got { status: head.status, headers: head.headers, body }
}
