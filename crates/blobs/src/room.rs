//! Keeps some of the disk free. The database is usually on the same one, and nothing can be changed
//! on the server while it cannot write.

use std::path::Path;
use std::sync::Arc;

use futures::StreamExt as _;

use crate::error::BlobError;
use crate::read::BlobStream;
use crate::store::Blobs;

/// Free space that a pack must leave. Covers the parts that other uploads have in flight.
const LEAST_FREE: u64 = 256 << 20;
/// The same for packs of up to `SMALL` bytes, so that a nearly full server still takes the deploy
/// that fixes it.
const LEAST_FREE_SMALL: u64 = 64 << 20;
const SMALL: u64 = 8 << 20;
/// Free space is looked at once for this many bytes.
const EVERY: u64 = 8 << 20;

/// The disk of a folder. S3 and memory have none.
#[derive(Debug, Clone, Default)]
pub(crate) struct Disk(Option<Arc<Path>>);

impl Disk {
    pub(crate) fn of(folder: &Path) -> Self {
        Self(Some(folder.into()))
    }

    pub(crate) fn watch(&self) -> Watch {
        Watch { disk: self.clone(), written: 0, next: 0 }
    }

    /// `None` if it is not known.
    fn free(&self) -> Option<u64> {
        let found = rustix::fs::statvfs(&**self.0.as_ref()?).ok()?;
        Some(found.f_bavail.saturating_mul(found.f_frsize))
    }
}

/// Watches the disk while one pack is written.
pub(crate) struct Watch {
    disk: Disk,
    written: u64,
    next: u64,
}

impl Watch {
    /// Call before writing. Fails if the disk would get too full.
    pub(crate) fn before(&mut self, more: usize) -> Result<(), BlobError> {
        self.written += more as u64;
        if self.written < self.next {
            return Ok(());
        }
        self.next = self.written + EVERY;
        check(self.written, self.disk.free())
    }
}

impl Blobs {
    /// Passes on what is about to be written next to the packs, and fails when the disk would get
    /// too full.
    pub fn leaving_room(&self, bytes: BlobStream) -> BlobStream {
        let mut watch = self.disk.watch();
        let checked = bytes.map(move |chunk| {
            let chunk = chunk?;
            watch.before(chunk.len())?;
            Ok(chunk)
        });
        checked.boxed()
    }
}

fn check(written: u64, free: Option<u64>) -> Result<(), BlobError> {
    let least = if written <= SMALL { LEAST_FREE_SMALL } else { LEAST_FREE };
    match free {
        Some(free) if free < least => Err(BlobError::NoRoom { free }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_packs_may_leave_less_free_than_large_ones() {
        let fits = |written: u64, free: u64| check(written << 20, Some(free << 20)).is_ok();
        assert!(fits(1, 100) && fits(8, 64) && fits(9, 256));
        assert!(!fits(1, 63) && !fits(9, 255));
        assert!(check(u64::MAX, None).is_ok());
    }

    #[test]
    fn looks_at_the_start_and_every_few_megabytes() {
        let disk = Disk::default();
        let mut watch = disk.watch();
        watch.before(1).expect("no disk");
        assert_eq!(watch.next, 1 + EVERY);
        watch.before(EVERY as usize).expect("no disk");
        assert_eq!(watch.next, 1 + EVERY + EVERY);
    }

    #[test]
    fn knows_the_free_space_of_a_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(Disk::of(folder.path()).free().is_some());
        assert_eq!(Disk::of(Path::new("/no/such/folder")).free(), None);
        assert_eq!(Disk::default().free(), None);
    }
}
