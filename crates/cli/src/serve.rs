//! `milepost serve`. Settings come from options, environment variables and `milepost.toml`, in
//! this order of precedence.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use milepost_server::{BuildSettings, Server, Settings};
use serde::Deserialize;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use crate::args::Global;
use crate::commands::channel::place::server_credentials;
use crate::commands::shared::{parse_duration_ms, parse_memory};
use crate::context::data_folder;
use crate::failure::{Failure, Result};
use crate::output::Ui;
use crate::test_hooks;

const LOCALHOST: std::net::IpAddr = std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
const DEFAULT_API: SocketAddr = SocketAddr::new(LOCALHOST, 7070);
const DEFAULT_GATEWAY: SocketAddr = SocketAddr::new(LOCALHOST, 8080);

/// Run the server
///
/// By default, one folder holds everything: a SQLite database, the files of all versions, the key
/// that seals secrets, and the admin token. Each setting can be given as an option, an environment
/// variable or a key of `milepost.toml`, in this order of precedence.
#[derive(Debug, Default, Args)]
pub struct ServeArgs {
    /// API address [default: 127.0.0.1:7070]
    #[arg(long, env = "MILEPOST_API", value_name = "ADDR", hide_env_values = true, value_parser = parse_address)]
    api: Option<SocketAddr>,
    /// Gateway address, where apps are served [default: 127.0.0.1:8080]
    #[arg(long, env = "MILEPOST_GATEWAY", value_name = "ADDR", hide_env_values = true, value_parser = parse_address)]
    gateway: Option<SocketAddr>,
    /// Maximum gateway connections [default: 10000, or what open files allow]
    ///
    /// At the limit, idle connections are closed to make room for new ones.
    #[arg(long, env = "MILEPOST_CONNECTIONS", value_name = "N", hide_env_values = true)]
    connections: Option<usize>,
    /// Maximum API connections [default: 1024, or what open files allow]
    ///
    /// At most a quarter of them may be connections that have not sent a valid token.
    #[arg(long, env = "MILEPOST_API_CONNECTIONS", value_name = "N", hide_env_values = true)]
    api_connections: Option<usize>,
    /// Domain of the apps, which are served at `{app}.{domain}` [default: localhost]
    #[arg(long, env = "MILEPOST_DOMAIN", value_name = "DOMAIN", hide_env_values = true)]
    domain: Option<String>,
    /// TLS certificate of the gateway, a PEM file with its chain; needs `--tls-key`
    #[arg(long, env = "MILEPOST_TLS_CERT", value_name = "FILE", hide_env_values = true)]
    tls_cert: Option<PathBuf>,
    /// Private key of the certificate, a PEM file
    #[arg(long, env = "MILEPOST_TLS_KEY", value_name = "FILE", hide_env_values = true)]
    tls_key: Option<PathBuf>,
    /// Run functions without file system and process isolation; limits still apply
    #[arg(long, env = "MILEPOST_NO_SANDBOX", hide_env_values = true)]
    no_sandbox: bool,
    /// Interpreters to keep started and idle [default: 2 for Python, 1 for Node]
    #[arg(long, env = "MILEPOST_SPARES", value_name = "N", hide_env_values = true)]
    spares: Option<usize>,
    /// Maximum concurrent package builds [default: 2]
    #[arg(long, env = "MILEPOST_BUILDS", value_name = "N", hide_env_values = true)]
    builds: Option<usize>,
    /// Time limit of a build, like `90s` or `10m` [default: 10m]
    #[arg(long, env = "MILEPOST_BUILD_TIMEOUT", value_name = "TIME", hide_env_values = true, value_parser = parse_duration_ms)]
    build_timeout: Option<u64>,
    /// Disk limit of a build, like `8Gi` [default: 8Gi]
    #[arg(long, env = "MILEPOST_BUILD_DISK", value_name = "SIZE", hide_env_values = true, value_parser = parse_memory)]
    build_disk: Option<u64>,
    /// CPU limit of a build in millicores; 0 for none [default: cores / `--builds`]
    #[arg(long, env = "MILEPOST_BUILD_CPU", value_name = "N", hide_env_values = true)]
    build_cpu: Option<u32>,
    /// Maximum concurrent channel polls; 0 disables polling here [default: 4]
    #[arg(long, env = "MILEPOST_INSTALLS", value_name = "N", hide_env_values = true)]
    installs: Option<usize>,
    /// Host that non-admin tokens may install from [default: any public host]
    ///
    /// Can be repeated. For registries on these hosts, the server also uses the `docker login` of
    /// the user that runs it. Without this option it uses no `docker login`.
    #[arg(long, env = "MILEPOST_INSTALL_FROM", value_name = "HOST", value_delimiter = ',', hide_env_values = true)]
    install_from: Vec<String>,
    /// Maximum concurrent queued executions [default: 32]
    ///
    /// With 0, this server leaves the queue, jobs and timers to other servers.
    #[arg(long, env = "MILEPOST_EXECUTIONS", value_name = "N", hide_env_values = true)]
    executions: Option<usize>,
    /// PostgreSQL database, `postgres://…` [default: an embedded SQLite file]
    #[arg(long, env = "MILEPOST_DATABASE", value_name = "URL", hide_env_values = true)]
    database: Option<String>,
    /// The same database past a connection pooler, to hear of other servers' changes
    ///
    /// Without it, a server behind PgBouncer in transaction mode polls every 250 ms.
    #[arg(long, env = "MILEPOST_DATABASE_LISTEN", value_name = "URL", hide_env_values = true)]
    database_listen: Option<String>,
    /// Where to store the files of versions: a folder or `s3://bucket/prefix`
    #[arg(long, env = "MILEPOST_BLOBS", value_name = "URL", hide_env_values = true)]
    blobs: Option<String>,
    /// Seconds to keep unreferenced content before sweeping it [default: 86400]
    #[arg(long, env = "MILEPOST_SWEEP_GRACE", value_name = "SECONDS", hide_env_values = true)]
    sweep_grace: Option<u64>,
    /// Settings file [default: milepost.toml in this folder or in the data folder]
    #[arg(long, env = "MILEPOST_CONFIG", value_name = "FILE", hide_env_values = true)]
    config: Option<PathBuf>,
}

