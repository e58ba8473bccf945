//! Requests to untrusted web servers: deadlines, size limits, and no redirects to other hosts.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::{StreamExt as _, stream};
use milepost_model::Digest;
use milepost_model::digest::Hasher;
use reqwest::header::{HeaderMap, LOCATION};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use tokio::time::Instant;

use crate::error::{ArtifactStream, ChannelError};
use crate::pace::{Pace, SLOWEST};
use crate::reach::{self, Reach, Resolver};

const MAX_REDIRECTS: usize = 5;

/// A connection pool that several sources may share. Clones share it.
#[derive(Debug, Clone)]
pub struct Http {
    client: reqwest::Client,
    /// For requests with a body: the read timeout of `client` would also run while a body is being
    /// sent.
    sender: reqwest::Client,
    deadlines: Deadlines,
    reach: Reach,
}

/// Time limits for servers.
#[derive(Debug, Clone, Copy)]
pub struct Deadlines {
    pub connect: Duration,
    /// The longest silence while a response is read. There is no limit for a whole request: a large
    /// artifact takes as long as it needs, if it keeps the [pace](Pace).
    pub silence: Duration,
    /// For the response to a request with a body, in addition to the time for the body at the
    /// slowest pace.
    pub answer: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        // A server may copy an artifact to its own storage before it responds.
        let (connect, silence, answer) = (10, 30, 300);
        let [connect, silence, answer] = [connect, silence, answer].map(Duration::from_secs);
        Self { connect, silence, answer }
    }
}

impl Http {
    pub fn new() -> Result<Self, ChannelError> {
        Self::with(Deadlines::default())
    }

    pub fn with(deadlines: Deadlines) -> Result<Self, ChannelError> {
        Self::build(deadlines, Reach::Any)
    }

    /// For users who may not reach every host that this machine does.
    pub fn within(reach: Reach) -> Result<Self, ChannelError> {
        Self::build(Deadlines::default(), reach)
    }

    fn build(deadlines: Deadlines, reach: Reach) -> Result<Self, ChannelError> {
        // TLS needs a crypto provider. Fails if one is installed already, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = || {
            reqwest::Client::builder()
                .user_agent(concat!("milepost/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(deadlines.connect)
                .dns_resolver(Arc::new(Resolver::new(reach.clone())))
                .redirect(reqwest::redirect::Policy::none())
        };
        let unusable = |error| ChannelError::Unusable {
            place: "https".to_owned(),
            reason: format!("TLS cannot be set up ({error}); check the certificates of this machine"),
        };
        let client = builder().read_timeout(deadlines.silence).build().map_err(unusable)?;
        let sender = builder().build().map_err(unusable)?;
        Ok(Self { client, sender, deadlines, reach })
    }

    pub(crate) fn reach(&self) -> &Reach {
        &self.reach
    }

    /// Starts a request with a body of at most `size` bytes.
    pub(crate) fn sending(&self, method: Method, url: Url, size: u64) -> RequestBuilder {
        let deadline = self.deadlines.answer.saturating_add(Duration::from_secs(size / SLOWEST));
        self.sender.request(method, url).timeout(deadline)
    }

    pub(crate) fn client(&self) -> &reqwest::Client {
        &self.client
    }

    /// Sends a GET and follows redirects within the host. Other hosts are not contacted: the
    /// operator trusts only the host that they named.
    pub(crate) async fn get(&self, url: &Url, headers: &HeaderMap) -> Result<Response, ChannelError> {
        let mut at = url.clone();
        for _ in 0..MAX_REDIRECTS {
            if let Some(reason) = self.reach.refuses(&at) {
                return Err(ChannelError::Unusable { place: shown(&at), reason: reason.to_owned() });
            }
            let sent = self.client.get(at.clone()).headers(headers.clone()).send().await;
            let response = sent.map_err(|error| unreachable(&at, &error))?;
            let Some(to) = redirect(&at, &response) else { return Ok(response) };
            if !same_host(&at, &to) {
                return Err(ChannelError::Redirect { from: shown(&at), to: shown(&to) });
            }
            at = to;
        }
        let reason = format!("it redirects more than {MAX_REDIRECTS} times; give the address where it ends");
        Err(ChannelError::Unusable { place: shown(url), reason })
    }
}

/// The target of a redirect; `None` for any other response.
pub(crate) fn redirect(from: &Url, response: &Response) -> Option<Url> {
    if !response.status().is_redirection() || response.status() == StatusCode::NOT_MODIFIED {
        return None;
    }
    from.join(response.headers().get(LOCATION)?.to_str().ok()?).ok()
}

/// The same host and port, or the same host over TLS.
fn same_host(from: &Url, to: &Url) -> bool {
    from.origin() == to.origin()
        || from.host() == to.host() && (from.scheme(), to.scheme()) == ("http", "https") && to.port().is_none()
}

/// The URL of a file below an address.
pub(crate) fn url_of(base: &Url, file: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}/{file}", base.path().trim_end_matches('/')));
    url
}

