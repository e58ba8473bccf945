//! What a folder needs before and beside `object_store`: the folders for packs, made durable once, and the removal of
//! staged files that a crash left.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::time::Duration;

use milepost_model::{Clock as _, SystemClock, Timestamp, clock};

use crate::pack::PACKS;

/// A staged file is written to all the time while its upload lives; one that rested this long has lost its writer.
const STAGED_FILE_REST: Duration = Duration::from_secs(3600);

/// Makes the folders and syncs them. All 256 are made here, and not with the first pack that needs one: of two uploads
/// that need the same new folder, the one that finds it made already would not wait until its entry is on disk.
pub(crate) fn prepare(root: &Path) -> io::Result<()> {
    let root = std::path::absolute(root)?;
    let packs = root.join(PACKS);
    let missing: Vec<&Path> = root.ancestors().take_while(|folder| !folder.exists()).collect();
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    for shard in 0..=u8::MAX {
        builder.create(packs.join(format!("{shard:02x}")))?;
    }
    // Also when nothing was made: the process that made them may have been killed before it came here.
    sync_folder(&packs)?;
    sync_folder(&root)?;
    for parent in missing.into_iter().filter_map(Path::parent) {
        sync_folder(parent)?;
    }
    // The times of files are the machine's, so a clock that is passed in would compare two different times.
    let now = SystemClock.now();
    remove_staged(&packs, clock::from_millis(now.as_millisecond() - millis(STAGED_FILE_REST)))
}

/// Removes the staged files (`<name>#<number>`) that were last written before `before`. Reads names only: 200,000 packs
/// take 0.14 s when the folders are cached.
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
                // Its upload ended meanwhile.
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
    fn only_its_owner_can_enter_a_new_folder() {
        let home = tempfile::tempdir().expect("a folder");
        let root = home.path().join("a/blobs");
        prepare(&root).expect("made");
        prepare(&root).expect("made again");
        let mode = fs::metadata(&root).expect("exists").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn opening_removes_staged_files_that_rested_and_nothing_else() {
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
