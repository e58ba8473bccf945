//! Keeps the package managers' downloads of an app's builds for the app's next build.
//!
//! The directory is moved into the build room and back, so a build owns it exclusively: builds of
//! other apps never see it, and the second of two concurrent builds of one app starts with an empty
//! cache.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::disk::taken;
use super::room::Folder;
use crate::removal::remove_folder;

/// Larger caches are discarded: the cache moves along with every build and counts against what the
/// build may write.
const MOST: u64 = 2 << 30;
const MOST_FILES: u64 = 100_000;

/// A cache directory that is currently lent to a build.
pub(super) struct Cached {
    home: PathBuf,
    folder: Arc<Folder>,
}

impl Cached {
    /// Blocks. Errors are ignored: a build without a cache works, only slower.
    pub(super) fn lend(home: PathBuf, folder: Arc<Folder>) -> Self {
        let lent = folder.cache();
        if fs::rename(&home, &lent).is_err() {
            let _ = DirBuilder::new().mode(0o755).create(&lent);
        }
        Self { home, folder }
    }

    /// Blocks. No process of the build may still be running.
    pub(super) fn take_back(self, now: SystemTime) {
        if let Err(error) = self.keep(now) {
            tracing::warn!(folder = %self.home.display(), %error, "what a build downloaded could not be kept");
        }
    }

    fn keep(&self, now: SystemTime) -> io::Result<()> {
        let lent = self.folder.cache();
        // The build may have replaced the directory with a symlink.
        if !lent.symlink_metadata()?.is_dir() {
            return Ok(());
        }
        let found = taken(&lent);
        if !found.whole || found.files == 0 || found.bytes > MOST || found.files > MOST_FILES {
            return Ok(());
        }
        if let Some(parent) = self.home.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        }
        // The sweep goes by modification time.
        File::open(&lent)?.set_modified(now)?;
        // Another build of the app may have left a cache here in the meantime.
        if self.home.exists() {
            remove_folder(&self.home)?;
        }
        fs::rename(&lent, &self.home)
    }
}

/// Removes caches that no build has used since `before`, then the oldest ones until the total is at
/// most `most` bytes. Blocks.
pub fn sweep_build_caches(folder: &Path, before: SystemTime, most: u64) -> io::Result<()> {
    let mut caches = Vec::new();
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries.flatten() {
        let Ok(used) = entry.metadata().and_then(|found| found.modified()) else { continue };
        if used < before {
            remove_folder(&entry.path())?;
        } else {
            caches.push((used, entry.path()));
        }
    }
    caches.sort();
    let mut left = most;
    for (_, path) in caches.iter().rev() {
        match left.checked_sub(taken(path).bytes) {
            Some(rest) => left = rest,
            None => {
                left = 0;
                remove_folder(path)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn sweep_removes_stale_caches_then_the_oldest_over_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        for (name, hours) in [("unused", 500), ("older", 3), ("newer", 2)] {
            let path = folder.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("wheel"), vec![1; 1 << 20]).unwrap();
            File::open(&path).unwrap().set_modified(now - Duration::from_secs(hours * 3600)).unwrap();
        }
        sweep_build_caches(folder.path(), now - Duration::from_secs(400 * 3600), 3 << 19).unwrap();
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(left, ["newer"]);
        sweep_build_caches(&folder.path().join("none"), now, 0).unwrap();
    }
}
