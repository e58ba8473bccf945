//! What a folder needs besides `object_store`: durable directories for packs, created up front, and
//! the removal of staged files left by a crash.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::time::Duration;

use milepost_model::{Clock as _, SystemClock, Timestamp, clock};

use crate::pack::PACKS;

/// An upload writes to its staged file all the time. A file untouched for this long has lost its
/// writer.
const STAGED_FILE_REST: Duration = Duration::from_secs(3600);

/// Creates the directories and syncs them. All 256 are created here rather than on demand: of two
/// uploads that need the same new directory, the one that finds it existing would not wait until
/// its entry is on disk.
pub(crate) fn prepare(root: &Path) -> io::Result<()> {
    let root = std::path::absolute(root)?;
    let packs = root.join(PACKS);
    let missing: Vec<&Path> = root.ancestors().take_while(|folder| !folder.exists()).collect();
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    for shard in 0..=u8::MAX {
        builder.create(packs.join(format!("{shard:02x}")))?;
    }
    // Also if nothing was created: an earlier process may have been killed before its sync.
    sync_folder(&packs)?;
    sync_folder(&root)?;
    for parent in missing.into_iter().filter_map(Path::parent) {
        sync_folder(parent)?;
    }
    // File times come from the machine's clock, so they must not be compared with an injected one.
    let now = SystemClock.now();
    remove_staged(&packs, clock::from_millis(now.as_millisecond() - millis(STAGED_FILE_REST)))
}

/// Removes staged files (`<name>#<number>`) that were last written before `before`. Reads names
/// only: 200,000 packs take 0.14 s with cached directories.
fn remove_staged(packs: &Path, before: Timestamp) -> io::Result<()> {
    for shard in fs::read_dir(packs)? {
        let shard = shard?;
        if !shard.file_type()?.is_dir() {
            continue;
        }
        for entry in fs::read_dir(shard.path())? {
            let entry = entry?;
            if !entry.file_name().to_string_lossy().contains('#') {
                continue;
            }
            match remove_if_older(&entry, before) {
                // Its upload has ended in the meantime.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                other => other?,
            }
        }
    }
    Ok(())
}

fn remove_if_older(entry: &fs::DirEntry, before: Timestamp) -> io::Result<()> {
    let modified = Timestamp::try_from(entry.metadata()?.modified()?).map_err(io::Error::other)?;
    if modified < before {
        fs::remove_file(entry.path())?;
        tracing::info!(file = %entry.path().display(), "removed what a cut off upload left");
    }
    Ok(())
}

fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn creates_folders_only_for_the_owner() {
        let home = tempfile::tempdir().expect("a folder");
        let root = home.path().join("a/blobs");
        prepare(&root).expect("made");
        prepare(&root).expect("made again");
        let mode = fs::metadata(&root).expect("exists").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn opening_removes_only_stale_staged_files() {
        let home = tempfile::tempdir().expect("a folder");
        prepare(home.path()).expect("made");
        let shard = home.path().join("packs/ab");
        let rested = SystemTime::UNIX_EPOCH;
        for (name, old) in [("ab01#1", true), ("ab02#1", false), ("ab03", true)] {
            let file = File::create(shard.join(name)).expect("made");
            if old {
                file.set_modified(rested).expect("old");
            }
        }
        prepare(home.path()).expect("swept");
        let mut left: Vec<_> =
            fs::read_dir(&shard).expect("read").map(|entry| entry.expect("entry").file_name()).collect();
        left.sort();
        assert_eq!(left, ["ab02#1", "ab03"]);
    }
}