fn parse_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        format!("`{text}` is not an IP address with a port; write it like `127.0.0.1:7070` or `[::1]:7070`")
    })
}

/// The keys of `milepost.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct File {
    data: Option<PathBuf>,
    api: Option<SocketAddr>,
    gateway: Option<SocketAddr>,
    connections: Option<usize>,
    api_connections: Option<usize>,
    domain: Option<String>,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    sandbox: Option<bool>,
    spares: Option<usize>,
    builds: Option<usize>,
    build_timeout: Option<String>,
    build_disk: Option<String>,
    build_cpu: Option<u32>,
    installs: Option<usize>,
    #[serde(default)]
    install_from: Vec<String>,
    executions: Option<usize>,
    database: Option<String>,
    database_listen: Option<String>,
    blobs: Option<String>,
    sweep_grace: Option<u64>,
}

pub async fn run(ui: &Ui, global: &Global, args: ServeArgs) -> Result<()> {
    start_logging("info");
    // Before the ready line is printed, so that a signal sent right after it finds its handler.
    let stop = CancellationToken::new();
    stop_on_signals(stop.clone())?;
    let server = start(global, args).await?;
    warn_of_credentials();
    ui.say(&format!("Milepost is ready at http://{}", server.address()));
    if let Some(gateway) = server.gateway_url() {
        ui.say(&format!("  apps      {}", app_pattern(&gateway)));
    }
    ui.say(&format!("  data      {} ({})", server.data().display(), server.engine()));
    ui.say(&format!("  reference http://{}/api/v1/docs", server.address()));
    ui.say("  stop it with Ctrl-C");
    server.run(stop).await?;
    ui.say("Milepost has stopped.");
    Ok(())
}

/// Turns `http://localhost:8080/` into `http://{app}.localhost:8080/`.
fn app_pattern(gateway: &str) -> String {
    gateway.replacen("://", "://{app}.", 1)
}

/// Starts a server with the settings of options, environment variables and the settings file.
pub async fn start(global: &Global, args: ServeArgs) -> Result<Server> {
    Ok(Server::start(settings(global, args)?).await?)
}

