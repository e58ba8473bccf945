//! The data folder.

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use milepost_client::api::ServerFile;

use super::StartError;
use crate::keyring::write_owner_only;

pub(super) fn data_error(path: &Path, source: std::io::Error) -> StartError {
    StartError::Data { path: path.display().to_string(), source }
}

pub(super) fn make_data_folder(path: &Path) -> Result<(), StartError> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|source| data_error(path, source))
}

/// Uses a kernel lock, which is released however the process ends. The file contains the PID of the
/// owner.
pub(super) fn lock_data_folder(path: &Path) -> Result<fs::File, StartError> {
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

pub(super) fn write_server_file(path: &Path, address: SocketAddr, gateway: Option<String>) -> std::io::Result<()> {
    let file = ServerFile { api: format!("http://{address}"), gateway, pid: std::process::id() };
    write_owner_only(path, &serde_json::to_vec(&file).map_err(std::io::Error::other)?)
}
