//! Restricts files to their owner, even in a data directory that others may read, since it may have
//! existed before.
//!
//! Existing files are restricted if possible. A file of another owner, or on a read-only mount, is
//! used as it is.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Creates the SQLite file if it does not exist. SQLite creates its `-wal` and `-shm` files with
/// the same mode, but they may already exist with another.
pub(crate) fn database(path: &Path) -> io::Result<()> {
    if !fs::exists(path)? {
        OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
    }
    close_to_others(path);
    for end in ["-wal", "-shm"] {
        let mut beside = path.as_os_str().to_owned();
        beside.push(end);
        close_to_others(Path::new(&beside));
    }
    Ok(())
}

pub(crate) fn folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    close_to_others(path);
    Ok(())
}

/// Removes the permissions of group and others, if the path exists.
pub(crate) fn close_to_others(path: &Path) {
    match try_to_close(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            let path = path.display();
            tracing::warn!(%error, "others may look into `{path}`; run `chmod go= {path}` as its owner");
        }
        Ok(()) | Err(_) => {}
    }
}

fn try_to_close(path: &Path) -> io::Result<()> {
    let mode = fs::metadata(path)?.permissions().mode() & 0o7777;
    if mode & 0o077 == 0 { Ok(()) } else { fs::set_permissions(path, Permissions::from_mode(mode & !0o077)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel does not allow changing a mode below `/proc`, not even as root.
    #[test]
    fn uses_paths_whose_mode_cannot_be_changed() {
        let (process, status) = (Path::new("/proc/self"), Path::new("/proc/self/status"));
        for path in [process, status] {
            try_to_close(path).expect_err("it cannot be closed");
        }
        folder(process).expect("it can be used");
        database(status).expect("it can be used");
    }

    #[test]
    fn restricts_only_existing_paths_that_are_open_to_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        close_to_others(&path);
        assert!(!path.exists());
        fs::write(&path, "").expect("it is written");
        for (before, after) in [(0o400, 0o400), (0o644, 0o600), (0o755, 0o700)] {
            fs::set_permissions(&path, Permissions::from_mode(before)).expect("its mode is set");
            close_to_others(&path);
            assert_eq!(fs::metadata(&path).expect("it is there").permissions().mode() & 0o7777, after);
        }
    }
}
