//! Runs the steps of a case.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use milepost_testkit::cli::{CliEnv, Server};
use reqwest::header::HOST;
use reqwest::{Client, Method, Response};

use crate::case::{self, Expect, Step};

/// An app on its own server.
struct Stage {
    env: CliEnv,
    server: Server,
    client: Client,
    app: String,
    releases: BTreeMap<String, String>,
}

pub async fn play(name: &str) {
    let mut env = CliEnv::new();
    copy(&case::root().join(name), &env.work_dir());
    let app = name.replace('_', "-");
    env.set("MILEPOST_APP", &app);
    // The real clock: functions are timed, and log lines must be in order.
    env.unset("MILEPOST_TEST_CLOCK");
    let server = env.server();
    // Creating our client installs the TLS provider that reqwest needs.
    milepost_client::Client::new(server.api(), "").unwrap();
    let client = Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let mut stage = Stage { env, server, client, app, releases: BTreeMap::new() };
    for (at, step) in case::steps(name).iter().enumerate() {
        let label =
            format!("{name}, step {} ({})", at + 1, [&step.name, step.request.as_deref().unwrap_or("")].concat());
        stage.step(step, &label).await;
    }
}

impl Stage {
    async fn step(&mut self, step: &Step, label: &str) {
        for (path, text) in &step.write {
            self.env.write_file(path, text);
        }
        if let Some(name) = &step.deploy {
            let output = self.env.run(&["deploy", "-o", "json"]);
            assert_eq!(output.status, Some(0), "{label}: {}", output.stderr);
            let outcome: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
            let release = outcome.pointer("/release/id").and_then(|id| id.as_str());
            self.releases.insert(name.clone(), release.unwrap_or_else(|| panic!("{label}: no release")).to_owned());
        }
        if let Some(line) = &step.run {
            let line = self.filled(line);
            let args: Vec<&str> = line.split(' ').collect();
            let output = self.env.run_with_input(&args, &step.input);
            assert_eq!(output.status, Some(0), "{label}: {}", output.stderr);
        }
        if let Some(request) = &step.request {
            let body = body(step);
            let response = self.send(step, request, body.clone()).await;
            self.check(&step.expect, response, &body, label).await;
        }
    }

    async fn send(&self, step: &Step, request: &str, body: Vec<u8>) -> Response {
        let (method, path) = request.split_once(' ').unwrap();
        let gateway = self.server.gateway().trim_end_matches('/').replace("localhost", "127.0.0.1");
        let prefix = step.host.as_deref().map_or_else(|| self.app.clone(), |host| self.filled(host));
        let mut sent = self
            .client
            .request(Method::from_bytes(method.as_bytes()).unwrap(), format!("{gateway}{}", self.filled(path)))
            .header(HOST, format!("{prefix}.localhost"));
        for (name, value) in &step.headers {
            sent = sent.header(name, self.filled(value));
        }
        if !body.is_empty() {
            sent = sent.body(body);
        }
        sent.send().await.unwrap_or_else(|error| panic!("{request}: {error}"))
    }

    async fn check(&self, expect: &Expect, response: Response, sent: &[u8], label: &str) {
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let body = response.bytes().await.unwrap_or_else(|error| panic!("{label}: {error}"));
        let text = String::from_utf8_lossy(&body);
        let shown: String = text.chars().take(2000).collect();
        assert_eq!(status, expect.status.unwrap_or(200), "{label}: {headers:?}\n{shown}");
        for (name, value) in &expect.headers {
            let found = headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
            assert_eq!(found.unwrap_or_default(), self.filled(value), "{label}: header {name}: {headers:?}");
        }
        for (name, values) in &expect.repeated {
            let found: Vec<_> = headers.get_all(name).iter().map(|value| value.to_str().unwrap()).collect();
            assert_eq!(&found, values, "{label}: header {name}");
        }
        if let Some(wanted) = &expect.body {
            assert_eq!(text, self.filled(wanted), "{label}");
        }
        if let Some(part) = &expect.contains {
            assert!(text.contains(&self.filled(part)), "{label}: {shown}");
        }
        if let Some(wanted) = &expect.json {
            let found: serde_json::Value =
                serde_json::from_slice(&body).unwrap_or_else(|error| panic!("{label}: {error}: {shown}"));
            let wanted: serde_json::Value = serde_json::from_str(&self.filled(&wanted.to_string())).unwrap();
            assert_eq!(found, wanted, "{label}");
        }
        if let Some(length) = expect.length {
            assert_eq!(body.len(), length, "{label}");
        }
        if expect.echo {
            assert!(body == sent, "{label}: the body came back changed, {} bytes of {}", body.len(), sent.len());
        }
    }

    /// Replaces the names of releases and of the app.
    fn filled(&self, text: &str) -> String {
        let text = text.replace("{app}", &self.app);
        self.releases.iter().fold(text, |text, (name, id)| text.replace(&format!("{{{name}}}"), id))
    }
}

fn body(step: &Step) -> Vec<u8> {
    match step.body_bytes {
        Some(size) => (0..size).map(|at| (at % 251) as u8).collect(),
        None => step.body.clone().into_bytes(),
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
