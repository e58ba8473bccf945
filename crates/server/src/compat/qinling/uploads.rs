//! Temporary directories of uploaded packages, and their cleanup after a crash.

use std::path::{Path, PathBuf};
use std::{fs, io};

use tempfile::TempDir;

/// Each upload has its own directory in the data directory, where disk space is planned for.
const PREFIX: &str = "v1-upload-";

/// Creates a directory that is deleted on drop.
pub(super) fn folder(data: &Path) -> io::Result<TempDir> {
    tempfile::Builder::new().prefix(PREFIX).tempdir_in(data)
}

/// Removes uploads left by earlier processes. Must be called before this server accepts requests
/// and while it holds the lock of the data directory, so that all uploads found are stale. Deletes
/// in the background, since they may be large.
pub(crate) fn sweep(data: &Path) {
    let left = match left_over(data) {
        Ok(left) if left.is_empty() => return,
        Ok(left) => left,
        Err(error) => {
            tracing::warn!(%error, "what is left of uploads could not be looked for");
            return;
        }
    };
    tokio::task::spawn_blocking(move || {
        for folder in left {
            match fs::remove_dir_all(&folder) {
                Ok(()) => tracing::info!(folder = %folder.display(), "removed an upload that a crash left behind"),
                Err(error) => {
                    tracing::warn!(%error, folder = %folder.display(), "an upload that a crash left behind stays");
                }
            }
        }
    });
}

fn left_over(data: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(data)? {
        let entry = entry?;
        let ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        // Ignores symlinks: they are never uploads, and their targets must not be deleted.
        if ours && entry.file_type()?.is_dir() {
            found.push(entry.path());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_only_upload_directories() {
        let data = tempfile::tempdir().expect("a folder");
        let upload = folder(data.path()).expect("a folder");
        let elsewhere = tempfile::tempdir().expect("a folder");
        fs::create_dir(data.path().join("blobs")).expect("a folder");
        fs::write(data.path().join("v1-upload-file"), "x").expect("a file");
        std::os::unix::fs::symlink(elsewhere.path(), data.path().join("v1-upload-link")).expect("a link");
        assert_eq!(left_over(data.path()).expect("a list"), [upload.path()]);
    }
}
