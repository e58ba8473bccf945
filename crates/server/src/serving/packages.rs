//! Package files on the local disk, where functions run from. A package is staged and then renamed
//! into place, so every package present is complete. A digest always names the same content, so it
//! is written only once.
//!
//! Requests must work without the database, but the first call of a function needs its package.
//! Therefore a note with the locations of the package's files ([`super::package_note`]) is written
//! after a view is built, while the database is reachable. Views do not wait for it: it queries the
//! catalog and reads from the blob store, which may be slow.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use futures::stream::{self, StreamExt};
use milepost_model::tree::Tree;
use milepost_model::{AppName, Digest, IdSource, OsIds};
use milepost_runtime::{HostError, Package};
use tokio::sync::OnceCell;

use super::package_needs::{Needs, Work};
use super::package_note as note;
use super::package_sweep::mark_used;
use crate::content::checkout::{self, Access, Places};
use crate::content::trees;
use crate::state::Store;

/// One cell per package, so that concurrent calls write it only once.
pub(super) type Cell = Arc<OnceCell<Package>>;

pub(crate) struct Packages {
    pub(super) folder: PathBuf,
    pub(super) store: Store,
    known: Mutex<HashMap<Digest, Cell>>,
    needs: Mutex<Needs>,
    /// Whether every app's view was built once. Before that, a package that seems unused may still
    /// be needed.
    pub(super) needs_told: AtomicBool,
    /// Serializes sweeps.
    pub(super) sweeping: tokio::sync::Mutex<()>,
}

impl Packages {
    /// Removes partially written packages left by a crash, and all notes: it is not known yet which
    /// are needed, and a server without views needs the database anyway.
    pub(crate) fn open(folder: PathBuf, store: Store) -> io::Result<Self> {
        for anew in [STAGING, NOTES].map(|name| folder.join(name)) {
            match fs::remove_dir_all(&anew) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            fs::create_dir_all(&anew)?;
        }
        Ok(Self {
            folder,
            store,
            known: Mutex::default(),
            needs: Mutex::default(),
            needs_told: AtomicBool::new(false),
            sweeping: tokio::sync::Mutex::default(),
        })
    }

    pub(crate) async fn get(&self, root: Digest) -> Result<Package, HostError> {
        let cell = Arc::clone(self.known().entry(root).or_default());
        let package = cell.get_or_try_init(|| self.prepare(root)).await?.clone();
        let (place, now) = (package.folder.clone(), SystemTime::from(self.store.catalog.now()));
        let marked =
            tokio::task::spawn_blocking(move || mark_used(&place, now)).await.map_err(io::Error::other).flatten();
        if let Err(error) = marked {
            // At worst, the package is removed early and fetched again.
            tracing::debug!(%error, package = %root, "the use of a package was not marked");
        }
        Ok(package)
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
            // The blobs may have moved since the note was written; the catalog is up to date.
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

    /// Sets the packages that the app's view needs. They should soon be available without the
    /// database.
    pub(crate) fn need(self: &Arc<Self>, app: &AppName, packages: HashSet<Digest>) {
        if self.needs().set(app, packages) {
            tokio::spawn(Arc::clone(self).work());
        }
    }

    pub(crate) fn all_needs_are_told(&self) {
        self.needs_told.store(true, Ordering::Relaxed);
    }

    /// Retries failed notes after a delay.
    pub(crate) fn note_again(self: &Arc<Self>) {
        if self.needs().again() {
            tokio::spawn(Arc::clone(self).work());
        }
    }

    async fn work(self: Arc<Self>) {
        let mut at_work = AtWork { packages: &self, is_done: false };
        loop {
            // A separate statement, so that the lock is not held during the work.
            let next = self.needs().next();
            let Some(Work { remove, note }) = next else {
                at_work.is_done = true;
                return;
            };
            for root in remove {
                let _ = tokio::fs::remove_file(self.note_of(root)).await;
            }
            let noting = note.into_iter().map(|root| self.note_and_say(root));
            stream::iter(noting).buffer_unordered(NOTES_AT_ONCE).collect::<()>().await;
        }
    }

    async fn note_and_say(&self, root: Digest) {
        match self.note(root).await {
            Ok(()) => self.needs().noted(root),
            Err(error) => tracing::warn!(%error, package = %root, "a package needs the database"),
        }
    }

    async fn note(&self, root: Digest) -> Result<(), String> {
        let note = self.note_of(root);
        if self.is_here(root).await || note::is_there(&note).await {
            return Ok(());
        }
        // Only the slow part has a timeout: a write must complete or clean up.
        let located = tokio::time::timeout(NOTE_TIMEOUT, self.locate(root)).await;
        let (tree, places) = located.map_err(|_| "the blob store, or the database, is slow".to_owned())??;
        note::write(&note, &self.staged(), &tree, &places).await.map_err(|error| error.to_string())?;
        if self.is_here(root).await {
            // The package was fetched meanwhile, possibly before there was a note to remove.
            let _ = tokio::fs::remove_file(note).await;
        }
        Ok(())
    }

    async fn locate(&self, root: Digest) -> Result<(Tree, Places), String> {
        let tree = trees::load(&self.store, root).await.map_err(|error| error.0.message)?;
        let places = checkout::locate(&self.store, &tree).await.map_err(|error| error.to_string())?;
        Ok((tree, places))
    }

    async fn is_here(&self, root: Digest) -> bool {
        tokio::fs::try_exists(self.folder.join(root.hex())).await.unwrap_or(false)
    }

    pub(super) fn known(&self) -> MutexGuard<'_, HashMap<Digest, Cell>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn needs(&self) -> MutexGuard<'_, Needs> {
        self.needs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_of(&self, root: Digest) -> PathBuf {
        self.folder.join(NOTES).join(root.hex())
    }

    /// A unique path in the staging directory.
    pub(super) fn staged(&self) -> PathBuf {
        let mut name = [0u8; 8];
        OsIds.fill(&mut name);
        self.folder.join(STAGING).join(format!("{:016x}", u64::from_le_bytes(name)))
    }
}

/// The running task. If it panics, dropping this lets another task take over.
struct AtWork<'a> {
    packages: &'a Packages,
    is_done: bool,
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        // A completed task has already been marked as stopped, and another one may have started
        // since.
        if !self.is_done {
            self.packages.needs().stop();
        }
    }
}

const STAGING: &str = "staging";
const NOTES: &str = "notes";
const NOTES_AT_ONCE: usize = 8;
const NOTE_TIMEOUT: Duration = Duration::from_secs(30);

fn publish(staged: &Path, place: &Path) -> io::Result<()> {
    fs::set_permissions(staged, fs::Permissions::from_mode(0o755))?;
    match fs::rename(staged, place) {
        // Another caller was faster, with the same content.
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

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn cancelled_work_is_resumed_by_the_next_task() {
        let data = tempfile::tempdir().expect("a folder");
        let mut settings = crate::Settings::new(data.path().to_owned(), ([127, 0, 0, 1], 0).into());
        settings.spares = Some(0);
        let server = crate::Server::start(settings).await.expect("a server");
        let packages = Arc::clone(&server.installs_due().0.plane.packages);
        let app: AppName = "shop".parse().expect("a name");
        let set = |name: &str| packages.needs().set(&app, HashSet::from([Digest::of(name.as_bytes())]));
        assert!(set("one"), "there is work");
        // Cancelled, unless it happened to complete at once.
        let _ = Arc::clone(&packages).work().now_or_never();
        assert!(set("two"), "no task has the turn");
    }
}
