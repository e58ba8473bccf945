//! Helpers for build tests: a server that can run commands, requests, and events.

use std::path::PathBuf;
use std::pin::Pin;

use futures::{Stream, StreamExt};
use milepost_client::ClientError;
use milepost_model::Digest;
use milepost_model::build::{BuildEvent, BuildRequest};
use milepost_model::spec::{EnvironmentSpec, Runtime};
use milepost_server::Settings;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::server::TestServer;

pub type Events = Pin<Box<dyn Stream<Item = Result<BuildEvent, ClientError>> + Send>>;

/// `examples/sandbox_stage.rs`, which cargo builds next to the tests.
pub fn stage() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.ancestors().nth(2).unwrap().join("examples/sandbox_stage");
    assert!(
        program.exists(),
        "{} is not built: `cargo build -p milepost-server --examples` builds it",
        program.display()
    );
    program
}

pub async fn builder() -> TestServer {
    builder_with(|_| {}).await
}

pub async fn builder_with(adjust: impl FnOnce(&mut Settings)) -> TestServer {
    TestServer::start_with(|settings| {
        settings.program = stage();
        settings.spares = Some(0);
        adjust(settings);
    })
    .await
}

pub fn request(runtime: Runtime, source: Digest, command: &str) -> BuildRequest {
    let environment = EnvironmentSpec {
        runtime,
        interpreter: String::new(),
        builder: String::new(),
        variables: std::collections::BTreeMap::new(),
    };
    BuildRequest { package: "pkg".parse().unwrap(), source, environment, command: command.to_owned() }
}

impl TestServer {
    pub async fn building(&self, request: &BuildRequest) -> Events {
        Box::pin(self.client.build("default", request).await.unwrap())
    }

    pub async fn events(&self, request: &BuildRequest) -> Vec<BuildEvent> {
        self.building(request).await.map(|event| event.unwrap()).collect().await
    }

    /// Builds these files with a command, and returns the resulting tree.
    pub async fn made(&self, files: &[(&str, &str)], command: &str) -> Vec<(String, Option<String>, bool)> {
        let source = self.store(files).await;
        let events = self.events(&request(Runtime::Python, source, command)).await;
        let Some(BuildEvent::Done { deployment, .. }) = events.last() else { panic!("no result: {events:#?}") };
        let items = self.client.tree_get("default", deployment).await.unwrap();
        items.into_iter().map(|item| (item.path, item.link, item.file.is_some_and(|file| file.executable))).collect()
    }

    /// The reason why a command fails.
    pub async fn reason(&self, command: &str) -> String {
        let source = self.store(&[("main.py", "x")]).await;
        let events = self.events(&request(Runtime::Python, source, command)).await;
        let Some(BuildEvent::Failed { reason, id: Some(_) }) = events.last() else { panic!("no failure: {events:#?}") };
        reason.clone()
    }

    pub async fn log(&self, build: &str) -> String {
        self.client.build_log("default", build).await.unwrap().text().await.unwrap()
    }

    /// The number of build directories on disk.
    pub fn build_folders(&self) -> usize {
        let servers = std::fs::read_dir(self.data().join("run")).unwrap().flatten();
        servers.filter_map(|server| std::fs::read_dir(server.path().join("build")).ok()).map(Iterator::count).sum()
    }
}

pub async fn next(events: &mut Events) -> BuildEvent {
    events.next().await.unwrap().unwrap()
}

/// Blocks builds: each connects, and continues when it receives a byte.
pub struct Gate(TcpListener);

impl Gate {
    pub async fn new() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    /// A command that waits at the gate.
    pub fn command(&self, after: &str) -> String {
        let port = self.0.local_addr().unwrap().port();
        let wait =
            format!("import socket; s = socket.create_connection((\"127.0.0.1\", {port})); s.recv(1) or exit(9)");
        format!("python3 -c '{wait}' && {after}")
    }

    pub async fn arrival(&self) -> TcpStream {
        self.0.accept().await.unwrap().0
    }
}

pub async fn let_go(mut held: TcpStream) {
    held.write_all(b"g").await.unwrap();
}

/// Waits until the process that was blocked has ended.
pub async fn gone(mut held: TcpStream) {
    // EOF or a reset. Either only happens when the process has ended.
    let _ = held.read(&mut [0]).await;
}
