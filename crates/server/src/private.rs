//! What is only the owner's business, also in a data folder that others may look into: it may have been there before.
//!
//! What is there is closed if that is possible. A file of another owner, or one of a read-only mount, is used as it is.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// A SQLite file, made if it is not there. What SQLite puts beside it gets its mode, but may be there from before.
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

/// Makes the folder if it is not there.
pub(crate) fn folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    close_to_others(path);
    Ok(())
}

/// Takes away what others may do with it, if it is there.
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

    /// The kernel lets nobody change a mode below `/proc`, not even root.
    #[test]
    fn what_cannot_be_closed_to_others_is_used_as_it_is() {
        let (process, status) = (Path::new("/proc/self"), Path::new("/proc/self/status"));
        for path in [process, status] {
            try_to_close(path).expect_err("it cannot be closed");
        }
        folder(process).expect("it can be used");
        database(status).expect("it can be used");
    }

    #[test]
    fn what_is_closed_already_is_left_alone_and_what_is_not_there_is_not_made() {
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
