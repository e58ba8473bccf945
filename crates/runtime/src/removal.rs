//! Removing folders in which others wrote.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(20);

/// Removes a folder whatever was made of its permissions. Processes of a server that was killed end a moment after it and
/// may still write: then it is tried again for a second. A folder that is not there is removed already.
pub(crate) fn remove_folder(path: &Path) -> io::Result<()> {
    let mut tries = 0;
    loop {
        tries += 1;
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() == ErrorKind::NotFound && !path.exists() => return Ok(()),
            Err(error) if tries < TRIES => match error.kind() {
                // Some tools make what they installed read-only, folders too.
                ErrorKind::PermissionDenied if tries == 1 => open_up(path),
                ErrorKind::DirectoryNotEmpty | ErrorKind::NotFound => std::thread::sleep(PAUSE),
                _ => return Err(error),
            },
            done => return done,
        }
    }
}

/// As far as it goes: what stays closed shows in the removal.
fn open_up(path: &Path) {
    if !path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        return;
    }
    let _ = fs::set_permissions(path, Permissions::from_mode(0o700));
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        open_up(&entry.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_was_closed_is_removed_and_one_that_is_not_there_is_no_error() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("a");
        fs::create_dir_all(folder.join("b/c")).unwrap();
        fs::write(folder.join("b/c/file"), "").unwrap();
        for part in ["b/c", "b"] {
            fs::set_permissions(folder.join(part), Permissions::from_mode(0o000)).unwrap();
        }
        remove_folder(&folder).unwrap();
        assert!(!folder.exists());
        remove_folder(&folder).unwrap();
    }
}
