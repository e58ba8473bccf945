//! How a registry authenticates clients: not at all, by name and password, or by a token from a
//! separate token server.

use std::collections::BTreeMap;
use std::fmt;

use data_encoding::BASE64;
use reqwest::header::{HeaderMap, WWW_AUTHENTICATE};
use serde::Deserialize;

/// Credentials for one registry.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The host as written in repositories: `registry.example.com`, `localhost:5000`.
    pub host: String,
    pub user: String,
    pub password: String,
}

/// The challenge in a 401 response.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    Basic,
    Bearer { realm: String, service: Option<String>, scope: Option<String> },
}

impl Credentials {
    /// Reads the credentials stored by `docker login` and `skopeo login`. Skips those that only a
    /// credential helper knows.
    pub fn from_docker_config(json: &str) -> Vec<Self> {
        #[derive(Deserialize)]
        struct Config {
            #[serde(default)]
            auths: BTreeMap<String, Auth>,
        }
        #[derive(Deserialize)]
        struct Auth {
            auth: Option<String>,
        }
        let Ok(config) = serde_json::from_str::<Config>(json) else { return Vec::new() };
        let read = config.auths.into_iter().filter_map(|(host, auth)| {
            let decoded = BASE64.decode(auth.auth?.as_bytes()).ok()?;
            let text = String::from_utf8(decoded).ok()?;
            let (user, password) = text.split_once(':')?;
            let host = host.trim_start_matches("https://").trim_start_matches("http://").split('/').next()?;
            // `docker login` stores Docker Hub under an address that is never used in repository
            // names.
            let is_hub = matches!(host, "index.docker.io" | "registry-1.docker.io");
            let host = if is_hub { "docker.io" } else { host }.to_owned();
            Some(Self { host, user: user.to_owned(), password: password.to_owned() })
        });
        read.collect()
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("host", &self.host).field("user", &self.user).finish_non_exhaustive()
    }
}

pub(super) fn challenge(headers: &HeaderMap) -> Option<Challenge> {
    let values = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
    values.filter_map(parse).next()
}

fn parse(value: &str) -> Option<Challenge> {
    let (scheme, rest) = value.trim().split_once(' ').unwrap_or((value.trim(), ""));
    if scheme.eq_ignore_ascii_case("basic") {
        return Some(Challenge::Basic);
    }
    if !scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    let mut parameters = parameters(rest);
    let realm = parameters.remove("realm")?;
    Some(Challenge::Bearer { realm, service: parameters.remove("service"), scope: parameters.remove("scope") })
}

/// Parses `key="value",key="value"`. Commas within quotes belong to the value.
fn parameters(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut rest = text.trim();
    while let Some((key, after)) = rest.split_once('=') {
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => after.split_once(',').unwrap_or((after, "")),
        };
        found.insert(key.trim().trim_start_matches(',').trim().to_ascii_lowercase(), value.to_owned());
        rest = after.trim_start().trim_start_matches(',');
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_challenges_with_commas_in_the_scope() {
        let asked =
            "Bearer realm=\"https://auth.example.com/token\",service=\"reg\",scope=\"repository:a/b:pull,push\"";
        let Some(Challenge::Bearer { realm, service, scope }) = parse(asked) else { panic!("not read") };
        assert_eq!(realm, "https://auth.example.com/token");
        assert_eq!(service.as_deref(), Some("reg"));
        assert_eq!(scope.as_deref(), Some("repository:a/b:pull,push"));
        assert_eq!(parse("Basic realm=\"x\""), Some(Challenge::Basic));
        assert_eq!(parse("Negotiate"), None);
    }

    #[test]
    fn reads_docker_credentials() {
        let json = r#"{"auths": {"https://reg.example.com/v1/": {"auth": "bWU6YTpi"}, "helped.example.com": {}}}"#;
        let read = Credentials::from_docker_config(json);
        assert_eq!(read.len(), 1);
        assert_eq!(
            (read[0].host.as_str(), read[0].user.as_str(), read[0].password.as_str()),
            ("reg.example.com", "me", "a:b")
        );
        assert!(!format!("{read:?}").contains("a:b"));
        let hub =
            Credentials::from_docker_config(r#"{"auths": {"https://index.docker.io/v1/": {"auth": "bWU6YTpi"}}}"#);
        assert_eq!(hub[0].host, "docker.io");
    }
}
