//! A server for one test, with helpers to send requests.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use milepost_client::Client;
use milepost_client::api::{NewToken, Problem};
use milepost_model::{ManualClock, Role};
use milepost_server::{Server, Settings, StartError};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::Value;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub struct TestServer {
    pub client: Client,
    pub clock: Arc<ManualClock>,
    pub address: SocketAddr,
    pub token: String,
    http: reqwest::Client,
    data: TempDir,
    stop: CancellationToken,
    running: JoinHandle<Result<(), StartError>>,
}

pub fn settings(data: &Path) -> Settings {
    Settings::new(data.to_owned(), "127.0.0.1:0".parse().unwrap())
}

impl TestServer {
    pub async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    pub async fn on_database(url: &str) -> Self {
        Self::start_with(|settings| settings.database = Some(url.to_owned())).await
    }

    pub async fn start_with(adjust: impl FnOnce(&mut Settings)) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), adjust).await
    }

    /// Starts on an existing data directory.
    pub async fn start_in(data: TempDir, adjust: impl FnOnce(&mut Settings)) -> Self {
        let clock = Arc::new(ManualClock::at("2026-01-02T03:04:05Z".parse().unwrap()));
        let mut settings = settings(data.path());
        settings.clock = Arc::clone(&clock) as Arc<dyn milepost_model::Clock>;
        adjust(&mut settings);
        let server = Server::start(settings).await.unwrap();
        let address = server.address();
        let token = std::fs::read_to_string(data.path().join("admin.token")).unwrap().trim().to_owned();
        let stop = CancellationToken::new();
        let running = tokio::spawn(server.run(stop.clone()));
        let client = Client::new(&format!("http://{address}"), &token).unwrap();
        Self { client, clock, address, token, http: reqwest::Client::new(), data, stop, running }
    }

    pub fn data(&self) -> &Path {
        self.data.path()
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// A request without a token. `path` begins with `/`.
    pub fn bare(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, self.url(path))
    }

    /// A request with the admin token. `path` is relative to `/api/v1`.
    pub fn ask(&self, method: Method, path: &str) -> RequestBuilder {
        self.ask_as(&self.token, method, path)
    }

    pub fn ask_as(&self, token: &str, method: Method, path: &str) -> RequestBuilder {
        self.bare(method, &format!("/api/v1{path}")).bearer_auth(token)
    }

    pub async fn get(&self, path: &str) -> Value {
        let response = self.ask(Method::GET, path).send().await.unwrap();
        let status = response.status();
        let text = response.text().await.unwrap();
        assert!(status.is_success(), "GET {path}: {status} {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// Sends JSON and returns the status and the body.
    pub async fn send(&self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        let response = self.ask(method, path).json(body).send().await.unwrap();
        let status = response.status().as_u16();
        (status, serde_json::from_slice(&response.bytes().await.unwrap()).unwrap_or_default())
    }

    /// Applies a change to app `default`. Panics if it is refused.
    pub async fn change(&self, change: &Value) -> Value {
        let (status, outcome) = self.send(Method::POST, "/apps/default/changes", change).await;
        assert_eq!(status, 200, "{outcome:#}");
        outcome
    }

    pub async fn token_for(&self, name: &str, role: Role, app: Option<&str>) -> String {
        let app = app.map(|app| app.parse().unwrap());
        let made = self.client.token_create(&NewToken { name: name.to_owned(), role, app }).await.unwrap();
        made.token.unwrap()
    }

    /// Starts the shutdown without waiting for it.
    pub fn tell_to_stop(&self) {
        self.stop.cancel();
    }

    /// Waits until the server has stopped, and returns its data directory.
    pub async fn ended(self) -> TempDir {
        self.stop.cancel();
        self.running.await.unwrap().unwrap();
        self.data
    }
}

/// The problem in the response, checked for what all problems have in common.
pub async fn problem(response: Response) -> Problem {
    let status = response.status().as_u16();
    let content_type = response.headers().get("content-type").cloned();
    let text = response.text().await.unwrap();
    assert_eq!(content_type.unwrap(), "application/problem+json", "{status} {text}");
    let problem: Problem = serde_json::from_str(&text).unwrap();
    assert_eq!(problem.status, status, "{text}");
    assert!(!problem.title.is_empty() && !problem.code.is_empty(), "{text}");
    assert!(!problem.detail.ends_with('.') && problem.detail.len() > 10, "not one neutral sentence: {text}");
    assert!(!problem.detail.starts_with(char::is_uppercase), "{text}");
    assert!(!text.contains("`milepost ") && !text.contains("`--"), "words of the command line: {text}");
    assert!(problem.hint.as_ref().is_some_and(|hint| hint.len() > 5), "no next step: {text}");
    problem
}

/// Sends a request that must be refused with this status and code, and returns the problem.
pub async fn refused(request: RequestBuilder, status: u16, code: &str) -> Problem {
    let response = request.send().await.unwrap();
    let answered = response.status().as_u16();
    if response.status().is_success() {
        panic!("{answered}, not refused: {}", response.text().await.unwrap());
    }
    let problem = problem(response).await;
    assert_eq!((problem.status, problem.code.as_str()), (status, code), "{problem:?}");
    problem
}
