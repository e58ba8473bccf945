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
        Watch { disk: self.clone(), written: 0, announced: 0, next: 0 }
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
    announced: u64,
    next: u64,
}

impl Watch {
    /// Call before writing. Fails if the disk would get too full, with the size that the pack has
    /// announced so far.
    pub(crate) fn before(&mut self, more: usize, announced: u64) -> Result<(), BlobError> {
        let before = self.written;
        self.written += more as u64;
        let announced = announced.max(self.written);
        if self.written < self.next && announced < self.announced + EVERY {
            return Ok(());
        }
        (self.next, self.announced) = (self.written + EVERY, announced);
        check(announced, announced - before, self.disk.free())
    }
}

impl Blobs {
    /// Fails if this many bytes would make the disk too full.
    pub fn check_room(&self, size: u64) -> Result<(), BlobError> {
        check(size, size, self.disk.free())
    }

    /// Passes on what is about to be written next to the packs, and fails when the disk would get
    /// too full.
    pub fn leaving_room(&self, bytes: BlobStream) -> BlobStream {
        let mut watch = self.disk.watch();
        let checked = bytes.map(move |chunk| {
            let chunk = chunk?;
            watch.before(chunk.len(), 0)?;
            Ok(chunk)
        });
        checked.boxed()
    }
}

/// `size` bytes are known of a pack, of which `more` are still to be written.
fn check(size: u64, more: u64, free: Option<u64>) -> Result<(), BlobError> {
    let least = if size <= SMALL { LEAST_FREE_SMALL } else { LEAST_FREE };
    match free {
        Some(free) if free < least.saturating_add(more) => Err(BlobError::NoRoom { free }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_packs_may_leave_less_free_than_large_ones() {
        let fits = |size: u64, more: u64, free: u64| check(size << 20, more << 20, Some(free << 20)).is_ok();
        assert!(fits(1, 0, 100) && fits(8, 0, 64) && fits(9, 0, 256));
        assert!(!fits(1, 0, 63) && !fits(9, 0, 255));
        assert!(fits(8, 8, 72) && fits(300, 300, 556));
        assert!(!fits(8, 8, 71) && !fits(300, 300, 555));
        assert!(check(u64::MAX, u64::MAX, None).is_ok() && check(u64::MAX, u64::MAX, Some(u64::MAX)).is_ok());
    }

    #[test]
    fn looks_at_the_start_and_every_few_megabytes() {
        let disk = Disk::default();
        let mut watch = disk.watch();
        watch.before(1, 0).expect("no disk");
        assert_eq!(watch.next, 1 + EVERY);
        watch.before(1, EVERY).expect("no disk");
        assert_eq!(watch.next, 1 + EVERY);
        // A large file was announced.
        watch.before(1, 2 * EVERY).expect("no disk");
        assert_eq!((watch.next, watch.announced), (3 + EVERY, 2 * EVERY));
        watch.before(EVERY as usize, 2 * EVERY).expect("no disk");
        assert_eq!(watch.next, 3 + 2 * EVERY);
    }

    #[test]
    fn knows_the_free_space_of_a_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(Disk::of(folder.path()).free().is_some());
        assert_eq!(Disk::of(Path::new("/no/such/folder")).free(), None);
        assert_eq!(Disk::default().free(), None);
    }
}
