//! Start-up as a sequence of steps, each returning one component.

use std::fs;
use std::io::Write;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use milepost_blobs::{BlobError, Blobs};
use milepost_catalog::{Catalog, CatalogError};
use milepost_client::api::ServerFile;
use milepost_gateway::{ConnectionLimiter, Gateway, GatewayError, Limits, Listener, Tls, TlsError};
// Keys and tokens never come from the seeded source of tests.
use milepost_model::{AppName, Code, OsIds, PlanName, Role};
use milepost_runtime::sandbox::ClosedPorts;
use milepost_runtime::{Runtime, RuntimeSettings};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::builds::Builds;
use crate::checks::{self, Checks};
use crate::cluster::beat;
use crate::content::{self, Content};
use crate::edge::connections::{self, Doors, TooManyConnections};
use crate::edge::{door, open_files};
use crate::executions::{Executions, scheduler, worker};
use crate::installs::{self, Installs, InstallsDue};
use crate::keyring::{Keyring, KeyringError, write_owner_only};
use crate::logs::Logs;
use crate::metrics::Metrics;
use crate::serving::urls::Urls;
use crate::serving::{Host, Packages, Plane, Views, keep_fresh};
use crate::settings::Settings;
use crate::state::{Parts, State, Store};
use crate::{auth, private, router, upkeep};

