//! What runs and serves functions.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use milepost_gateway::{Gateway, Limits};
use milepost_runtime::sandbox::ClosedPorts;
use milepost_runtime::{Runtime, RuntimeSettings};

use super::StartError;
use super::data::data_error;
use crate::edge::connections::Doors;
use crate::keyring::Keyring;
use crate::logs::Logs;
use crate::serving::{Host, Packages, Plane};
use crate::settings::Settings;
use crate::state::Store;

pub(super) async fn open_plane(
    settings: &Settings,
    store: &Store,
    keyring: &Arc<Keyring>,
    logs: &Arc<Logs>,
    doors: (SocketAddr, Option<SocketAddr>),
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
        hidden: hidden(settings),
        // At the gateway, all clients of a machine share one part of the connections, also a proxy.
        // Functions call each other at the inner port, which counts them by app.
        closed_ports: ClosedPorts {
            workers: [Some(doors.0), doors.1].into_iter().flatten().map(|door| door.port()).collect(),
            builds: vec![inside.port()],
        },
        ..RuntimeSettings::new(settings.program.clone(), settings.data.join("run"))
    };
    if let Some(spares) = settings.spares {
        (runtime.spares.python, runtime.spares.node) = (spares, spares);
    }
    let runtime = Runtime::start(runtime, Arc::new(host)).await.map_err(StartError::Runtime)?;
    Ok(Plane::new(store.clone(), Arc::clone(keyring), runtime, packages))
}

/// What no function or build may see. Without root, they have the server's user.
fn hidden(settings: &Settings) -> Vec<PathBuf> {
    let key = settings.tls.iter().map(|(_, key)| key.clone());
    let blobs = settings.blobs.iter().map(PathBuf::from);
    let database =
        settings.database.iter().flat_map(|file| ["", "-wal"].map(|end| PathBuf::from(format!("{file}{end}"))));
    // A URL is no path that exists, so it hides nothing.
    [settings.data.clone()].into_iter().chain(key).chain(blobs).chain(database).collect()
}

pub(super) fn open_gateway(
    settings: &Settings,
    plane: &Arc<Plane>,
    doors: &Doors,
) -> Result<Gateway<Plane>, StartError> {
    let gateway = milepost_gateway::Settings {
        domain: settings.domain.clone(),
        cache_folder: Some(settings.data.join("cache/files")),
        operator_words: settings.operator_words,
        limits: Limits { connections: doors.gateway, inside_connections: doors.inside, ..Limits::default() },
        ..milepost_gateway::Settings::default()
    };
    Ok(Gateway::new(gateway, Arc::clone(plane))?)
}
