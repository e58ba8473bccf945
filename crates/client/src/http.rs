//! Sends requests and decodes responses. The only place that sets up reqwest.

use std::net::IpAddr;
use std::time::Duration;

use reqwest::{Method, RequestBuilder, Response, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::api::Problem;
use crate::error::ClientError;

/// Without this, connecting to a host that drops packets would take minutes.
const CONNECT: Duration = Duration::from_secs(10);

/// The server gives up after a minute, so waiting longer is useless.
const TIME_LIMIT: Duration = Duration::from_secs(90);
/// Longer than the server takes to load the functions of a release.
pub(crate) const CHECK_LIMIT: Duration = Duration::from_secs(10 * 60);
/// For requests that carry files or streams, which take as long as their bytes need.
pub(crate) const NO_LIMIT: Duration = Duration::from_secs(24 * 3600);

/// A server and a token for it. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
    token: String,
}

/// Whether the server is on this machine and without TLS.
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
        // TLS needs a crypto provider. The call fails if one is already installed, which is just as
        // good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut http = reqwest::Client::builder()
            .user_agent(concat!("milepost/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT);
        if is_plain_and_here(&base) {
            // Loading the system's certificates, which are not needed here, would take a fifth of a
            // command's time.
            http = http.tls_certs_only([]);
        }
        let http = http.build().map_err(ClientError::Broken)?;
        Ok(Self { http, base, token: token.to_owned() })
    }

    /// For requests to the server outside of the API.
    pub fn token(&self) -> &str {
        &self.token
    }

    pub fn server(&self) -> &Url {
        &self.base
    }

    /// Builds a request for a path given as segments. Each is encoded here, since names may contain
    /// slashes and spaces.
    pub(crate) fn request(&self, method: Method, parts: &[&str]) -> RequestBuilder {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(parts);
        }
        self.http.request(method, url).bearer_auth(&self.token).timeout(TIME_LIMIT)
    }

    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Response, ClientError> {
        let request = request.build().map_err(ClientError::Broken)?;
        // An empty name would change the path.
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
            // Reports the JSON path on a shape mismatch. A non-JSON body is not from a Milepost
            // server.
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

/// Shortens an invalid response body for an error message; a whole page would not help.
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
    fn invalid_responses_are_shortened() {
        assert_eq!(in_short(b" \n"), "nothing");
        assert_eq!(in_short(b"<!DOCTYPE html>\n<p>404"), "a page for a browser");
        assert_eq!(in_short(b"upstream is down\nsecond line"), "upstream is down");
        assert_eq!(in_short("x".repeat(5000).as_bytes()).chars().count(), 81);
    }
}
