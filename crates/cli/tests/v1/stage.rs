//! A server for v1, called over plain HTTP.

use std::io::Write;
use std::path::PathBuf;

use milepost_testkit::cli::{CliEnv, Server};
use milepost_testkit::target_dir;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

pub struct Stage {
    pub env: CliEnv,
    pub server: Server,
    pub token: String,
    http: reqwest::Client,
    runtime: Runtime,
}

impl Stage {
    pub fn new(args: &[&str]) -> Self {
        let mut env = CliEnv::new();
        env.unset("MILEPOST_TEST_SEED");
        env.unset("MILEPOST_TEST_CLOCK");
        let server = env.server_with(args);
        let token = std::fs::read_to_string(env.data_dir().join("admin.token")).unwrap().trim().to_owned();
        // Creating our client installs the TLS provider that reqwest needs.
        milepost_client::Client::new(server.api(), &token).unwrap();
        Self { env, server, token, http: reqwest::Client::new(), runtime: Runtime::new().unwrap() }
    }

    /// A token for one app, which is created if it does not exist.
    pub fn token_of(&self, app: &str, role: &str) -> String {
        self.env.run(&["app", "create", app]);
        let name = format!("{app}-{role}");
        self.cli(&["token", "create", &name, "--role", role, "--only", app, "-o", "json"])["token"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// The unmasked JSON output of a command.
    pub fn cli(&self, args: &[&str]) -> Value {
        let output = self.env.command(args).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{args:?} said:\n{said}"))
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.request_as(&self.token, method, path)
    }

    pub fn request_as(&self, token: &str, method: Method, path: &str) -> RequestBuilder {
        self.bare(method, path).header("x-auth-token", token)
    }

    pub fn bare(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.server.api()))
    }

    /// The status and the body, as JSON if it is.
    pub fn send(&self, request: RequestBuilder) -> (u16, Value) {
        self.runtime.block_on(answer(request))
    }

    /// Sends requests concurrently.
    pub fn send_all(&self, requests: Vec<RequestBuilder>) -> Vec<(u16, Value)> {
        let sent: Vec<_> = requests.into_iter().map(|request| self.runtime.spawn(answer(request))).collect();
        sent.into_iter().map(|sent| self.runtime.block_on(sent).unwrap()).collect()
    }

    pub fn bytes(&self, request: RequestBuilder) -> Vec<u8> {
        self.runtime.block_on(async { request.send().await.unwrap().bytes().await.unwrap().to_vec() })
    }

    /// Sends JSON and expects this status.
    pub fn json(&self, method: Method, path: &str, body: &Value, status: u16) -> Value {
        let (found, answer) = self.send(self.request(method.clone(), path).json(body));
        assert_eq!(found, status, "{method} {path} {body}: {answer}");
        answer
    }

    /// Sends a request that must be refused with this status and exactly this message.
    pub fn refused(&self, request: RequestBuilder, status: u16, words: &str) -> Value {
        let (found, answer) = self.send(request);
        assert_eq!((found, answer["faultstring"].as_str()), (status, Some(words)), "{answer}");
        assert_eq!(answer["faultcode"], "Client");
        assert!(answer.get("debuginfo").is_some_and(Value::is_null), "{answer}");
        answer
    }

    /// Creates a runtime for Python.
    pub fn python(&self) -> String {
        let made = self.json(Method::POST, "/v1/runtimes", &json!({ "image": "python", "name": "py" }), 201);
        made["id"].as_str().unwrap().to_owned()
    }

    /// A multipart form with a package and other fields.
    pub fn form(&self, method: Method, path: &str, zip: Vec<u8>, fields: &[(&str, &str)]) -> RequestBuilder {
        let boundary = "milepost-test-boundary";
        let mut body = Vec::new();
        for (name, value) in fields {
            write!(body, "--{boundary}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n").unwrap();
        }
        let head = "content-disposition: form-data; name=\"package\"; filename=\"package.zip\"\r\n\
                    content-type: application/octet-stream";
        write!(body, "--{boundary}\r\n{head}\r\n\r\n").unwrap();
        body.extend_from_slice(&zip);
        write!(body, "\r\n--{boundary}--\r\n").unwrap();
        let kind = format!("multipart/form-data; boundary={boundary}");
        self.request(method, path).header("content-type", kind).body(body)
    }

    /// Creates a function and returns its id.
    pub fn function(&self, runtime: &str, source: &str) -> String {
        let fields = [("code", r#"{"source": "package"}"#), ("runtime_id", runtime), ("name", "f")];
        let (status, made) = self.send(self.form(Method::POST, "/v1/functions", zip(&[("main.py", source)]), &fields));
        assert_eq!(status, 201, "{made}");
        made["id"].as_str().unwrap().to_owned()
    }

    /// Replaces the code of a function.
    pub fn update(&self, function: &str, source: &str) {
        let path = format!("/v1/functions/{function}");
        let (status, made) = self.send(self.form(Method::PUT, &path, zip(&[("main.py", source)]), &[]));
        assert_eq!(status, 200, "{made}");
    }

    pub fn publish(&self, function: &str) -> i64 {
        let made = self.json(Method::POST, &format!("/v1/functions/{function}/versions"), &json!({}), 201);
        made["version_number"].as_i64().unwrap()
    }
}

async fn answer(request: RequestBuilder) -> (u16, Value) {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let bytes = response.bytes().await.unwrap();
    let text = || Value::String(String::from_utf8_lossy(&bytes).into_owned());
    (status, serde_json::from_slice(&bytes).unwrap_or_else(|_| text()))
}

pub fn zip(files: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, text) in files {
        writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// A Python installation with the interface's original client.
pub fn python_with_client() -> PathBuf {
    let program = target_dir().join("tools/qinling/bin/python");
    assert!(program.is_file(), "python-qinlingclient is not installed; `cargo xtask setup` does it");
    program
}
