//! The settings a server starts with. The binary reads flags, environment variables and files.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use milepost_model::{Clock, IdSource, OsIds, SystemClock};

#[derive(Clone)]
pub struct Settings {
    /// Holds the database, blobs, keys and the admin token unless configured otherwise.
    pub data: PathBuf,
    pub api: SocketAddr,
    /// Idle timeout of API connections. An incomplete request head counts as idle.
    pub rest: Duration,
    /// Maximum connections of the gateway. Defaults to what the open-file limit has room for.
    pub connections: Option<usize>,
    /// Maximum connections of the API, with the same default. A quarter of them may be without a
    /// valid token.
    pub api_connections: Option<usize>,
    /// Address that serves apps. `None` for a server without a gateway.
    pub gateway: Option<SocketAddr>,
    /// Apps are served at `{app}.{domain}`.
    pub domain: String,
    /// Certificate and key of the gateway, as PEM files.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// This program. It is started again as the sandbox of workers.
    pub program: PathBuf,
    /// If false, functions run with resource limits only.
    pub sandbox: bool,
    /// Warm interpreters of each kind that wait for a function. `None` uses the runtime's default.
    pub spares: Option<usize>,
    pub builds: BuildSettings,
    /// Queued executions that run concurrently on this server. With 0, it still accepts executions
    /// but runs only those that a client waits for, and fires no jobs or timers.
    pub executions: usize,
    /// Installs that are checked concurrently on this server. With 0, channels are not watched.
    pub installs: usize,
    /// Hosts, as `host` or `host:port`, that callers other than administrators may install from. If
    /// empty, any host with only public addresses is allowed.
    pub install_from: Vec<String>,
    /// Credentials for the registries that installs come from.
    pub registries: Vec<milepost_channels::registry::Credentials>,
    /// `postgres://…`, or the path of a SQLite file. Defaults to `catalog.db` in the data
    /// directory.
    pub database: Option<String>,
    /// `postgres://…` that leads past a connection pooler, to be notified of other servers' changes.
    pub database_listen: Option<String>,
    /// A directory or `s3://bucket/prefix`. Defaults to `blobs` in the data directory.
    pub blobs: Option<String>,
    /// The `AWS_…` variables that configure S3. Defaults to those of the process.
    pub aws: Option<Vec<(String, String)>>,
    /// How long unreferenced content is kept before a sweep removes it.
    pub sweep_grace: Duration,
    pub sweep_every: Duration,
    /// Phrases what the operator of an app can do about a problem that the gateway reports.
    pub operator_words: milepost_gateway::OperatorWords,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn IdSource>,
}

#[derive(Clone)]
pub struct BuildSettings {
    /// Maximum concurrent builds. Further builds wait.
    pub at_once: usize,
    /// Time limit of one build.
    pub limit: Duration,
    /// Maximum disk space of one build, in bytes.
    pub disk: u64,
    /// CPU limit of one build in thousandths of a core, where cgroups are available. `None` splits
    /// the machine evenly between concurrent builds.
    pub cpu: Option<u32>,
    /// Variables of the server's environment that builds inherit.
    pub environment: Vec<(String, String)>,
}

impl BuildSettings {
    /// Returns whether builds inherit this environment variable: only package sources and how to
    /// reach them. Builds run untrusted code, so nothing else is passed on.
    pub fn takes(variable: &str) -> bool {
        const NAMES: [&str; 7] = [
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "NO_PROXY",
            "NODE_EXTRA_CA_CERTS",
            "REQUESTS_CA_BUNDLE",
            "SSL_CERT_DIR",
            "SSL_CERT_FILE",
        ];
        let lower = variable.to_ascii_lowercase();
        variable.starts_with("PIP_")
            || lower.starts_with("npm_config_")
            || NAMES.contains(&variable)
            || ["http_proxy", "https_proxy", "no_proxy"].contains(&variable)
    }

    /// Returns whether an inherited variable may expose a password to builds: in a URL, by its
    /// name, or through a file that is not world-readable.
    pub fn may_hold_a_password(variable: &str, value: &str) -> bool {
        use std::os::unix::fs::MetadataExt as _;
        const NAMED: [&str; 5] = ["auth", "token", "password", "userconfig", "globalconfig"];
        let lower = variable.to_ascii_lowercase();
        let in_address =
            value.split("://").skip(1).any(|rest| rest.split('/').next().is_some_and(|host| host.contains('@')));
        let private = || std::fs::metadata(value).is_ok_and(|found| found.is_file() && found.mode() & 0o004 == 0);
        Self::takes(variable) && (in_address || NAMED.iter().any(|name| lower.contains(name)) || private())
    }
}

impl Default for BuildSettings {
    fn default() -> Self {
        Self { at_once: 2, limit: Duration::from_secs(10 * 60), disk: 8 << 30, cpu: None, environment: Vec::new() }
    }
}

impl Settings {
    pub fn new(data: PathBuf, api: SocketAddr) -> Self {
        Self {
            data,
            api,
            rest: Duration::from_secs(30),
            connections: None,
            api_connections: None,
            gateway: None,
            domain: "localhost".to_owned(),
            tls: None,
            program: PathBuf::from("/proc/self/exe"),
            sandbox: true,
            spares: None,
            builds: BuildSettings::default(),
            executions: 32,
            installs: 4,
            install_from: Vec::new(),
            registries: Vec::new(),
            database: None,
            database_listen: None,
            blobs: None,
            aws: None,
            sweep_grace: Duration::from_secs(24 * 3600),
            sweep_every: Duration::from_secs(3600),
            operator_words: crate::phrase::operator_words,
            clock: Arc::new(SystemClock),
            ids: Arc::new(OsIds),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::BuildSettings;

    #[test]
    fn detects_passwords_in_urls_and_variable_names() {
        for (name, value, expected) in [
            ("PIP_INDEX_URL", "https://user:secret@index.example/simple", true),
            ("PIP_INDEX_URL", "https://index.example/simple?at=@", false),
            ("NPM_CONFIG__AUTH", "c2VjcmV0", true),
            ("HTTPS_PROXY", "http://user:secret@proxy:3128", true),
            ("PIP_DEFAULT_TIMEOUT", "60", false),
            ("GITHUB_TOKEN", "secret", false),
        ] {
            assert_eq!(BuildSettings::may_hold_a_password(name, value), expected, "{name}");
        }
    }
}
