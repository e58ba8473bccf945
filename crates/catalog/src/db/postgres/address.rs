//! The URL of a PostgreSQL: its hosts, timeouts and TLS settings.

use std::path::PathBuf;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// How long an unresponsive connection is kept before it counts as broken.
const SILENCE: Duration = Duration::from_secs(15);
const KEEPALIVES_AFTER: Duration = Duration::from_secs(10);
const KEEPALIVE_EVERY: Duration = Duration::from_secs(5);
/// The driver's default when the URL sets none.
const KEEPALIVES_IDLE_UNSAID: Duration = Duration::from_secs(2 * 60 * 60);
/// How long one host may take to accept a connection, so that the next one is tried in time.
const CONNECT: Duration = Duration::from_secs(3);

#[derive(Debug, thiserror::Error)]
pub(super) enum AddressError {
    #[error("`sslmode={0}` is none of disable, prefer, require, verify-ca and verify-full")]
    SslMode(String),
    #[error("`sslcert` and `sslkey` belong together; give both")]
    HalfPair,
    #[error("{hosts} hosts with {ports} ports; give one port for all, or one for each")]
    Ports { hosts: usize, ports: usize },
    #[error(transparent)]
    Url(#[from] tokio_postgres::Error),
}

/// A parsed URL.
#[derive(Debug)]
pub(super) struct Address {
    /// In the order in which they are tried.
    pub hosts: Vec<OneHost>,
    pub tls: TlsSettings,
    /// The server's settings that the URL sets itself.
    pub options: String,
}

#[derive(Debug, Clone)]
pub(super) struct OneHost {
    /// For errors: `db1:5432`, or the path of a socket.
    pub name: String,
    pub config: Config,
}

/// What is checked of the server's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Check {
    #[default]
    Nothing,
    /// That one of the roots signed it.
    Chain,
    /// Also that it is for the host.
    ChainAndName,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TlsSettings {
    pub check: Check,
    /// PEM file. `None` for the roots of the system.
    pub roots: Option<PathBuf>,
    /// PEM files of a client certificate and its key.
    pub identity: Option<(PathBuf, PathBuf)>,
}

impl Address {
    pub(super) fn parse(url: &str) -> Result<Self, AddressError> {
        let (url, own) = take_own(url);
        let mut config = bounded(url.parse()?);
        let find = |name: &str| own.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let roots = find("sslrootcert").filter(|path| path != "system").map(PathBuf::from);
        let (mode, check) = match find("sslmode").as_deref() {
            None | Some("prefer") => (SslMode::Prefer, Check::Nothing),
            Some("disable") => (SslMode::Disable, Check::Nothing),
            // As in libpq: roots that are given are also used.
            Some("require") if roots.is_some() => (SslMode::Require, Check::Chain),
            Some("require") => (SslMode::Require, Check::Nothing),
            Some("verify-ca") => (SslMode::Require, Check::Chain),
            Some("verify-full") => (SslMode::Require, Check::ChainAndName),
            Some(other) => return Err(AddressError::SslMode(other.to_owned())),
        };
        config.ssl_mode(mode);
        let identity = match (find("sslcert"), find("sslkey")) {
            (Some(certificate), Some(key)) => Some((certificate.into(), key.into())),
            (None, None) => None,
            _ => return Err(AddressError::HalfPair),
        };
        let options = config.get_options().unwrap_or_default().to_owned();
        Ok(Self { hosts: split(&config)?, tls: TlsSettings { check, roots, identity }, options })
    }
}

/// Removes the parameters that the driver does not know, and returns them decoded.
fn take_own(url: &str) -> (String, Vec<(String, String)>) {
    const OWN: [&str; 4] = ["sslmode", "sslrootcert", "sslcert", "sslkey"];
    let Some((base, query)) = url.split_once('?') else { return (url.to_owned(), Vec::new()) };
    let (mut own, mut others) = (Vec::new(), Vec::new());
    for part in query.split('&') {
        match part.split_once('=') {
            Some((name, value)) if OWN.contains(&name) => {
                own.push((name.to_owned(), percent_decode_str(value).decode_utf8_lossy().into_owned()));
            }
            _ => others.push(part),
        }
    }
    let url = if others.is_empty() { base.to_owned() } else { format!("{base}?{}", others.join("&")) };
    (url, own)
}

/// Bounds how long a connection may be silent, unless the URL sets its own timeouts.
fn bounded(mut config: Config) -> Config {
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(SILENCE);
    }
    if config.get_keepalives_idle() == KEEPALIVES_IDLE_UNSAID {
        config.keepalives_idle(KEEPALIVES_AFTER);
    }
    if config.get_keepalives_interval().is_none() {
        config.keepalives_interval(KEEPALIVE_EVERY);
    }
    if config.get_application_name().is_none() {
        config.application_name("milepost");
    }
    config
}

/// One configuration for each host. The driver tries several hosts by itself, but reports only the
/// last one's error.
fn split(all: &Config) -> Result<Vec<OneHost>, AddressError> {
    let (names, addresses, ports) = (all.get_hosts(), all.get_hostaddrs(), all.get_ports());
    let count = names.len().max(addresses.len());
    if ports.len() > 1 && ports.len() != count {
        return Err(AddressError::Ports { hosts: count, ports: ports.len() });
    }
    let mut hosts = Vec::with_capacity(count);
    for index in 0..count {
        let port = ports.get(index).or_else(|| ports.first()).copied().unwrap_or(5432);
        let mut config = without_hosts(all);
        config.port(port);
        let name = match (names.get(index), addresses.get(index)) {
            (Some(Host::Unix(path)), _) => {
                // As in libpq: a socket of this machine is never encrypted.
                config.host_path(path).ssl_mode(SslMode::Disable);
                path.display().to_string()
            }
            (Some(Host::Tcp(name)), address) => {
                config.host(name);
                if let Some(address) = address {
                    config.hostaddr(*address);
                }
                format!("{name}:{port}")
            }
            (None, Some(address)) => {
                config.host(address.to_string());
                format!("{address}:{port}")
            }
            (None, None) => continue,
        };
        hosts.push(OneHost { name, config });
    }
    Ok(hosts)
}