fn settings(global: &Global, args: ServeArgs) -> Result<Settings> {
    let file = read_file(args.config.as_deref(), global.data.as_deref())?;
    let data = data_folder(global.data.as_deref().or(file.data.as_deref()))?;
    let mut settings = Settings::new(data, args.api.or(file.api).unwrap_or(DEFAULT_API));
    settings.gateway = Some(args.gateway.or(file.gateway).unwrap_or(DEFAULT_GATEWAY));
    settings.connections = at_least_one("--connections", args.connections.or(file.connections))?;
    settings.api_connections = at_least_one("--api-connections", args.api_connections.or(file.api_connections))?;
    if let Some(domain) = args.domain.or(file.domain) {
        settings.domain = domain.trim_matches('.').to_ascii_lowercase();
    }
    settings.tls = match (args.tls_cert.or(file.tls_cert), args.tls_key.or(file.tls_key)) {
        (Some(cert), Some(key)) => Some((cert, key)),
        (None, None) => None,
        _ => return Err(Failure::usage("a certificate needs its key").hint("pass both `--tls-cert` and `--tls-key`")),
    };
    settings.program = std::env::current_exe()?;
    settings.sandbox = !args.no_sandbox && file.sandbox.unwrap_or(true);
    settings.spares = args.spares.or(file.spares);
    settings.builds = build_settings(args.builds.or(file.builds), args.build_timeout, file.build_timeout)?;
    let disk = file.build_disk.map(|text| parse_memory(&text)).transpose();
    let disk = disk.map_err(|reason| Failure::usage(format!("invalid `build-disk`: {reason}")))?;
    settings.builds.disk = args.build_disk.or(disk).unwrap_or(settings.builds.disk);
    settings.builds.cpu = args.build_cpu.or(file.build_cpu);
    // With the stepping test clock, background work would advance the time between requests.
    let executions = args.executions.or(file.executions);
    settings.executions = executions.unwrap_or(if test_hooks::stops_time() { 0 } else { settings.executions });
    settings.installs = args.installs.or(file.installs).unwrap_or(settings.installs);
    settings.install_from = if args.install_from.is_empty() { file.install_from } else { args.install_from };
    settings.registries = server_credentials(&settings.install_from);
    settings.database = args.database.or(file.database);
    settings.database_listen = args.database_listen.or(file.database_listen);
    settings.blobs = args.blobs.or(file.blobs);
    if let Some(seconds) = args.sweep_grace.or(file.sweep_grace) {
        settings.sweep_grace = Duration::from_secs(seconds);
    }
    settings.operator_words = crate::phrase::operator_words;
    settings.clock = test_hooks::clock();
    settings.ids = test_hooks::ids();
    Ok(settings)
}

fn at_least_one(flag: &str, connections: Option<usize>) -> Result<Option<usize>> {
    match connections {
        Some(0) => Err(Failure::usage(format!("`{flag} 0` allows no connections")).hint("pass 1 or more, or omit it")),
        other => Ok(other),
    }
}

fn build_settings(at_once: Option<usize>, timeout: Option<u64>, from_file: Option<String>) -> Result<BuildSettings> {
    let mut settings = BuildSettings::default();
    if let Some(at_once) = at_once {
        settings.at_once = at_once;
    }
    let from_file = from_file.map(|text| parse_duration_ms(&text)).transpose();
    let from_file = from_file.map_err(|reason| Failure::usage(format!("invalid `build-timeout`: {reason}")))?;
    if let Some(timeout) = timeout.or(from_file) {
        settings.limit = Duration::from_millis(timeout);
    }
    let variables = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    let wanted = variables.filter(|(name, _)| BuildSettings::takes(name));
    settings.environment = wanted.filter_map(|(name, value)| Some((name, value.into_string().ok()?))).collect();
    Ok(settings)
}

/// Warns about variables that may hold credentials: the builds of every app can read them.
fn warn_of_credentials() {
    let mut sources = Vec::new();
    for (name, value) in std::env::vars_os() {
        if let (Ok(name), Ok(value)) = (name.into_string(), value.into_string())
            && BuildSettings::may_hold_a_password(&name, &value)
        {
            sources.push(name);
        }
    }
    sources.sort();
    if !sources.is_empty() {
        tracing::warn!(
            variables = sources.join(", "),
            "builds of all apps can read these variables and the files that they name; remove passwords that not every deployer may know"
        );
    }
}

/// Logs to stderr at `level`, unless `MILEPOST_LOG` sets a filter.
pub fn start_logging(level: &str) {
    let filter = EnvFilter::try_from_env("MILEPOST_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false).init();
}

/// Cancels `stop` on SIGINT (Ctrl-C) and SIGTERM.
pub fn stop_on_signals(stop: CancellationToken) -> Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        stop.cancel();
    });
    Ok(())
}

fn read_file(given: Option<&Path>, data: Option<&Path>) -> Result<File> {
    let path = match given {
        Some(given) => given.to_owned(),
        None => {
            let candidates = [Some(PathBuf::from("milepost.toml")), data.map(|data| data.join("milepost.toml"))];
            match candidates.into_iter().flatten().find(|path| path.is_file()) {
                Some(found) => found,
                None => return Ok(File::default()),
            }
        }
    };
    let text = std::fs::read_to_string(&path).map_err(|error| Failure::unreadable(&path, &error))?;
    toml::from_str(&text).map_err(|error| {
        Failure::usage(format!("invalid settings in `{}`: {}", path.display(), error.to_string().trim_end()))
            .hint("the keys are data, api, gateway, connections, api-connections, domain, tls-cert, tls-key, sandbox, spares, builds, build-timeout, build-disk, build-cpu, installs, install-from, executions, database, blobs and sweep-grace")
    })
}
