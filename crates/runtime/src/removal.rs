//! Removes directories that untrusted code has written to.

use std::ffi::{CStr, CString};
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(20);
/// Each level costs a descriptor and a stack frame, so directories below this depth are moved up
/// first.
const DEEPEST: u32 = 64;
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Removes a directory whatever its permissions and depth, without following symlinks. Processes of
/// a killed server may outlive it for a moment and still write, so removal is retried for a second.
/// A directory that does not exist counts as removed.
pub(crate) fn remove_folder(path: &Path) -> io::Result<()> {
    let mut names = 0;
    let mut tries = 0;
    loop {
        tries += 1;
        match remove_once(path, &mut names) {
            Err(error) if error.kind() == ErrorKind::NotFound && !path.exists() => return Ok(()),
            Err(error) if tries < TRIES => match error.kind() {
                ErrorKind::DirectoryNotEmpty | ErrorKind::NotFound => std::thread::sleep(PAUSE),
                _ => return Err(error),
            },
            done => return done,
        }
    }
}

fn remove_once(path: &Path, names: &mut u64) -> io::Result<()> {
    let top = match open(CWD, path) {
        // A symlink is removed, anything else is an error.
        Err(Errno::NOTDIR | Errno::LOOP) => return fs::remove_dir_all(path),
        top => top?,
    };
    let mut removal = Removal { top: top.try_clone()?, names, lifted: Vec::new() };
    removal.empty(top, 0)?;
    while let Some(name) = removal.lifted.pop() {
        match open(&removal.top, name.as_c_str()) {
            // Already found and removed at the place it was moved to.
            Err(Errno::NOENT) => continue,
            folder => removal.empty(folder?, 1)?,
        }
        rustix::fs::unlinkat(&removal.top, &name, AtFlags::REMOVEDIR)?;
    }
    fs::remove_dir(path)
}

struct Removal<'a> {
    top: OwnedFd,
    /// The number of the last generated name.
    names: &'a mut u64,
    /// Directories that were moved to the top and are not removed yet.
    lifted: Vec<CString>,
}

impl Removal<'_> {
    fn empty(&mut self, folder: OwnedFd, depth: u32) -> io::Result<()> {
        let mut folder = Dir::new(folder)?;
        while let Some(entry) = folder.read() {
            let entry = entry?;
            let (at, name) = (folder.fd()?, entry.file_name());
            if name == c"." || name == c".." {
                continue;
            }
            if entry.file_type() != FileType::Directory {
                match rustix::fs::unlinkat(at, name, AtFlags::empty()) {
                    // Some file systems do not report the type of an entry.
                    Err(Errno::ISDIR) => {}
                    Ok(()) | Err(Errno::NOENT) => continue,
                    Err(error) => return Err(error.into()),
                }
            }
            // Opened in any case: a directory without permissions cannot be moved either.
            let inner = match open(at, name) {
                Err(Errno::NOENT) => continue,
                inner => inner?,
            };
            if depth == DEEPEST {
                drop(inner);
                self.lift(at, name)?;
                continue;
            }
            self.empty(inner, depth + 1)?;
            match rustix::fs::unlinkat(at, name, AtFlags::REMOVEDIR) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn lift(&mut self, from: impl AsFd, name: &CStr) -> io::Result<()> {
        loop {
            *self.names += 1;
            let fresh = CString::new(format!(".lifted-{}", self.names))?;
            match rustix::fs::renameat_with(&from, name, &self.top, &fresh, RenameFlags::NOREPLACE) {
                Ok(()) => self.lifted.push(fresh),
                // The name is taken, by the content or by an earlier attempt.
                Err(Errno::EXIST) => continue,
                Err(Errno::NOENT) => {}
                Err(error) => return Err(error.into()),
            }
            return Ok(());
        }
    }
}

/// Opens a directory and makes its content removable: some tools make their installations
/// read-only, directories included. If that fails, the removal reports it.
fn open(at: impl AsFd, name: impl rustix::path::Arg + Copy) -> Result<OwnedFd, Errno> {
    let at = at.as_fd();
    let opened = rustix::fs::openat(at, name, FOLDER | OFlags::RDONLY, Mode::empty());
    let folder = match opened {
        Err(Errno::ACCESS) => {
            // `fchmod` does not work on an `O_PATH` descriptor, but its path in `/proc` does.
            let closed = rustix::fs::openat(at, name, FOLDER | OFlags::PATH, Mode::empty())?;
            let named = PathBuf::from(format!("/proc/self/fd/{}", closed.as_raw_fd()));
            let _ = fs::set_permissions(named, Permissions::from_mode(0o700));
            rustix::fs::openat(at, name, FOLDER | OFlags::RDONLY, Mode::empty())?
        }
        opened => opened?,
    };
    if rustix::fs::fstat(&folder)?.st_mode & 0o700 != 0o700 {
        let _ = rustix::fs::fchmod(&folder, Mode::RWXU);
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_a_folder_without_permissions_and_accepts_a_missing_one() {
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

    #[test]
    fn removes_a_very_deep_folder_and_keeps_the_targets_of_links() {
        let root = tempfile::tempdir().unwrap();
        let (folder, other) = (root.path().join("a"), root.path().join("other"));
        for made in [&folder, &other] {
            fs::create_dir(made).unwrap();
        }
        fs::write(other.join("file"), "").unwrap();
        // The full path is longer than any path may be.
        let mut here = open(CWD, folder.as_path()).unwrap();
        for level in 0..5_000 {
            if level % 50 == 0 {
                rustix::fs::symlinkat(&other, &here, "link").unwrap();
                rustix::fs::mkdirat(&here, "side", Mode::empty()).unwrap();
                // A name that the removal would pick.
                rustix::fs::mkdirat(&here, ".lifted-1", Mode::RWXU).unwrap();
            }
            rustix::fs::mkdirat(&here, "d", Mode::RWXU).unwrap();
            let inner = open(&here, "d").unwrap();
            if level % 100 == 0 {
                rustix::fs::fchmod(&here, Mode::RUSR | Mode::XUSR).unwrap();
            }
            here = inner;
        }
        drop(here);
        remove_folder(&folder).unwrap();
        let left: Vec<_> = fs::read_dir(root.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["other"]);
        assert!(other.join("file").exists());
    }

    #[test]
    fn removes_a_link_and_keeps_its_target() {
        let root = tempfile::tempdir().unwrap();
        let (folder, link) = (root.path().join("a"), root.path().join("link"));
        fs::create_dir(&folder).unwrap();
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        remove_folder(&link).unwrap();
        assert!(folder.exists() && link.symlink_metadata().is_err());
    }
}
