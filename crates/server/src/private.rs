//! What is only the owner's business, also in a data folder that others may look into: it may have been there before.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// A SQLite file, made if it is not there. What SQLite puts beside it gets its mode, but may be there from before.
pub(crate) fn database(path: &Path) -> io::Result<()> {
    file(path)?;
    for end in ["-wal", "-shm"] {
        let mut beside = path.as_os_str().to_owned();
        beside.push(end);
        if fs::exists(&beside)? {
            file(Path::new(&beside))?;
        }
    }
    Ok(())
}

/// Makes the file if it is not there.
pub(crate) fn file(path: &Path) -> io::Result<()> {
    let opened = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
    close_to_others(opened.metadata()?.permissions(), |mode| opened.set_permissions(mode))
}

pub(crate) fn folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    close_to_others(fs::metadata(path)?.permissions(), |mode| fs::set_permissions(path, mode))
}

fn close_to_others(found: Permissions, set: impl FnOnce(Permissions) -> io::Result<()>) -> io::Result<()> {
    let mode = found.mode() & 0o7777;
    if mode & 0o077 == 0 { Ok(()) } else { set(Permissions::from_mode(mode & !0o077)) }
}
