//! Files of packages on this machine's disk, where functions run from. A package is written beside its place and
//! renamed into it, so what is there is whole; what a digest names never changes, so it is written once.
//!
//! The request path does without the database, and the first call of a function needs its package. So where the files of
//! a package lie is noted beside it ([`super::package_note`]) when a view is made, while the database is there.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use futures::stream::{self, StreamExt};
use milepost_model::tree::Tree;
use milepost_model::{Digest, IdSource, OsIds};
use milepost_runtime::{HostError, Package};
use tokio::sync::OnceCell;

use super::package_note as note;
use crate::checkout::{self, Access, Places};
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
        fs::create_dir_all(folder.join(NOTES))?;
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
        let note = self.note_of(root);
        let known = note::read(&note).await;
        let outcome = match &known {
            Some((tree, places)) => self.bring(root, tree, places, &place).await,
            None => self.look_up_and_bring(root, &place).await,
        };
        let package = match (outcome, known) {
            // The blobs may have moved since: the catalog knows.
            (Err(_), Some(_)) => self.look_up_and_bring(root, &place).await?,
            (outcome, _) => outcome?,
        };
        let _ = tokio::fs::remove_file(note).await;
        Ok(package)
    }

    async fn look_up_and_bring(&self, root: Digest, place: &Path) -> Result<Package, HostError> {
        let tree = trees::load(&self.store, root).await.map_err(|error| failed(root, &error.0))?;
        let places = checkout::locate(&self.store, &tree).await.map_err(|error| failed(root, &error))?;
        self.bring(root, &tree, &places, place).await
    }

    async fn bring(&self, root: Digest, tree: &Tree, places: &Places, place: &Path) -> Result<Package, HostError> {
        let staged = self.staged();
        let written = checkout::write_from(&self.store.blobs, tree, places, &staged, Access::ReadOnly).await;
        if let Err(error) = written.and_then(|()| publish(&staged, place)) {
            let _ = fs::remove_dir_all(&staged);
            return Err(failed(root, &error));
        }
        Ok(Package { folder: place.to_owned(), files: tree.len() })
    }

    /// Makes sure that these packages can be had without the database. Gives those that can; the others are asked for again
    /// with the next view.
    pub(crate) async fn note(&self, roots: Vec<Digest>) -> Vec<Digest> {
        let noted = stream::iter(roots).map(|root| async move {
            let noted = self.note_one(root).await;
            noted.inspect_err(|error| tracing::warn!(%error, package = %root, "a package needs the database")).ok()
        });
        noted.buffer_unordered(NOTES_AT_ONCE).filter_map(std::future::ready).collect().await
    }

    async fn note_one(&self, root: Digest) -> Result<Digest, String> {
        let note = self.note_of(root);
        if tokio::fs::try_exists(self.folder.join(root.hex())).await.unwrap_or(false) || note::is_there(&note).await {
            return Ok(root);
        }
        let tree = trees::load(&self.store, root).await.map_err(|error| error.0.message)?;
        let places = checkout::locate(&self.store, &tree).await.map_err(|error| error.to_string())?;
        note::write(&note, &self.staged(), &tree, &places).await.map_err(|error| error.to_string())?;
        Ok(root)
    }

    fn note_of(&self, root: Digest) -> PathBuf {
        self.folder.join(NOTES).join(root.hex())
    }

    /// A name that nobody else has.
    fn staged(&self) -> PathBuf {
        let mut name = [0u8; 8];
        OsIds.fill(&mut name);
        self.folder.join(STAGING).join(format!("{:016x}", u64::from_le_bytes(name)))
    }
}

const STAGING: &str = "staging";
const NOTES: &str = "notes";
const NOTES_AT_ONCE: usize = 8;

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
