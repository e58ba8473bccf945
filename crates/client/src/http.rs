//! Requests and answers: one place that knows reqwest.

use std::net::IpAddr;
use std::time::Duration;

use reqwest::{Method, RequestBuilder, Response, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::api::Problem;
use crate::error::ClientError;

/// A machine that drops packets would otherwise be waited for over minutes.
const CONNECT: Duration = Duration::from_secs(10);

/// The server itself gives up after a minute; a client that waits longer waits for nobody.
const TIME_LIMIT: Duration = Duration::from_secs(90);
/// For requests that carry files: as long as the bytes take.
/// Longer than the server takes to load the functions of a release.
pub(crate) const CHECK_LIMIT: Duration = Duration::from_secs(10 * 60);
pub(crate) const NO_LIMIT: Duration = Duration::from_secs(24 * 3600);

/// A server, and a token for it. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
    token: String,
}

/// The server of this machine, without TLS.
fn is_plain_and_here(server: &Url) -> bool {
    let host = server.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let here = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    server.scheme() == "http" && here
}

impl Client {
    pub fn new(server: &str, token: &str) -> Result<Self, ClientError> {
        let wrong = || ClientError::Address(server.to_owned());
        let mut base: Url = server.parse().map_err(|_| wrong())?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(wrong());
        }
        base.set_path("/api/v1/");
        base.set_query(None);
        base.set_fragment(None);
        // TLS needs a provider of its primitives; a second call finds one installed, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut http = reqwest::Client::builder()
            .user_agent(concat!("milepost/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT);
        if is_plain_and_here(&base) {
            // To read the system's certificates, which nobody asks for, would be a fifth of what a command takes.
            http = http.tls_certs_only([]);
        }
        let http = http.build().map_err(ClientError::Broken)?;
        Ok(Self { http, base, token: token.to_owned() })
    }

    /// For what is asked of the server outside of the API.
    pub fn token(&self) -> &str {
        &self.token
    }

    pub fn server(&self) -> &Url {
        &self.base
    }

    /// A request for a path given as its parts, each encoded here: names may hold slashes and spaces.
    pub(crate) fn request(&self, method: Method, parts: &[&str]) -> RequestBuilder {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(parts);
        }
        self.http.request(method, url).bearer_auth(&self.token).timeout(TIME_LIMIT)
    }

    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Response, ClientError> {
        let request = request.build().map_err(ClientError::Broken)?;
        // A name that is empty would make another path of it.
        if request.url().path().contains("//") || request.url().path().ends_with('/') {
            return Err(ClientError::EmptyName);
        }
        let response = self.http.execute(request).await.map_err(|error| {
            if error.is_connect() {
                ClientError::Unreachable { url: self.base.origin().ascii_serialization(), source: error }
            } else {
                ClientError::Broken(error)
            }
        })?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status().as_u16();
        let bytes = response.bytes().await.map_err(ClientError::Broken)?;
        match serde_json::from_slice::<Problem>(&bytes) {
            Ok(problem) => Err(ClientError::Refused(Box::new(problem))),
            Err(_) => Err(ClientError::Protocol { status, what: in_short(&bytes) }),
        }
    }

    pub(crate) async fn json<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, ClientError> {
        let response = self.send(request).await?;
        let status = response.status().as_u16();
        let bytes = response.bytes().await.map_err(ClientError::Broken)?;
        serde_json::from_slice(&bytes).map_err(|error| {
            // What is JSON, but another than expected, is told by its place; what is none is not ours.
            let what = if error.is_data() { error.to_string() } else { in_short(&bytes) };
            ClientError::Protocol { status, what }
        })
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, parts: &[&str]) -> Result<T, ClientError> {
        self.json(self.request(Method::GET, parts)).await
    }

    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        parts: &[&str],
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        self.json(self.request(Method::POST, parts).json(body)).await
    }

    pub(crate) async fn put<T: DeserializeOwned>(
        &self,
        parts: &[&str],
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        self.json(self.request(Method::PUT, parts).json(body)).await
    }

    pub(crate) async fn delete(&self, parts: &[&str]) -> Result<(), ClientError> {
        self.send(self.request(Method::DELETE, parts)).await.map(drop)
    }
}

/// What came instead of an answer: a whole page helps nobody.
fn in_short(body: &[u8]) -> String {
    const MOST: usize = 80;
    let text = String::from_utf8_lossy(body);
    let text = text.trim();
    if text.is_empty() {
        return "nothing".to_owned();
    }
    if text.starts_with('<') {
        return "a page for a browser".to_owned();
    }
    let line: String = text.lines().next().unwrap_or_default().chars().filter(|letter| !letter.is_control()).collect();
    if line.chars().count() > MOST { format!("{}…", line.chars().take(MOST).collect::<String>()) } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_answer_is_told_in_a_few_words() {
        assert_eq!(in_short(b" \n"), "nothing");
        assert_eq!(in_short(b"<!DOCTYPE html>\n<p>404"), "a page for a browser");
        assert_eq!(in_short(b"upstream is down\nsecond line"), "upstream is down");
        assert_eq!(in_short("x".repeat(5000).as_bytes()).chars().count(), 81);
    }
}
