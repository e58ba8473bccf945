//! The database and the blob store.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use milepost_blobs::Blobs;
use milepost_catalog::Catalog;

use super::StartError;
use super::data::data_error;
use crate::keyring::Keyring;
use crate::private;
use crate::settings::Settings;

/// A reachable store answers within a few seconds, even after a retry.
pub(super) const BLOBS_PATIENCE: Duration = Duration::from_secs(8);

pub(super) async fn open_catalog(settings: &Settings) -> Result<Catalog, StartError> {
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
    let (listen, clock) = (settings.database_listen.as_deref(), Arc::clone(&settings.clock));
    let opened = Catalog::open_listening(url, listen, clock, Arc::clone(&settings.ids)).await;
    let catalog = opened.map_err(|source| StartError::Database { next, source })?;
    // Without a gateway, `--domain` may differ from the one that other nodes serve.
    Ok(if settings.gateway.is_some() { catalog.serving_under(&settings.domain) } else { catalog })
}

/// All servers on one database must be able to read each other's sealed secrets.
pub(super) async fn check_key(catalog: &Catalog, keyring: &Keyring, data: &Path) -> Result<(), StartError> {
    if catalog.agree("secret key", &keyring.name()).await? == keyring.name() {
        return Ok(());
    }
    Err(StartError::OtherKey { path: data.join("secret.key").display().to_string() })
}

/// Opening a bucket makes no request, so without this check a wrong name or key would only show
/// with the first upload.
pub(super) async fn open_blobs(settings: &Settings) -> Result<Blobs, StartError> {
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