/// Time that running requests have to finish after a stop.
const DRAIN: Duration = Duration::from_secs(20);
/// Short, because no client waits for the workers any more by then.
const WORKERS_DRAIN: Duration = Duration::from_secs(2);
/// Short, because no function that could call another is running any more by then.
const INSIDE_DRAIN: Duration = Duration::from_secs(1);
/// A reachable store answers within a few seconds, even after a retry.
const BLOBS_PATIENCE: Duration = Duration::from_secs(8);
const ADMIN: &str = "admin";

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("could not use the data folder `{path}`")]
    Data { path: String, source: std::io::Error },
    #[error(
        "another Milepost server (pid {pid}) uses the data folder `{path}`; stop it, or give another folder with `--data`"
    )]
    Running { pid: u32, path: String },
    #[error("could not open the database")]
    Database { next: &'static str, source: CatalogError },
    #[error("the database does not answer as it should")]
    Catalog(#[from] CatalogError),
    #[error("could not open the blob store")]
    Blobs(#[from] BlobError),
    #[error("the blob store did not answer within {} s", BLOBS_PATIENCE.as_secs())]
    BlobsSilent,
    #[error(transparent)]
    Keyring(#[from] KeyringError),
    #[error("the key `{path}` is not the one that the secrets of this database are sealed with; copy that one here")]
    OtherKey { path: String },
    #[error("could not listen on {addr}; is it taken? give another address with `{flag}`")]
    Listen { addr: SocketAddr, flag: &'static str, source: std::io::Error },
    #[error("could not listen on the loopback address, where functions call each other; bring the interface `lo` up")]
    Inside(#[source] std::io::Error),
    #[error(transparent)]
    Connections(#[from] TooManyConnections),
    #[error("could not start the runtime of functions")]
    Runtime(#[source] std::io::Error),
    #[error("could not start the gateway")]
    Gateway(#[from] GatewayError),
    #[error("could not use the certificate of the gateway")]
    Tls(#[from] TlsError),
    #[error("the server stopped with an error")]
    Serve(#[source] std::io::Error),
}

impl StartError {
    /// What to do next, if the message itself does not say it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Data { .. } => {
                Some("check that it is a folder that you may write to, or give another with `--data DIR`")
            }
            Self::Connections(_) => Some(TooManyConnections::HINT),
            Self::Database { next, source: CatalogError::Database { .. } } => Some(next),
            Self::Database { source: CatalogError::UnknownScheme(_), .. } => {
                Some("give `--database` a URL like `postgres://user@host/name`, or leave it out for a SQLite file")
            }
            Self::Blobs(BlobError::Storage { .. }) | Self::BlobsSilent => Some(
                "check that the folder or bucket of `--blobs` exists and may be written to, and the `AWS_…` variables of \
                 an S3 store",
            ),
            _ => None,
        }
    }
}

/// A server that is bound to its addresses and ready to serve.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    doors: Doors,
    gateway: Option<(Gateway<Plane>, Listener)>,
    /// Listener for calls between functions.
    inside: TcpListener,
    state: State,
    settings: Settings,
    server_file: PathBuf,
    /// Held for as long as the server lives: one server per data directory.
    _lock: fs::File,
}

impl Server {
    pub async fn start(settings: Settings) -> Result<Self, StartError> {
        let limit = open_files::take_all();
        let doors = connections::share_out(limit, settings.connections, settings.api_connections)?;
        make_data_folder(&settings.data)?;
        let lock = lock_data_folder(&settings.data)?;
        crate::compat::qinling::uploads::sweep(&settings.data);
        let keyring = Arc::new(Keyring::open(&settings.data.join("secret.key"), &OsIds)?);
        let catalog = open_catalog(&settings).await?;
        check_key(&catalog, &keyring, &settings.data).await?;
        let blobs = open_blobs(&settings).await?;
        ensure_admin_token(&catalog, &settings).await?;
        ensure_default_app(&catalog).await?;
        let store = Store { catalog, blobs };
        let listener = listen(settings.api, "--api").await?;
        let address = listener.local_addr().map_err(StartError::Serve)?;
        if !address.ip().to_canonical().is_loopback() {
            tracing::warn!(
                %address,
                "the API is not encrypted and can be reached from other machines: tokens can be read on the way; \
                 put a proxy with TLS before it, or listen on 127.0.0.1"
            );
        }
        let door = match settings.gateway {
            Some(address) => Some(listen(address, "--gateway").await?),
            None => None,
        };
        let door_address = door.as_ref().map(TcpListener::local_addr).transpose().map_err(StartError::Serve)?;
        let logs = settings.data.join("logs");
        private::folder(&logs).map_err(|source| data_error(&settings.data, source))?;
        let logs = Logs::open(logs).map_err(|source| data_error(&settings.data, source))?;
        let inside = listen_inside().await?;
        let inside_address = inside.local_addr().map_err(StartError::Serve)?;
        let plane = Arc::new(open_plane(&settings, &store, &keyring, &logs, address, inside_address).await?);
        plane.tokens.refresh(&store.catalog).await?;
        let gateway = open_gateway(&settings, &plane, &doors)?;
        let views = Views::new(Arc::clone(&plane), Arc::clone(gateway.directory()));
        let asked_inside = gateway.clone();
        let gateway = door.map(|door| Ok::<_, StartError>((gateway, secured(door, &settings)?))).transpose()?;
        let metrics = Metrics::new();
        let channels = content::channels::open(&settings)?;
        let content = Content::new(store.clone(), channels, metrics.uploaded_bytes.clone());
        let parts = Parts {
            store,
            content,
            keyring,
            data: settings.data.clone(),
            plane,
            views,
            logs,
            urls: Urls::new(&settings.domain, door_address, settings.tls.is_some()),
            metrics,
            sweep_grace: settings.sweep_grace,
            builds: Builds::new(&settings.builds, &settings.data),
            executions: Executions::new(settings.executions, &OsIds),
            installs: Installs::new(&settings, &OsIds),
            checks: Checks::new(&OsIds),
            gateway: asked_inside,
        };
        let state = State(Arc::new(parts));
        beat::begin(&state).await?;
        if state.catalog.engine() == milepost_catalog::Engine::Sqlite {
            state.catalog.installs_end_leases().await?;
            state.catalog.checks_end_leases().await?;
        }
        let server_file = settings.data.join("server.json");
        write_server_file(&server_file, address, state.urls.gateway())
            .map_err(|source| data_error(&settings.data, source))?;
        Ok(Self { listener, address, doors, gateway, inside, state, settings, server_file, _lock: lock })
    }

    /// The gateway's public URL.
    pub fn gateway_url(&self) -> Option<String> {
        self.state.urls.gateway()
    }

    /// The installs of this server, for callers that check them on demand; see
    /// [`Settings::installs`].
    pub fn installs_due(&self) -> InstallsDue {
        InstallsDue(self.state.clone())
    }

    pub fn data(&self) -> &Path {
        &self.settings.data
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn engine(&self) -> milepost_catalog::Engine {
        self.state.catalog.engine()
    }

    /// Serves until `stop`, then drains the running requests and then the workers.
    pub async fn run(self, stop: CancellationToken) -> Result<(), StartError> {
        let sweeping = tokio::spawn(upkeep::sweep::repeat(self.state.clone(), self.settings.sweep_every, stop.clone()));
        let rekeying = tokio::spawn(upkeep::rekey::repeat(
            self.state.catalog.clone(),
            Arc::clone(&self.state.keyring),
            stop.clone(),
        ));
        let refreshing = tokio::spawn(keep_fresh(self.state.clone(), stop.clone()));
        // Keeps sending heartbeats until this node has released everything it holds.
        let left = CancellationToken::new();
        let beating = tokio::spawn(beat::repeat(self.state.clone(), left.clone()));
        let working = tokio::spawn(worker::repeat(self.state.clone(), stop.clone()));
        let scheduling = self
            .state
            .executions
            .is_worker()
            .then(|| tokio::spawn(scheduler::repeat(self.state.clone(), stop.clone())));
        let watching =
            self.state.installs.is_watching().then(|| tokio::spawn(installs::repeat(self.state.clone(), stop.clone())));
        let checking = tokio::spawn(checks::repeat(self.state.clone(), stop.clone()));
        let runtime = self.state.plane.runtime.clone();
        let state = self.state.clone();
        let router = router::build(self.state);
        let rules = door::Rules { rest: self.settings.rest, limiter: ConnectionLimiter::new(self.doors.api_limits()) };
        let serving = tokio::spawn(door::serve(self.listener, router, rules, stop.clone()));
        let abort = serving.abort_handle();
        let gateway = self.gateway.map(|(gateway, door)| {
            let stop = stop.clone();
            tokio::spawn(async move { gateway.serve(vec![door], stop).await })
        });
        // Functions that are still draining may call others, so this listener closes only once
        // nothing runs.
        let quiet = CancellationToken::new();
        let mut inside = {
            let (gateway, door, quiet) = (state.gateway.clone(), Listener::inside(self.inside), quiet.clone());
            tokio::spawn(async move { gateway.serve(vec![door], quiet).await })
        };
        stop.cancelled().await;
        let told = Instant::now();
        // Removed first, so that a new command does not find a server that is stopping.
        let _ = fs::remove_file(&self.server_file);
        state.builds.stop();
        if let Some(gateway) = gateway {
            // The gateway has its own drain deadline.
            let _ = gateway.await;
        }
        let ended = tokio::time::timeout(DRAIN, serving).await;
        // Neither task starts new work, but both may be in the middle of a transaction.
        let _ = working.await;
        if let Some(scheduling) = scheduling {
            let _ = scheduling.await;
        }
        if let Some(watching) = watching {
            let _ = watching.await;
        }
        let _ = checking.await;
        // Must stop before the workers: a worker that was stopped says nothing about its function.
        state.checks.stop().await;
        state.executions.drain(DRAIN.saturating_sub(told.elapsed())).await;
        abort.abort();
        left.cancel();
        let _ = beating.await;
        beat::leave(&state).await;
        sweeping.abort();
        rekeying.abort();
        refreshing.abort();
        runtime.stop(WORKERS_DRAIN).await;
        // All calling functions ended with the workers. Only incomplete request heads can be left.
        quiet.cancel();
        if tokio::time::timeout(INSIDE_DRAIN, &mut inside).await.is_err() {
            inside.abort();
            let _ = inside.await;
        }
        match ended {
            Ok(_) => Ok(()),
            Err(_) => {
                tracing::warn!("requests were still running after {} s and were cut off", DRAIN.as_secs());
                Ok(())
            }
        }
    }
}

async fn listen(addr: SocketAddr, flag: &'static str) -> Result<TcpListener, StartError> {
    TcpListener::bind(addr).await.map_err(|source| StartError::Listen { addr, flag, source })
}

/// Always plain HTTP, even if the gateway serves TLS, because only this machine can connect. See
/// 006, "Calls inside".
async fn listen_inside() -> Result<TcpListener, StartError> {
    match TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await {
        Ok(listener) => Ok(listener),
        Err(_) => TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).await.map_err(StartError::Inside),
    }
}

async fn open_plane(
    settings: &Settings,
    store: &Store,
    keyring: &Arc<Keyring>,
    logs: &Arc<Logs>,
    api: SocketAddr,
    inside: SocketAddr,
) -> Result<Plane, StartError> {
    let packages = Packages::open(settings.data.join("cache/packages"), store.clone());
    let packages = Arc::new(packages.map_err(|source| data_error(&settings.data, source))?);
    let host = Host {
        packages: Arc::clone(&packages),
        keyring: Arc::clone(keyring),
        logs: Arc::clone(logs),
        clock: Arc::clone(&settings.clock),
    };
    let mut runtime = RuntimeSettings {
        environment: vec![("MILEPOST_GATEWAY".to_owned(), inside.to_string())],
        build_environment: settings.builds.environment.clone(),
        sandbox: settings.sandbox,
        hidden: settings.tls.iter().map(|(_, key)| key.clone()).collect(),
        closed_ports: ClosedPorts { workers: vec![api.port()], builds: vec![inside.port()] },
        ..RuntimeSettings::new(settings.program.clone(), settings.data.join("run"))
    };
    if let Some(spares) = settings.spares {
        (runtime.spares.python, runtime.spares.node) = (spares, spares);
    }
    let runtime = Runtime::start(runtime, Arc::new(host)).await.map_err(StartError::Runtime)?;
    Ok(Plane::new(store.clone(), Arc::clone(keyring), runtime, packages))
}

fn open_gateway(settings: &Settings, plane: &Arc<Plane>, doors: &Doors) -> Result<Gateway<Plane>, StartError> {
    let gateway = milepost_gateway::Settings {
        domain: settings.domain.clone(),
        cache_folder: Some(settings.data.join("cache/files")),
        limits: Limits { connections: doors.gateway, inside_connections: doors.inside, ..Limits::default() },
        ..milepost_gateway::Settings::default()
    };
    Ok(Gateway::new(gateway, Arc::clone(plane))?)
}

fn secured(door: TcpListener, settings: &Settings) -> Result<Listener, StartError> {
    match &settings.tls {
        Some((certificate, key)) => Ok(Listener::tls(door, Tls::from_files(certificate, key)?)),
        None => Ok(Listener::plain(door)),
    }
}

fn data_error(path: &Path, source: std::io::Error) -> StartError {
    StartError::Data { path: path.display().to_string(), source }
}

fn make_data_folder(path: &Path) -> Result<(), StartError> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|source| data_error(path, source))
}

/// Uses a kernel lock, which is released however the process ends. The file contains the PID of the
/// owner.
fn lock_data_folder(path: &Path) -> Result<fs::File, StartError> {
    let failed = |source| data_error(path, source);
    let file = path.join("lock");
    let mut lock =
        fs::OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&file).map_err(failed)?;
    match lock.try_lock() {
        Ok(()) => {
            lock.set_len(0).map_err(failed)?;
            lock.write_all(std::process::id().to_string().as_bytes()).map_err(failed)?;
            Ok(lock)
        }
        Err(fs::TryLockError::WouldBlock) => {
            let pid = fs::read_to_string(&file).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
            Err(StartError::Running { pid, path: path.display().to_string() })
        }
        Err(fs::TryLockError::Error(source)) => Err(failed(source)),
    }
}

async fn open_catalog(settings: &Settings) -> Result<Catalog, StartError> {
    let default = settings.data.join("catalog.db");
    if settings.database.is_none() {
        private::database(&default).map_err(|source| data_error(&settings.data, source))?;
    }
    let default = default.display().to_string();
    let url = settings.database.as_deref().unwrap_or(&default);
    let next = if url.starts_with("postgres") {
        "check the URL of `--database`: the server must answer there, and the database must exist (`createdb NAME` makes one)"
    } else {
        "check that the folder of the file exists and that you may write to it"
    };
    let opened = Catalog::open(url, Arc::clone(&settings.clock), Arc::clone(&settings.ids)).await;
    let catalog = opened.map_err(|source| StartError::Database { next, source })?;
    // Without a gateway, `--domain` may differ from the one that other nodes serve.
    Ok(if settings.gateway.is_some() { catalog.serving_under(&settings.domain) } else { catalog })
}

/// All servers on one database must be able to read each other's sealed secrets.
async fn check_key(catalog: &Catalog, keyring: &Keyring, data: &Path) -> Result<(), StartError> {
    if catalog.agree("secret key", &keyring.name()).await? == keyring.name() {
        return Ok(());
    }
    Err(StartError::OtherKey { path: data.join("secret.key").display().to_string() })
}

/// Opening a bucket makes no request, so without this check a wrong name or key would only show
/// with the first upload.
async fn open_blobs(settings: &Settings) -> Result<Blobs, StartError> {
    let default = settings.data.join("blobs");
    if settings.blobs.is_none() {
        private::folder(&default).map_err(|source| data_error(&settings.data, source))?;
    }
    let default = default.display().to_string();
    let url = settings.blobs.as_deref().unwrap_or(&default);
    let blobs = match &settings.aws {
        Some(aws) => Blobs::open_with(url, aws)?,
        None => Blobs::open(url)?,
    };
    match tokio::time::timeout(BLOBS_PATIENCE, blobs.check()).await {
        Ok(checked) => checked?,
        Err(_) => return Err(StartError::BlobsSilent),
    }
    Ok(blobs)
}

/// Creates an admin token on the first start, in a file that only its owner can read.
async fn ensure_admin_token(catalog: &Catalog, settings: &Settings) -> Result<(), StartError> {
    let path = settings.data.join("admin.token");
    let token = match fs::read_to_string(&path) {
        Ok(token) => {
            private::close_to_others(&path);
            token.trim().to_owned()
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let token = auth::make_token(&OsIds);
            write_owner_only(&path, format!("{token}\n").as_bytes())
                .map_err(|source| data_error(&settings.data, source))?;
            token
        }
        Err(source) => return Err(data_error(&settings.data, source)),
    };
    let hash = auth::hash(&token);
    if catalog.token_by_hash(hash).await?.is_some() {
        return Ok(());
    }
    let create = |name: String| catalog.token_create(name, hash, Role::Admin, None, "milepost");
    match create(ADMIN.to_owned()).await {
        // A second node on the same database has its own token file, and the plain name is taken.
        Err(CatalogError::Refused(refusal)) if refusal.code == Code::TokenExists => {
            Ok(create(format!("{ADMIN}-{}", settings.ids.short_id())).await.map(drop)?)
        }
        other => Ok(other.map(drop)?),
    }
}

async fn ensure_default_app(catalog: &Catalog) -> Result<(), StartError> {
    let name = AppName::default();
    match catalog.app_get(&name).await {
        Err(CatalogError::Refused(refusal)) if refusal.code == Code::AppNotFound => {}
        other => return Ok(other.map(drop)?),
    }
    match catalog.app_create(&name, PlanName::default(), "milepost").await {
        // Two nodes that start concurrently both try to create it.
        Err(CatalogError::Refused(refusal)) if refusal.code == Code::AppExists => Ok(()),
        other => Ok(other.map(drop)?),
    }
}

fn write_server_file(path: &Path, address: SocketAddr, gateway: Option<String>) -> std::io::Result<()> {
    let file = ServerFile { api: format!("http://{address}"), gateway, pid: std::process::id() };
    write_owner_only(path, &serde_json::to_vec(&file).map_err(std::io::Error::other)?)
}
