//! The URLs at which releases are served.

use std::net::SocketAddr;

use axum::http::HeaderMap;
use axum::http::header::HOST;
use milepost_model::AppName;
use milepost_model::release::{Live, Release, ReleaseState};
use milepost_model::snapshot::AppVersion;

/// The gateway's public address.
#[derive(Debug, Clone)]
pub(crate) struct Urls {
    scheme: &'static str,
    domain: String,
    /// `None` without a gateway; nothing is served then.
    port: Option<u16>,
}

impl Urls {
    pub(crate) fn new(domain: &str, gateway: Option<SocketAddr>, tls: bool) -> Self {
        let scheme = if tls { "https" } else { "http" };
        Self { scheme, domain: domain.to_owned(), port: gateway.map(|address| address.port()) }
    }

    pub(crate) fn domain(&self) -> &str {
        &self.domain
    }

    pub(crate) fn gateway(&self) -> Option<String> {
        self.port.map(|_| self.of_host(&self.domain))
    }

    pub(crate) fn live(&self, app: &AppName) -> String {
        self.of_host(&format!("{app}.{}", self.domain))
    }

    /// `release` is an id, a tag, `latest` or `live`.
    pub(crate) fn release(&self, app: &AppName, release: &str) -> String {
        self.of_host(&format!("{app}.{release}.{}", self.domain))
    }

    fn of_host(&self, host: &str) -> String {
        match (self.scheme, self.port) {
            ("http", Some(80)) | ("https", Some(443)) | (_, None) => format!("{}://{host}/", self.scheme),
            (scheme, Some(port)) => format!("{scheme}://{host}:{port}/"),
        }
    }
}

/// Returns the host that the client used to reach this server, if the header contains a valid one.
pub(crate) fn reached_host(headers: &HeaderMap) -> Option<&str> {
    let host = headers.get(HOST)?.to_str().ok()?;
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:[]".contains(&byte);
    (!host.is_empty() && host.len() <= 260 && host.bytes().all(fits)).then_some(host)
}

/// Adds URLs to responses that contain releases.
pub(crate) trait WithUrls {
    fn with_urls(self, urls: &Urls, app: &AppName) -> Self;
}

impl WithUrls for Release {
    /// The most relevant URL first: live, the release's own, then its tags.
    fn with_urls(mut self, urls: &Urls, app: &AppName) -> Self {
        if self.state == ReleaseState::Active && urls.port.is_some() {
            self.urls = self.live.then(|| urls.live(app)).into_iter().collect();
            self.urls.push(urls.release(app, &self.id));
            self.urls.extend(self.tags.iter().map(|tag| urls.release(app, tag.as_str())));
        }
        self
    }
}

impl WithUrls for Live {
    fn with_urls(mut self, urls: &Urls, app: &AppName) -> Self {
        self.release = self.release.with_urls(urls, app);
        self
    }
}

impl WithUrls for AppVersion {
    fn with_urls(mut self, urls: &Urls, app: &AppName) -> Self {
        self.release = self.release.with_urls(urls, app);
        self
    }
}

impl<T: WithUrls> WithUrls for Option<T> {
    fn with_urls(self, urls: &Urls, app: &AppName) -> Self {
        self.map(|inner| inner.with_urls(urls, app))
    }
}

impl<T: WithUrls> WithUrls for Vec<T> {
    fn with_urls(self, urls: &Urls, app: &AppName) -> Self {
        self.into_iter().map(|inner| inner.with_urls(urls, app)).collect()
    }
}
