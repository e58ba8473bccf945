//! Requests to web servers that are not trusted: deadlines, bounds, and no way to another host.

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

/// Connections that several sources may share. Clones share them.
#[derive(Debug, Clone)]
pub struct Http {
    client: reqwest::Client,
    /// For requests with a body. The longest silence of the other one also runs while a body is on its way.
    sender: reqwest::Client,
    deadlines: Deadlines,
    reach: Reach,
}

/// How long others may take.
#[derive(Debug, Clone, Copy)]
pub struct Deadlines {
    pub connect: Duration,
    /// The longest silence while something is read. There is no limit to a request as a whole: a large artifact takes as long
    /// as it takes, if it keeps the [pace](Pace).
    pub silence: Duration,
    /// For the answer to a request with a body, on top of the time that the body may take at the slowest pace.
    pub answer: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        // A server may bring an artifact to its own store before it answers.
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

    /// For those who may not reach every host that this machine does.
    pub fn within(reach: Reach) -> Result<Self, ChannelError> {
        Self::build(Deadlines::default(), reach)
    }

    fn build(deadlines: Deadlines, reach: Reach) -> Result<Self, ChannelError> {
        // TLS needs a provider of its primitives; a second call finds one installed, which is as good.
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

    /// A request that will have a body of at most `size` bytes.
    pub(crate) fn sending(&self, method: Method, url: Url, size: u64) -> RequestBuilder {
        let deadline = self.deadlines.answer.saturating_add(Duration::from_secs(size / SLOWEST));
        self.sender.request(method, url).timeout(deadline)
    }

    pub(crate) fn client(&self) -> &reqwest::Client {
        &self.client
    }

    /// The answer, after redirects within the host. Another host is not asked: whoever installs trusts the one that they named.
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

/// Where a redirect leads; nothing for every other answer.
pub(crate) fn redirect(from: &Url, response: &Response) -> Option<Url> {
    if !response.status().is_redirection() || response.status() == StatusCode::NOT_MODIFIED {
        return None;
    }
    from.join(response.headers().get(LOCATION)?.to_str().ok()?).ok()
}

/// The same host and port, or its encrypted form.
fn same_host(from: &Url, to: &Url) -> bool {
    from.origin() == to.origin()
        || from.host() == to.host() && (from.scheme(), to.scheme()) == ("http", "https") && to.port().is_none()
}

/// A file below an address.
pub(crate) fn url_of(base: &Url, file: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}/{file}", base.path().trim_end_matches('/')));
    url
}

/// Whether this is an address of this machine, however it is written.
pub(crate) fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    let Ok(address) = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() else {
        return host == "localhost" || host.ends_with(".localhost");
    };
    let address = address.to_canonical();
    address.is_loopback() || address.is_unspecified()
}

/// An address without what is secret in it.
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

/// The innermost cause says what happened; those around it say that something did.
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

/// The bytes of an answer, with an error when it ends before its end, or would take for ever.
pub(crate) fn body(response: Response, place: String) -> ArtifactStream {
    let start = (response.bytes_stream().boxed(), Pace::default(), 0_u64, place);
    let chunks = stream::try_unfold(start, |(mut bytes, mut pace, got, place)| async move {
        let asked = Instant::now();
        match bytes.next().await {
            None => Ok(None),
            Some(Ok(chunk)) => {
                // Only waiting counts: whoever reads this may take their time.
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

/// A small answer in memory.
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

/// Lets bytes pass and says at the end whether they were the right ones.
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
    fn a_request_with_a_body_has_a_deadline_by_its_size() {
        let http = Http::new().expect("a client");
        let url: Url = "https://example.com/".parse().expect("an address");
        let request = http.sending(Method::PUT, url, SLOWEST * 100).build().expect("a request");
        assert_eq!(request.timeout().copied(), Some(Deadlines::default().answer + Duration::from_secs(100)));
    }

    #[test]
    fn this_machine_is_recognised_however_it_is_written() {
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
