//! Requests to web servers that are not trusted: deadlines, bounds, and no way to another host.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::{StreamExt as _, stream};
use milepost_model::Digest;
use milepost_model::digest::Hasher;
use reqwest::header::{HeaderMap, LOCATION};
use reqwest::{Response, StatusCode, Url};

use crate::error::{ArtifactStream, ChannelError};

const CONNECT: Duration = Duration::from_secs(10);
/// The longest silence. There is no limit to a request as a whole: a large artifact takes as long as it takes.
const SILENCE: Duration = Duration::from_secs(30);
const MAX_REDIRECTS: usize = 5;

/// Connections that several sources may share. Clones share them.
#[derive(Debug, Clone)]
pub struct Http {
    client: reqwest::Client,
}

impl Http {
    pub fn new() -> Result<Self, ChannelError> {
        // TLS needs a provider of its primitives; a second call finds one installed, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let built = reqwest::Client::builder()
            .user_agent(concat!("milepost/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .read_timeout(SILENCE)
            .redirect(reqwest::redirect::Policy::none())
            .build();
        let client = built.map_err(|error| ChannelError::Unusable {
            place: "https".to_owned(),
            reason: format!("TLS cannot be set up ({error}); check the certificates of this machine"),
        })?;
        Ok(Self { client })
    }

    pub(crate) fn client(&self) -> &reqwest::Client {
        &self.client
    }

    /// The answer, after redirects within the host. Another host is not asked: whoever installs trusts the one that they named.
    pub(crate) async fn get(&self, url: &Url, headers: &HeaderMap) -> Result<Response, ChannelError> {
        let mut at = url.clone();
        for _ in 0..MAX_REDIRECTS {
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

/// The bytes of an answer, with an error when it ends before its end.
pub(crate) fn body(response: Response, place: String) -> ArtifactStream {
    let mut got = 0;
    let chunks = response.bytes_stream().map(move |chunk| match chunk {
        Ok(chunk) => {
            got += chunk.len() as u64;
            Ok(chunk)
        }
        Err(error) if error.is_timeout() => {
            Err(ChannelError::Unreachable { place: place.clone(), reason: "it fell silent".to_owned() })
        }
        Err(_) => Err(ChannelError::Truncated { place: place.clone(), got }),
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
