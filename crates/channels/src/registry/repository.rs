//! Requests to one repository of a registry.

use std::sync::Mutex;

use milepost_model::channel::PackageName;
use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use serde::Deserialize;

use super::auth::{Challenge, Credentials, challenge};
use super::error::RegistryError;
use crate::error::ChannelError;
use crate::http::{Http, is_local, root_cause, whole};
use crate::reach;

const MAX_ANSWER: u64 = 64 << 10;
/// The size of an upload chunk, which is held in memory. Smaller artifacts are sent whole.
pub(super) const CHUNK: u64 = 16 << 20;

/// A repository, `host/path`. Hosts on this machine are contacted without TLS.
#[derive(Debug)]
pub struct Registry {
    base: Url,
    host: String,
    path: String,
    pub(super) http: Http,
    credentials: Option<Credentials>,
    /// The authorization that the registry accepted last.
    authorization: Mutex<Option<HeaderValue>>,
}

impl Registry {
    /// Makes no requests. Uses the credentials of the repository's host, if there are any.
    pub fn open(repository: &str, credentials: &[Credentials], http: Option<Http>) -> Result<Self, ChannelError> {
        let (base, host, path) = parse(repository)?;
        let http = http.map_or_else(Http::new, Ok)?;
        // As it is written: `docker.io` is elsewhere.
        let named: Url = format!("{}://{host}/", base.scheme()).parse().unwrap_or_else(|_| base.clone());
        if let Some(reason) = http.reach().refuses_place(&named).or_else(|| http.reach().refuses(&base)) {
            return Err(ChannelError::Unusable { place: host, reason: reason.to_owned() });
        }
        let credentials = credentials.iter().find(|known| known.host == host).cloned();
        Ok(Self { base, host, path, http, credentials, authorization: Mutex::new(None) })
    }

    /// `host/path`, as it is written in an entry.
    pub fn shown(&self) -> String {
        format!("{}/{}", self.host, self.path)
    }

    /// Whether the registry runs on this machine.
    pub(crate) fn is_local(&self) -> bool {
        is_local(&self.base)
    }

    pub(super) fn host(&self) -> String {
        self.host.clone()
    }

    /// The URL of a path in the repository, like `blobs/sha256:…`.
    pub(super) fn url(&self, tail: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("/v2/{}/{tail}", self.path));
        url
    }

    /// The URL for the next request of an upload.
    pub(super) fn location(&self, response: &Response) -> Option<Url> {
        let text = response.headers().get(reqwest::header::LOCATION)?.to_str().ok()?;
        response.url().join(text).ok()
    }

    /// Sends a request, and repeats it with authorization if the registry asks for it.
    pub(super) async fn send(
        &self,
        method: Method,
        url: &Url,
        fill: impl Fn(RequestBuilder) -> RequestBuilder,
    ) -> Result<Response, RegistryError> {
        if let Some(reason) = self.http.reach().refuses(url) {
            return Err(RegistryError::OutOfReach { registry: self.host(), reason });
        }
        let build = || {
            let mut request = match method {
                Method::PUT | Method::PATCH => self.http.sending(method.clone(), url.clone(), CHUNK),
                _ => self.http.client().request(method.clone(), url.clone()),
            };
            // Only the registry itself gets the credentials.
            if url.origin() == self.base.origin()
                && let Some(value) = self.remembered()
            {
                request = request.header(AUTHORIZATION, value);
            }
            fill(request)
        };
        let response = build().send().await.map_err(|error| self.unreachable(&error))?;
        if response.status() != StatusCode::UNAUTHORIZED || url.origin() != self.base.origin() {
            return Ok(response);
        }
        let Some(challenge) = challenge(response.headers()) else { return Err(RegistryError::LogIn(self.host())) };
        let authorization = self.authorize(challenge).await?;
        *self.authorization.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(authorization);
        let response = build().send().await.map_err(|error| self.unreachable(&error))?;
        match response.status() {
            StatusCode::UNAUTHORIZED if self.credentials.is_none() => Err(RegistryError::LogIn(self.host())),
            StatusCode::UNAUTHORIZED => Err(RegistryError::Denied(self.host())),
            _ => Ok(response),
        }
    }

    fn remembered(&self) -> Option<HeaderValue> {
        self.authorization.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    async fn authorize(&self, challenge: Challenge) -> Result<HeaderValue, RegistryError> {
        let value = match (challenge, &self.credentials) {
            (Challenge::Basic, None) => return Err(RegistryError::LogIn(self.host())),
            (Challenge::Basic, Some(known)) => {
                let both = format!("{}:{}", known.user, known.password);
                format!("Basic {}", data_encoding::BASE64.encode(both.as_bytes()))
            }
            (Challenge::Bearer { realm, service, scope }, known) => {
                let token = self.token(&realm, service.as_deref(), scope.as_deref(), known.as_ref()).await?;
                format!("Bearer {token}")
            }
        };
        let mut value = HeaderValue::from_str(&value).map_err(|_| RegistryError::Denied(self.host()))?;
        value.set_sensitive(true);
        Ok(value)
    }

    async fn token(
        &self,
        realm: &str,
        service: Option<&str>,
        scope: Option<&str>,
        known: Option<&Credentials>,
    ) -> Result<String, RegistryError> {
        #[derive(Deserialize)]
        struct Token {
            token: Option<String>,
            access_token: Option<String>,
        }
        let denied = || match known {
            None => RegistryError::LogIn(self.host()),
            Some(_) => RegistryError::Denied(self.host()),
        };
        let realm: Url = realm.parse().map_err(|_| denied())?;
        // Passwords are sent over TLS only, and only a local registry may redirect to a local token
        // server.
        let (encrypted, here) = (realm.scheme() == "https", is_local(&realm));
        if !encrypted && !here || here && !self.is_local() {
            return Err(RegistryError::Refused {
                registry: self.host(),
                doing: "the request",
                status: StatusCode::UNAUTHORIZED.as_u16(),
                detail: String::new(),
                hint: "it sends us for a token to an address without TLS or on this machine, which is not followed",
            });
        }
        if let Some(reason) = self.http.reach().refuses(&realm) {
            return Err(RegistryError::OutOfReach { registry: self.host(), reason });
        }
        let query = [("service", service), ("scope", scope)];
        let query: Vec<_> = query.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        let mut request = self.http.client().get(realm).query(&query);
        if let Some(known) = known {
            request = request.basic_auth(&known.user, Some(&known.password));
        }
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        let broken = |reason| RegistryError::Unreachable { registry: self.host(), reason };
        match response.status().as_u16() {
            200..300 => {}
            status @ (408 | 425 | 429 | 500..) => {
                return Err(broken(format!("its token server answers with status {status}")));
            }
            _ => return Err(denied()),
        }
        let bytes = whole(response, self.host(), MAX_ANSWER).await.map_err(|error| match error {
            error if error.is_transient() => broken(format!("its token server was cut off: {error}")),
            _ => denied(),
        })?;
        let token: Token = serde_json::from_slice(&bytes).map_err(|_| denied())?;
        token.token.or(token.access_token).ok_or_else(denied)
    }

    pub(super) fn unreachable(&self, error: &reqwest::Error) -> RegistryError {
        if let Some(reason) = reach::refusal_in(error) {
            return RegistryError::OutOfReach { registry: self.host(), reason };
        }
        RegistryError::Unreachable { registry: self.host(), reason: root_cause(error) }
    }

    /// Turns an unexpected response into an error, with the registry's error code.
    pub(super) async fn refused(&self, doing: &'static str, response: Response) -> RegistryError {
        #[derive(Deserialize)]
        struct Errors {
            errors: Vec<One>,
        }
        #[derive(Deserialize)]
        struct One {
            code: String,
        }
        let status = response.status();
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return RegistryError::Denied(self.host());
        }
        let bytes = whole(response, self.host(), MAX_ANSWER).await.unwrap_or_default();
        let errors = serde_json::from_slice::<Errors>(&bytes).map(|read| read.errors).unwrap_or_default();
        let code =
            errors.first().map(|one| one.code.chars().filter(char::is_ascii_graphic).take(40).collect::<String>());
        let detail = code.map(|code| format!(" ({code})")).unwrap_or_default();
        let hint = match status.as_u16() {
            404 => "check the repository's name, and whether it must be made first",
            413 => "the artifact is too large for it",
            429 | 500.. => "try again later",
            _ => "its log has the cause",
        };
        RegistryError::Refused { registry: self.host(), doing, status: status.as_u16(), detail, hint }
    }
}