fn without_hosts(all: &Config) -> Config {
    let mut one = Config::new();
    if let Some(user) = all.get_user() {
        one.user(user);
    }
    if let Some(password) = all.get_password() {
        one.password(password);
    }
    if let Some(name) = all.get_dbname() {
        one.dbname(name);
    }
    if let Some(options) = all.get_options() {
        one.options(options);
    }
    if let Some(name) = all.get_application_name() {
        one.application_name(name);
    }
    if let Some(timeout) = all.get_connect_timeout() {
        one.connect_timeout(*timeout);
    }
    if let Some(timeout) = all.get_tcp_user_timeout() {
        one.tcp_user_timeout(*timeout);
    }
    if let Some(interval) = all.get_keepalives_interval() {
        one.keepalives_interval(interval);
    }
    if let Some(retries) = all.get_keepalives_retries() {
        one.keepalives_retries(retries);
    }
    one.keepalives(all.get_keepalives())
        .keepalives_idle(all.get_keepalives_idle())
        .ssl_mode(all.get_ssl_mode())
        .ssl_negotiation(all.get_ssl_negotiation())
        .channel_binding(all.get_channel_binding())
        .target_session_attrs(all.get_target_session_attrs())
        .load_balance_hosts(all.get_load_balance_hosts());
    one
}

#[cfg(test)]
mod tests {
    use tokio_postgres::config::TargetSessionAttrs;

    use super::*;

    #[test]
    fn timeouts_have_defaults_that_the_url_overrides() {
        let config = |url: &str| Address::parse(url).expect("a URL").hosts.remove(0).config;
        let plain = config("postgres://ann@db/milepost");
        assert_eq!(plain.get_connect_timeout(), Some(&CONNECT));
        assert_eq!(plain.get_tcp_user_timeout(), Some(&SILENCE));
        assert_eq!(plain.get_keepalives_idle(), KEEPALIVES_AFTER);
        assert_eq!(plain.get_keepalives_interval(), Some(KEEPALIVE_EVERY));
        let own = "postgres://ann@db/milepost?options=-c%20lock_timeout%3D5s&tcp_user_timeout=90&keepalives_idle=120";
        let own = config(own);
        assert_eq!(own.get_options(), Some("-c lock_timeout=5s"));
        assert_eq!(own.get_tcp_user_timeout(), Some(&Duration::from_secs(90)));
        assert_eq!(own.get_keepalives_idle(), Duration::from_secs(120));
    }

    #[test]
    fn each_host_gets_its_own_configuration() {
        let url = "postgres://ann:p%40ss@db1:5433,db2:5434/milepost?target_session_attrs=read-write&sslmode=require";
        let address = Address::parse(url).expect("a URL");
        let names: Vec<_> = address.hosts.iter().map(|host| host.name.as_str()).collect();
        assert_eq!(names, ["db1:5433", "db2:5434"]);
        for (host, port) in address.hosts.iter().zip([5433, 5434]) {
            assert_eq!((host.config.get_hosts().len(), host.config.get_ports()), (1, &[port][..]));
            assert_eq!(host.config.get_password(), Some(&b"p@ss"[..]));
            assert_eq!(host.config.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
            assert_eq!(host.config.get_ssl_mode(), SslMode::Require);
        }
        let ports = Address::parse("postgres://ann@a,b,c/x?port=1,2").expect_err("two ports for three hosts");
        assert_eq!(ports.to_string(), "3 hosts with 5 ports; give one port for all, or one for each");
    }

    #[test]
    fn sslmode_decides_what_is_checked() {
        let of = |query: &str| {
            let address = Address::parse(&format!("postgres://ann@db/x?{query}"))?;
            let mode = address.hosts.first().map(|host| host.config.get_ssl_mode());
            Ok::<_, AddressError>((mode.expect("a host"), address.tls.check, address.tls.roots))
        };
        let root = || Some(PathBuf::from("/a b/root.pem"));
        for (query, expected) in [
            ("connect_timeout=1", (SslMode::Prefer, Check::Nothing, None)),
            ("sslmode=disable", (SslMode::Disable, Check::Nothing, None)),
            ("sslmode=require", (SslMode::Require, Check::Nothing, None)),
            ("sslmode=require&sslrootcert=/a%20b/root.pem", (SslMode::Require, Check::Chain, root())),
            ("sslmode=verify-ca", (SslMode::Require, Check::Chain, None)),
            ("sslrootcert=system&sslmode=verify-full", (SslMode::Require, Check::ChainAndName, None)),
        ] {
            assert_eq!(of(query).expect(query), expected, "{query}");
        }
        let error = |query| of(query).expect_err("an error").to_string();
        assert_eq!(
            error("sslmode=maybe"),
            "`sslmode=maybe` is none of disable, prefer, require, verify-ca and verify-full"
        );
        assert_eq!(error("sslcert=/c.pem"), "`sslcert` and `sslkey` belong together; give both");
    }

    #[test]
    fn sockets_are_not_encrypted() {
        let address = Address::parse("postgres:///x?host=/run/postgresql&sslmode=require").expect("a URL");
        assert_eq!(address.hosts[0].name, "/run/postgresql");
        assert_eq!(address.hosts[0].config.get_ssl_mode(), SslMode::Disable);
    }
}
