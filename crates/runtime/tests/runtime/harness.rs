//! A runtime in a temporary directory, a host that records its calls, and helpers to create
//! functions.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::future::BoxFuture;
use http_body_util::{BodyExt as _, Full};
use milepost_model::spec::{Runtime as Kind, Scale};
use milepost_model::{AppName, Clock as _, Digest, SystemClock, Timestamp};
use milepost_runtime::{
    CallContext, CallError, Function, Host, HostError, LogLine, Package, PoolStatus, ResponseBody, Runtime,
    RuntimeSettings, SealedValue,
};
use tempfile::TempDir;

pub struct TestHost {
    packages: Mutex<HashMap<Digest, Package>>,
    lines: Mutex<Vec<LogLine>>,
}

impl Host for TestHost {
    fn package(&self, root: Digest) -> BoxFuture<'_, Result<Package, HostError>> {
        let found = self.packages.lock().expect("packages").get(&root).cloned();
        Box::pin(async move { found.ok_or_else(|| HostError("there is no such package".to_owned())) })
    }

    fn open_secret(&self, secret: &SealedValue) -> Result<String, HostError> {
        String::from_utf8(secret.sealed.to_vec()).map_err(|error| HostError(error.to_string()))
    }

    fn log(&self, line: LogLine) {
        self.lines.lock().expect("lines").push(line);
    }

    fn now(&self) -> Timestamp {
        SystemClock.now()
    }
}

pub struct Place {
    pub runtime: Runtime,
    pub host: Arc<TestHost>,
    pub folder: TempDir,
    count: AtomicU64,
}

pub struct Answer {
    pub status: u16,
    pub headers: http::HeaderMap,
    pub body: Bytes,
}

impl Answer {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("an answer in UTF-8")
    }
}

pub fn app() -> AppName {
    "shop".parse().expect("a name")
}

impl Place {
    pub async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub async fn with(change: impl FnOnce(&mut RuntimeSettings)) -> Self {
        let folder = tempfile::Builder::new().prefix("runtime-").tempdir().expect("a folder");
        let host = Arc::new(TestHost { packages: Mutex::default(), lines: Mutex::default() });
        let mut settings = RuntimeSettings::new(crate::support::stages(), folder.path().join("run"));
        // A spare costs an interpreter, so only the tests of spares have them.
        settings.spares.python = 0;
        settings.spares.node = 0;
        change(&mut settings);
        let runtime = Runtime::start(settings, host.clone()).await.expect("a runtime");
        Self { runtime, host, folder, count: AtomicU64::new(0) }
    }

    pub fn function(&self, kind: Kind, files: &[(&str, &[u8])], change: impl FnOnce(&mut Function)) -> Arc<Function> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let package = Digest::of(&number.to_le_bytes());
        let folder = self.folder.path().join(format!("package-{number}"));
        for (name, content) in files {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("make a folder");
            fs::write(&path, content).expect("write a file");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("open a file");
        }
        let files = Package { folder, files: files.len() };
        self.host.packages.lock().expect("packages").insert(package, files);
        let mut function = Function {
            key: package,
            app: app(),
            name: format!("f{number}").parse().expect("a name"),
            number: 1,
            uid: "abcdef".to_owned(),
            runtime: kind,
            interpreter: String::new(),
            entrypoint: String::new(),
            package,
            variables: BTreeMap::new(),
            config: Arc::new(serde_json::json!({"greeting": "hi"})),
            secrets: Vec::new(),
            configmaps: std::collections::BTreeSet::new(),
            memory: 256 << 20,
            cpu: 2000,
            timeout: Duration::from_secs(20),
            scale: Scale { min: 0, max: 1, concurrency: 1, idle_ms: 600_000 },
        };
        change(&mut function);
        Arc::new(function)
    }

    pub fn python(&self, code: &str, change: impl FnOnce(&mut Function)) -> Arc<Function> {
        self.function(Kind::Python, &[("main.py", code.as_bytes())], change)
    }

    pub fn node(&self, code: &str, change: impl FnOnce(&mut Function)) -> Arc<Function> {
        self.function(Kind::Node, &[("index.js", code.as_bytes())], change)
    }

    pub async fn open(
        &self,
        function: &Arc<Function>,
        id: &str,
        body: impl Into<Bytes>,
    ) -> Result<http::Response<ResponseBody>, CallError> {
        let request = http::Request::post("/path?q=1").body(Full::new(body.into())).expect("a request");
        self.runtime.call(function, request, CallContext { request_id: id.into(), ..CallContext::default() }).await
    }

    pub async fn call(&self, function: &Arc<Function>, id: &str) -> Result<Answer, CallError> {
        let (head, body) = self.open(function, id, Bytes::new()).await?.into_parts();
        let body = body.collect().await.expect("a whole body").to_bytes();
        Ok(Answer { status: head.status.as_u16(), headers: head.headers, body })
    }

    pub fn lines(&self) -> Vec<LogLine> {
        self.host.lines.lock().expect("lines").clone()
    }

    pub fn lines_of(&self, request: &str) -> Vec<String> {
        let lines = self.lines().into_iter().filter(|line| line.request.as_deref() == Some(request));
        lines.map(|line| line.text).collect()
    }

    pub fn status(&self, function: &Function) -> PoolStatus {
        let found = self.runtime.status(&app()).into_iter().find(|pool| pool.key == function.key);
        found.expect("a pool of the function")
    }

    pub async fn stop(self) {
        self.runtime.stop(Duration::from_secs(10)).await;
        assert_eq!(processes_of(self.folder.path()), Vec::<u32>::new(), "processes are left");
    }
}

/// Processes started for a test. Stages and workers have its directory in their command line.
pub fn processes_of(folder: &std::path::Path) -> Vec<u32> {
    let text = folder.to_string_lossy().into_owned();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("proc").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if pid != std::process::id() && String::from_utf8_lossy(&line).contains(&text) {
            found.push(pid);
        }
    }
    found
}

/// Polls a condition that no event announces.
#[track_caller]
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) -> impl Future<Output = ()> {
    let what = what.to_owned();
    async move {
        let started = Instant::now();
        while !condition() {
            assert!(started.elapsed() < Duration::from_secs(20), "this did not happen: {what}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
