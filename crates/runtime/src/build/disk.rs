//! Watches a build's disk use: the free space left on the disk, and how much the build has taken.
//!
//! Free space costs one system call, so it is polled more often the less there is. The build's own
//! use is added up file by file, so only when the free space suggests that it has grown.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

use super::{BuildFailure, DiskLimit};

/// A build is stopped when less than this is free. Half of it covers what is written between two
/// polls (at 5 ms, about 25 GB/s). The other half stays for the database, which must remain
/// writable while builds run.
const LEAST_FREE: u64 = 256 << 20;
/// The same limit for the number of files, whatever their size.
const LEAST_FREE_FILES: u64 = 10_000;
/// Poll intervals, chosen by the free space: at or above the first value, the interval is safe.
const PAUSES: [(u64, Duration); 3] =
    [(4 << 30, Duration::from_millis(200)), (1 << 30, Duration::from_millis(20)), (0, Duration::from_millis(5))];
/// Usage is added up again once the disk has lost this much since the last time, or after
/// `AT_LEAST_EVERY`.
const WORTH_IT: u64 = 64 << 20;
const AT_LEAST_EVERY: Duration = Duration::from_secs(2);
/// Limits adding up to a tenth of one core.
const REST: u32 = 10;

/// Waits until a build has to be stopped for its disk use, and returns why.
pub(super) async fn watch(work: &Path, limit: DiskLimit) -> BuildFailure {
    let first = free(work).map_or(u64::MAX, |found| found.bytes);
    let (mut then, mut last, mut took) = (first, Instant::now(), Duration::ZERO);
    let mut adding: Option<JoinHandle<(Taken, Duration)>> = None;
    loop {
        let now = free(work);
        if now.as_ref().is_some_and(Free::is_almost_none) {
            return BuildFailure::DiskFull;
        }
        let now = now.map_or(u64::MAX, |found| found.bytes);
        match &mut adding {
            Some(running) if running.is_finished() => {
                if let Ok((taken, duration)) = running.await {
                    took = duration;
                    // Directories that could not be read are covered by the free space lost since
                    // the start.
                    let bytes = if taken.whole { taken.bytes } else { taken.bytes.max(first.saturating_sub(now)) };
                    if bytes > limit.bytes {
                        return BuildFailure::TooMuchDisk(limit);
                    }
                }
                adding = None;
                last = Instant::now();
            }
            Some(_) => {}
            None => {
                let rested = last.elapsed() >= took * REST;
                if rested && (then.saturating_sub(now) >= WORTH_IT || last.elapsed() >= AT_LEAST_EVERY) {
                    then = now;
                    let work = work.to_owned();
                    adding = Some(tokio::task::spawn_blocking(move || {
                        let started = Instant::now();
                        (taken(&work), started.elapsed())
                    }));
                }
            }
        }
        tokio::time::sleep(pause(now)).await;
    }
}

fn pause(free: u64) -> Duration {
    PAUSES.into_iter().find(|(from, _)| free >= *from).map_or(PAUSES[2].1, |(_, pause)| pause)
}

/// Free space on the file system of a directory.
struct Free {
    bytes: u64,
    /// `None` if the file system has no fixed number of files.
    files: Option<u64>,
}

impl Free {
    fn is_almost_none(&self) -> bool {
        self.bytes < LEAST_FREE || self.files.is_some_and(|files| files < LEAST_FREE_FILES)
    }
}

fn free(folder: &Path) -> Option<Free> {
    let found = rustix::fs::statvfs(folder).ok()?;
    // File systems without a fixed number of files report a total of 0.
    let files = (found.f_files > 0).then_some(found.f_favail);
    Some(Free { bytes: found.f_bavail.saturating_mul(found.f_frsize), files })
}

/// Disk usage of a directory.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Taken {
    pub bytes: u64,
    pub files: u64,
    /// False if a directory in it could not be read.
    pub whole: bool,
}

/// Blocks. A file with several hard links counts once. Holes in sparse files do not count.
pub(super) fn taken(folder: &Path) -> Taken {
    let mut taken = Taken { bytes: 0, files: 0, whole: true };
    let mut linked = BTreeSet::new();
    let mut open: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            // Removed since its parent was read.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(_) => {
                taken.whole = false;
                continue;
            }
        };
        for entry in entries.flatten() {
            let Ok(found) = entry.metadata() else { continue };
            if found.is_dir() {
                open.push(entry.path());
            } else if found.nlink() > 1 && !linked.insert(found.ino()) {
                continue;
            }
            taken.bytes = taken.bytes.saturating_add(found.blocks().saturating_mul(512));
            taken.files += 1;
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_hard_links_once_and_ignores_holes() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("deep")).unwrap();
        fs::write(path("deep/a"), vec![1; 1 << 20]).unwrap();
        fs::hard_link(path("deep/a"), path("b")).unwrap();
        fs::File::create(path("hole")).unwrap().set_len(1 << 30).unwrap();
        std::os::unix::fs::symlink("/usr", path("link")).unwrap();
        let found = taken(folder.path());
        assert!((1 << 20..(1 << 20) + (64 << 10)).contains(&found.bytes), "{found:?}");
        assert!(found.whole);
    }

    #[test]
    fn polls_more_often_the_less_is_free() {
        assert_eq!(pause(u64::MAX), Duration::from_millis(200));
        assert_eq!(pause(2 << 30), Duration::from_millis(20));
        assert_eq!(pause(300 << 20), Duration::from_millis(5));
    }
}