/// Whether this is an address of this machine, in any notation.
pub(crate) fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    let Ok(address) = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() else {
        return host == "localhost" || host.ends_with(".localhost");
    };
    let address = address.to_canonical();
    address.is_loopback() || address.is_unspecified()
}

/// A URL without its secrets.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

pub(crate) fn unreachable(url: &Url, error: &reqwest::Error) -> ChannelError {
    if let Some(reason) = reach::refusal_in(error) {
        return ChannelError::Unusable { place: shown(url), reason: reason.to_owned() };
    }
    ChannelError::Unreachable { place: shown(url), reason: root_cause(error) }
}

/// The innermost cause has the details; the outer ones are generic.
pub(crate) fn root_cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "it took too long".to_owned();
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// The bytes of a response. Fails if it ends early or is too slow.
pub(crate) fn body(response: Response, place: String) -> ArtifactStream {
    let start = (response.bytes_stream().boxed(), Pace::default(), 0_u64, place);
    let chunks = stream::try_unfold(start, |(mut bytes, mut pace, got, place)| async move {
        let asked = Instant::now();
        match bytes.next().await {
            None => Ok(None),
            Some(Ok(chunk)) => {
                // Only the time spent waiting counts, not that of a slow reader.
                if !pace.keeps_up(asked.elapsed(), chunk.len() as u64) {
                    let reason = format!("it sends less than {SLOWEST} bytes a second");
                    return Err(ChannelError::Unreachable { place, reason });
                }
                let got = got + chunk.len() as u64;
                Ok(Some((chunk, (bytes, pace, got, place))))
            }
            Some(Err(error)) if error.is_timeout() => {
                Err(ChannelError::Unreachable { place, reason: "it fell silent".to_owned() })
            }
            Some(Err(_)) => Err(ChannelError::Truncated { place, got }),
        }
    });
    chunks.boxed()
}

/// Reads a small response into memory.
pub(crate) async fn whole(response: Response, place: String, limit: u64) -> Result<Bytes, ChannelError> {
    let too_large = |place: &str| ChannelError::TooLarge { place: place.to_owned(), limit };
    if response.content_length().is_some_and(|length| length > limit) {
        return Err(too_large(&place));
    }
    let mut chunks = body(response, place.clone());
    let mut bytes = BytesMut::new();
    while let Some(chunk) = chunks.next().await {
        bytes.extend_from_slice(&chunk?);
        if bytes.len() as u64 > limit {
            return Err(too_large(&place));
        }
    }
    Ok(bytes.freeze())
}

/// Passes bytes through, and fails at the end if they do not match the digest.
pub(crate) fn verified(bytes: ArtifactStream, place: String, expected: Digest, limit: u64) -> ArtifactStream {
    let start = Some((bytes, Hasher::default(), 0_u64, place));
    let checked = stream::try_unfold(start, move |state| async move {
        let Some((mut bytes, mut hasher, size, place)) = state else { return Ok(None) };
        match bytes.next().await {
            Some(chunk) => {
                let chunk = chunk?;
                let size = size + chunk.len() as u64;
                if size > limit {
                    return Err(ChannelError::TooLarge { place, limit });
                }
                hasher.update(&chunk);
                Ok(Some((chunk, Some((bytes, hasher, size, place)))))
            }
            None => match hasher.finish() {
                found if found == expected => Ok(None),
                found => Err(ChannelError::DigestMismatch { place, expected, found }),
            },
        }
    });
    checked.boxed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upload_deadline_depends_on_the_size() {
        let http = Http::new().expect("a client");
        let url: Url = "https://example.com/".parse().expect("an address");
        let request = http.sending(Method::PUT, url, SLOWEST * 100).build().expect("a request");
        assert_eq!(request.timeout().copied(), Some(Deadlines::default().answer + Duration::from_secs(100)));
    }

    #[test]
    fn recognises_local_addresses_in_any_notation() {
        let is_local = |host: &str| is_local(&format!("https://{host}:5000/").parse().expect(host));
        for here in ["localhost", "LOCALHOST", "localhost.", "a.localhost", "127.1", "0x7f000001", "0", "[::1]", "[::]"]
        {
            assert!(is_local(here), "{here} is elsewhere");
        }
        assert!(is_local("[::ffff:127.0.0.1]"));
        for elsewhere in ["example.com", "notlocalhost", "localhost.example.com", "10.0.0.1", "[2001:db8::1]"] {
            assert!(!is_local(elsewhere), "{elsewhere} is here");
        }
    }
}
