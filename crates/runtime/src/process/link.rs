//! Puts a package's files into the directory that a waiting worker already sees.

use std::fs;
use std::io;
use std::path::Path;

/// Larger trees are bind-mounted into a fresh sandbox instead.
pub(crate) const MOST_FILES: usize = 2_000;

/// Makes hard links on the same file system, copies otherwise. The worker sees the directory
/// read-only either way.
pub(crate) fn link_tree(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            fs::create_dir(&target)?;
            link_tree(&source, &target)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&source)?, &target)?;
        } else if let Err(error) = fs::hard_link(&source, &target) {
            match error.kind() {
                // Also returned when a file has reached the file system's limit of links.
                io::ErrorKind::CrossesDevices | io::ErrorKind::TooManyLinks | io::ErrorKind::PermissionDenied => {
                    fs::copy(&source, &target)?;
                }
                _ => return Err(error),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn links_a_tree_with_folders_and_symlinks() {
        let root = tempfile::tempdir().unwrap();
        let (from, to) = (root.path().join("from"), root.path().join("to"));
        fs::create_dir_all(from.join("a/b")).unwrap();
        fs::create_dir(&to).unwrap();
        fs::write(from.join("a/b/c.py"), "pass").unwrap();
        std::os::unix::fs::symlink("a/b/c.py", from.join("link.py")).unwrap();
        link_tree(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("link.py")).unwrap(), "pass");
        assert_eq!(
            fs::metadata(to.join("a/b/c.py")).unwrap().ino(),
            fs::metadata(from.join("a/b/c.py")).unwrap().ino()
        );
    }
}
