//! Start-up as a sequence of steps, each returning one component.

mod data;
mod doors;
mod error;
mod first;
mod plane;
mod run;
mod stores;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use milepost_gateway::{Gateway, Listener};
// Keys and tokens never come from the seeded source of tests.
use milepost_model::OsIds;
use tokio::net::TcpListener;

pub use error::StartError;

use crate::builds::Builds;
use crate::checks::Checks;
use crate::cluster::beat;
use crate::content::{self, Content};
use crate::edge::connections::{self, Doors};
use crate::edge::open_files;
use crate::executions::Executions;
use crate::installs::{Installs, InstallsDue};
use crate::keyring::Keyring;
use crate::logs::Logs;
use crate::metrics::Metrics;
use crate::private;
use crate::serving::urls::Urls;
use crate::serving::{Plane, Views};
use crate::settings::Settings;
use crate::state::{Parts, State, Store};
use data::{data_error, lock_data_folder, make_data_folder, write_server_file};
use doors::{listen, listen_inside, secured};
use first::{ensure_admin_token, ensure_default_app};
use plane::{open_gateway, open_plane};
use stores::{check_key, open_blobs, open_catalog};

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
        let plane =
            Arc::new(open_plane(&settings, &store, &keyring, &logs, (address, door_address), inside_address).await?);
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
}