/// Accepts only the exact form, because repositories come from indexes of untrusted authors.
fn parse(repository: &str) -> Result<(Url, String, String), RegistryError> {
    let wrong =
        || RegistryError::NotARepository(repository.chars().filter(|letter| !letter.is_control()).take(100).collect());
    let (host, path) = repository.split_once('/').ok_or_else(wrong)?;
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':' | b'[' | b']');
    let is_host = host.contains(['.', ':']) || name == "localhost";
    if host.is_empty() || !is_host || !host.bytes().all(letters) || path.parse::<PackageName>().is_err() {
        return Err(wrong());
    }
    let scheme = if is_here(name) { "http" } else { "https" };
    // Docker Hub's API is on another host than its name.
    let server = if host == "docker.io" { "registry-1.docker.io" } else { host };
    let base: Url = format!("{scheme}://{server}/").parse().map_err(|_| wrong())?;
    Ok((base, host.to_owned(), path.to_owned()))
}

fn is_here(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn remote_registry_cannot_name_a_local_or_unencrypted_token_server() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let here = listener.local_addr().expect("an address");
        let registry = Registry::open("registry.example.com/team/shop", &[], None).expect("opened");
        for realm in [format!("http://{here}/"), format!("https://{here}/"), "http://auth.example.com/".to_owned()] {
            let asked = Challenge::Bearer { realm: realm.clone(), service: None, scope: None };
            let error = registry.authorize(asked).await.expect_err("not followed");
            assert!(error.to_string().contains("not followed") && !error.is_transient(), "{realm}: {error}");
        }
        let came = tokio::time::timeout(std::time::Duration::from_millis(50), listener.accept()).await;
        assert!(came.is_err(), "a connection arrived");
    }

    #[test]
    fn repository_is_exactly_a_host_and_a_path() {
        let (base, host, path) = parse("registry.example.com:5000/team/shop").expect("read");
        assert_eq!(
            (base.as_str(), host.as_str(), path.as_str()),
            ("https://registry.example.com:5000/", "registry.example.com:5000", "team/shop")
        );
        assert_eq!(parse("localhost:5000/shop").expect("read").0.scheme(), "http");
        for bad in [
            "shop",
            "team/shop",
            "host.com/",
            "host.com/../x",
            "host.com/a?b",
            "me:pw@host.com/a",
            "https://host.com/a",
            "/a/b",
            "host.com/A",
        ] {
            assert!(parse(bad).is_err(), "{bad} was accepted");
        }
    }
}
