//! What a server is told at its start. Reading flags, variables and files is the binary's business.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use milepost_model::{Clock, IdSource, OsIds, SystemClock};

#[derive(Clone)]
pub struct Settings {
    /// Database, blobs, keys and the admin token live here unless told otherwise.
    pub data: PathBuf,
    pub api: SocketAddr,
    /// How long a connection to the API may stay without a request, or with the half of one's head.
    pub rest: Duration,
    /// Connections that the gateway may hold; what the limit of open files has room for when left out.
    pub connections: Option<usize>,
    /// The same for the API. A quarter of them may be without a valid token.
    pub api_connections: Option<usize>,
    /// Where apps are served; none for a server that only keeps the ledger.
    pub gateway: Option<SocketAddr>,
    /// Apps are served under this name: `{app}.{domain}`.
    pub domain: String,
    /// Certificate and key of the gateway, as PEM files.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// This program, which is started again as the sandbox of workers.
    pub program: PathBuf,
    /// Without it functions run with limits only.
    pub sandbox: bool,
    /// Interpreters of each kind that wait for a function; the runtime's own choice when left out.
    pub spares: Option<usize>,
    pub builds: BuildSettings,
    /// Executions of the queue that run at the same time here. With none this server accepts them and runs only those that
    /// somebody waits for; it fires no jobs and timers either.
    pub executions: usize,
    /// Installed apps that are looked at at the same time here; with none, channels are not watched.
    pub installs: usize,
    /// The hosts that installs come from when no administrator asks for them: `host` or `host:port`. With none, any host whose
    /// addresses are of the internet.
    pub install_from: Vec<String>,
    /// Names and passwords for registries that installs come from.
    pub registries: Vec<milepost_channels::registry::Credentials>,
    /// `postgres://…`, or the path of a SQLite file; `catalog.db` in the data folder when left out.
    pub database: Option<String>,
    /// A folder or `s3://bucket/prefix`; `blobs` in the data folder when left out.
    pub blobs: Option<String>,
    /// The `AWS_…` variables by which S3 is found; those of the process when left out.
    pub aws: Option<Vec<(String, String)>>,
    /// How long unreferenced content stays before it is swept.
    pub sweep_grace: Duration,
    pub sweep_every: Duration,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn IdSource>,
}

/// How packages are built.
#[derive(Clone)]
pub struct BuildSettings {
    /// Builds that run at the same time; others wait.
    pub at_once: usize,
    /// How long one may take.
    pub limit: Duration,
    /// Bytes of the disk that one may take.
    pub disk: u64,
    /// Thousandths of a core that one may use, where there are control groups. None: all builds together may use the machine.
    pub cpu: Option<u32>,
    /// What the environment of builds has of the server's.
    pub environment: Vec<(String, String)>,
}

impl BuildSettings {
    /// Whether builds get this variable of the server's environment: where packages come from and how they are reached.
    /// Nothing else of it is for strangers.
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

    /// Whether builds get with this variable what may be a password: in an address, by its name, or in a file that not
    /// everybody on the machine may read.
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
            blobs: None,
            aws: None,
            sweep_grace: Duration::from_secs(24 * 3600),
            sweep_every: Duration::from_secs(3600),
            clock: Arc::new(SystemClock),
            ids: Arc::new(OsIds),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::BuildSettings;

    #[test]
    fn passwords_are_found_in_addresses_and_by_name() {
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
