//! Files of packages on this machine's disk, where functions run from. A package is written beside its place and
//! renamed into it, so what is there is whole; what a digest names never changes, so it is written once.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use milepost_model::{Digest, IdSource, OsIds};
use milepost_runtime::{HostError, Package};
use tokio::sync::OnceCell;

use crate::checkout::{self, Access};
use crate::state::Store;
use crate::trees;

/// One cell a package, so that calls that come together write it once.
type Cell = Arc<OnceCell<Package>>;

pub(crate) struct Packages {
    folder: PathBuf,
    store: Store,
    known: Mutex<HashMap<Digest, Cell>>,
}

impl Packages {
    /// Removes what a crash left half written.
    pub(crate) fn open(folder: PathBuf, store: Store) -> io::Result<Self> {
        let staging = folder.join(STAGING);
        match fs::remove_dir_all(&staging) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::create_dir_all(&staging)?;
        Ok(Self { folder, store, known: Mutex::default() })
    }

    pub(crate) async fn get(&self, root: Digest) -> Result<Package, HostError> {
        let cell = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(known.entry(root).or_default())
        };
        cell.get_or_try_init(|| self.prepare(root)).await.cloned()
    }

    async fn prepare(&self, root: Digest) -> Result<Package, HostError> {
        let place = self.folder.join(root.hex());
        let counted = {
            let place = place.clone();
            tokio::task::spawn_blocking(move || count_files(&place)).await.map_err(|error| failed(root, &error))?
        };
        if let Ok(files) = counted {
            return Ok(Package { folder: place, files });
        }
        let tree = trees::load(&self.store, root).await.map_err(|error| failed(root, &error.0))?;
        let mut name = [0u8; 8];
        OsIds.fill(&mut name);
        let staged = self.folder.join(STAGING).join(format!("{:016x}", u64::from_le_bytes(name)));
        let written = checkout::write(&self.store, &tree, &staged, Access::ReadOnly).await;
        if let Err(error) = written.and_then(|()| publish(&staged, &place)) {
            let _ = fs::remove_dir_all(&staged);
            return Err(failed(root, &error));
        }
        Ok(Package { folder: place, files: tree.len() })
    }
}

const STAGING: &str = "staging";

fn publish(staged: &Path, place: &Path) -> io::Result<()> {
    fs::set_permissions(staged, fs::Permissions::from_mode(0o755))?;
    match fs::rename(staged, place) {
        // Somebody else was faster, with the same content.
        Err(_) if place.is_dir() => fs::remove_dir_all(staged),
        other => other,
    }
}

fn failed(root: Digest, error: &dyn std::error::Error) -> HostError {
    tracing::error!(error = %error, package = %root, "a package could not be brought to this machine");
    HostError(format!("the files of its package could not be read ({error})"))
}

fn count_files(folder: &Path) -> io::Result<usize> {
    let mut files = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else {
                files += 1;
            }
        }
    }
    Ok(files)
}
