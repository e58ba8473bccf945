//! On-disk cache of compressed copies, so that a restart need not compress again.
//!
//! An entry is a header (magic bytes, the length and the digest of what follows) and the compressed
//! bytes. An empty body means that compression did not pay. Entries are written to a temporary file
//! and renamed, so that a crash leaves a complete entry or none.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use milepost_model::Digest;

use super::encoding::Coding;

const MARK: &[u8; 8] = b"mppress1";
pub(super) const HEAD: u64 = 48;

pub(super) struct DiskCache {
    folder: PathBuf,
    budget: u64,
    used: AtomicU64,
    names: AtomicU64,
}

/// The cached result for a file.
pub(super) enum DiskCopy {
    Compressed(Bytes),
    DoesNotPay,
}

impl DiskCache {
    pub(super) fn open(folder: PathBuf, budget: u64) -> io::Result<Self> {
        fs::create_dir_all(&folder)?;
        let used = copies(&folder)?.iter().map(|copy| copy.size).sum();
        Ok(Self { folder, budget, used: AtomicU64::new(used), names: AtomicU64::new(0) })
    }

    pub(super) fn path(&self, digest: &Digest, coding: Coding) -> PathBuf {
        let hex = digest.hex();
        self.folder.join(&hex[..2]).join(format!("{hex}.{}", coding.name()))
    }

    /// Returns a copy if it is intact. Otherwise it counts as missing and is overwritten later.
    pub(super) fn load(&self, digest: &Digest, coding: Coding) -> Option<DiskCopy> {
        let mut file = fs::File::open(self.path(digest, coding)).ok()?;
        let mut head = [0; HEAD as usize];
        file.read_exact(&mut head).ok()?;
        let (mark, rest) = head.split_at(8);
        let (length, sum) = rest.split_at(8);
        let length = u64::from_le_bytes(length.try_into().ok()?);
        if mark != MARK || length.checked_add(HEAD) != Some(file.metadata().ok()?.len()) {
            return None;
        }
        let mut bytes = Vec::with_capacity(usize::try_from(length).ok()?);
        file.read_to_end(&mut bytes).ok()?;
        if Digest::of(&bytes).as_bytes() != sum {
            return None;
        }
        Some(if bytes.is_empty() { DiskCopy::DoesNotPay } else { DiskCopy::Compressed(bytes.into()) })
    }

    pub(super) fn store(&self, digest: &Digest, coding: Coding, compressed: Option<&Bytes>) -> io::Result<()> {
        let bytes = compressed.map_or(&[][..], |compressed| compressed);
        let path = self.path(digest, coding);
        let folder = path.parent().unwrap_or(&self.folder);
        fs::create_dir_all(folder)?;
        let name = self.names.fetch_add(1, Ordering::Relaxed);
        let beside = folder.join(format!("new-{}-{name}", std::process::id()));
        let written = write(&beside, bytes).and_then(|()| fs::rename(&beside, &path));
        if let Err(error) = written {
            let _ = fs::remove_file(&beside);
            return Err(error);
        }
        let size = bytes.len() as u64 + HEAD;
        if self.used.fetch_add(size, Ordering::Relaxed) + size > self.budget {
            self.prune()?;
        }
        Ok(())
    }

    /// Removes the oldest copies until a fifth of the budget is free.
    fn prune(&self) -> io::Result<()> {
        let mut all = copies(&self.folder)?;
        all.sort_by_key(|copy| copy.modified);
        let mut used: u64 = all.iter().map(|copy| copy.size).sum();
        for copy in all {
            if used <= self.budget - self.budget / 5 {
                break;
            }
            if fs::remove_file(&copy.path).is_ok() {
                used -= copy.size;
            }
        }
        self.used.store(used, Ordering::Relaxed);
        Ok(())
    }
}

struct OnDisk {
    path: PathBuf,
    size: u64,
    modified: std::time::SystemTime,
}

fn copies(folder: &Path) -> io::Result<Vec<OnDisk>> {
    let mut found = Vec::new();
    for shard in fs::read_dir(folder)? {
        let shard = shard?.path();
        if !shard.is_dir() {
            continue;
        }
        for entry in fs::read_dir(shard)? {
            let entry = entry?;
            // Another process may be removing the same file.
            let Ok(facts) = entry.metadata() else { continue };
            let modified = facts.modified().unwrap_or(std::time::SystemTime::UNIX_EPOCH);
            found.push(OnDisk { path: entry.path(), size: facts.len(), modified });
        }
    }
    Ok(found)
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = fs::File::create(path)?;
    file.write_all(MARK)?;
    file.write_all(&(bytes.len() as u64).to_le_bytes())?;
    file.write_all(Digest::of(bytes).as_bytes())?;
    file.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compressed(copy: Option<DiskCopy>) -> Option<Bytes> {
        match copy {
            Some(DiskCopy::Compressed(bytes)) => Some(bytes),
            Some(DiskCopy::DoesNotPay) | None => None,
        }
    }

    #[test]
    fn copies_survive_a_restart_and_damaged_ones_are_ignored() {
        let folder = tempfile::tempdir().expect("a folder");
        let digest = Digest::of(b"source");
        let bytes = Bytes::from_static(b"compressed bytes");
        let disk = DiskCache::open(folder.path().join("a/b"), 1 << 20).expect("it opens");
        assert!(disk.load(&digest, Coding::Gzip).is_none());
        disk.store(&digest, Coding::Gzip, Some(&bytes)).expect("it is stored");
        disk.store(&digest, Coding::Brotli, None).expect("it is stored");

        let disk = DiskCache::open(folder.path().join("a/b"), 1 << 20).expect("it opens again");
        assert_eq!(disk.used.load(Ordering::Relaxed), bytes.len() as u64 + 2 * HEAD);
        assert_eq!(compressed(disk.load(&digest, Coding::Gzip)), Some(bytes));
        assert!(matches!(disk.load(&digest, Coding::Brotli), Some(DiskCopy::DoesNotPay)));

        let path = disk.path(&digest, Coding::Gzip);
        let whole = fs::read(&path).expect("it is there");
        let mut changed = whole.clone();
        changed[HEAD as usize] ^= 1;
        for damaged in [&whole[..whole.len() - 1], &whole[..10], &[], &changed] {
            fs::write(&path, damaged).expect("it is damaged");
            assert!(disk.load(&digest, Coding::Gzip).is_none(), "{} bytes", damaged.len());
        }
    }

    #[test]
    fn evicts_the_oldest_copies_over_budget() {
        let folder = tempfile::tempdir().expect("a folder");
        let disk = DiskCache::open(folder.path().to_owned(), 10 * (1000 + HEAD)).expect("it opens");
        let bytes = Bytes::from(vec![7; 1000]);
        for number in 0..30_u8 {
            disk.store(&Digest::of(&[number]), Coding::Gzip, Some(&bytes)).expect("it is stored");
        }
        let left = copies(folder.path()).expect("a list");
        assert!((1..=10).contains(&left.len()), "{}", left.len());
        assert_eq!(disk.used.load(Ordering::Relaxed), left.len() as u64 * (1000 + HEAD));
        assert!(disk.load(&Digest::of(&[29]), Coding::Gzip).is_some());
    }
}
