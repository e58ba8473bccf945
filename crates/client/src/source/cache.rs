//! The stat cache: the stat of each file when it was hashed, so that unchanged files are not read
//! again.
//!
//! An entry is kept only if the file was at rest: its times are older than the start of the scan by
//! a margin that covers file systems with a resolution of one or two seconds. A file that is edited
//! in the tick in which it was hashed is therefore not in the cache and is hashed again, as in
//! git's index. Restoring `mtime` does not hide an edit, because `ctime` cannot be set.
//!
//! The cache may be lost, damaged or outdated at any time, which costs one full scan. It is one
//! file: a magic line, the root of the last listing, records sorted by path, and a checksum.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use milepost_model::clock::Timestamp;
use milepost_model::digest::Digest;

/// Incremented with any change of the layout; other versions are ignored.
const MAGIC: &[u8; 16] = b"milepost-stat/1\n";
const MARGIN_NS: i64 = 2_000_000_000;
const DIGEST: usize = 32;
const HEADER: usize = MAGIC.len() + 2 * DIGEST;
/// Size, mtime, ctime, inode and device with eight bytes each, and mode with four.
const STAT: usize = 5 * 8 + 4;
const FIXED: usize = STAT + DIGEST;

/// The relevant metadata of a file. For a file at rest, equal stats mean equal bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) size: u64,
    mtime: i64,
    ctime: i64,
    inode: u64,
    device: u64,
    mode: u32,
}

/// The stat cache of one source. A cache of another source is harmless: its entries never match.
pub struct StatCache {
    file: PathBuf,
    at_rest_before: i64,
    bytes: Vec<u8>,
    /// The offsets of the records, sorted by path.
    records: Vec<usize>,
}

/// The root digest of a tree, keyed by the digest of its listing, which is faster to compute.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct KnownRoot {
    pub(super) listing: Digest,
    pub(super) root: Digest,
}

impl Stat {
    pub(super) fn of(metadata: &fs::Metadata) -> Self {
        let nanos = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        Self {
            size: metadata.len(),
            mtime: nanos(metadata.mtime(), metadata.mtime_nsec()),
            ctime: nanos(metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
            device: metadata.dev(),
            mode: metadata.mode(),
        }
    }

    pub(super) fn executable(&self) -> bool {
        self.mode & 0o100 != 0
    }

    fn bytes(&self) -> [u8; STAT] {
        let words = [self.size, self.mtime.cast_unsigned(), self.ctime.cast_unsigned(), self.inode, self.device];
        let mut bytes = [0; STAT];
        for (slot, word) in bytes.chunks_exact_mut(8).zip(words) {
            slot.copy_from_slice(&word.to_le_bytes());
        }
        bytes[STAT - 4..].copy_from_slice(&self.mode.to_le_bytes());
        bytes
    }
}

impl StatCache {
    /// Loads the cache in `file`, or an empty one if it is missing, damaged or of another version.
    /// `started` is the current time, taken before anything is scanned.
    pub fn load(file: PathBuf, started: Timestamp) -> Self {
        let started = i64::try_from(started.as_nanosecond()).unwrap_or(i64::MAX);
        let at_rest_before = started.saturating_sub(MARGIN_NS);
        let bytes = fs::read(&file).unwrap_or_default();
        match index(&bytes) {
            Some(records) => Self { file, at_rest_before, bytes, records },
            None => Self { file, at_rest_before, bytes: Vec::new(), records: Vec::new() },
        }
    }

    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// The number of cached files.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The records below a directory, for looking up its files.
    pub(super) fn below(&self, folder: &str) -> Records<'_> {
        let mut records = self.records.as_slice();
        if !folder.is_empty() {
            let prefix = [folder, "/"].concat();
            let start = records.partition_point(|&at| self.path_at(at) < prefix.as_bytes());
            records = &records[start..];
            records = &records[..records.partition_point(|&at| self.path_at(at).starts_with(prefix.as_bytes()))];
        }
        Records { cache: self, records }
    }

    pub(super) fn known_root(&self) -> Option<KnownRoot> {
        let digest = |at: usize| Digest::try_from(self.bytes.get(at..at + DIGEST)?).ok();
        Some(KnownRoot { listing: digest(MAGIC.len())?, root: digest(MAGIC.len() + DIGEST)? })
    }

    /// Whether a file with this stat may be cached.
    fn at_rest(&self, stat: &Stat) -> bool {
        stat.mtime < self.at_rest_before && stat.ctime < self.at_rest_before
    }

    /// Replaces the content with the result of a scan, sorted by path, and saves it.
    pub(super) fn replace<'a>(
        &mut self,
        known: KnownRoot,
        files: impl Iterator<Item = (&'a str, &'a Stat, Digest)>,
    ) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(self.bytes.len() + HEADER);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(known.listing.as_bytes());
        bytes.extend_from_slice(known.root.as_bytes());
        for (path, stat, digest) in files {
            // Paths longer than a tree allows were rejected earlier.
            let Ok(length) = u16::try_from(path.len()) else { continue };
            if self.at_rest(stat) {
                bytes.extend_from_slice(&length.to_le_bytes());
                bytes.extend_from_slice(path.as_bytes());
                bytes.extend_from_slice(&stat.bytes());
                bytes.extend_from_slice(digest.as_bytes());
            }
        }
        let checksum = Digest::of(&bytes);
        bytes.extend_from_slice(checksum.as_bytes());
        self.records = index(&bytes).unwrap_or_default();
        self.bytes = bytes;
        self.save()
    }

    /// Renames into place instead of writing in place: two commands may scan the same folder at
    /// once.
    fn save(&self) -> io::Result<()> {
        let folder = self.file.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let mut staged = tempfile::NamedTempFile::new_in(folder)?;
        staged.write_all(&self.bytes)?;
        staged.persist(&self.file)?;
        Ok(())
    }

    fn path_at(&self, at: usize) -> &[u8] {
        let length = usize::from(u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]]));
        &self.bytes[at + 2..at + 2 + length]
    }
}

/// The records of one directory and those below it.
pub(super) struct Records<'a> {
    cache: &'a StatCache,
    records: &'a [usize],
}

impl Records<'_> {
    pub(super) fn digest(&self, path: &str, stat: &Stat) -> Option<Digest> {
        let cache = self.cache;
        let place = self.records.binary_search_by(|&at| cache.path_at(at).cmp(path.as_bytes())).ok()?;
        let start = self.records[place] + 2 + path.len();
        let (known, digest) = cache.bytes[start..start + FIXED].split_at(STAT);
        if known == stat.bytes() { Digest::try_from(digest).ok() } else { None }
    }
}

/// The offsets of the records, or `None` if the bytes are not a complete cache of this version.
fn index(bytes: &[u8]) -> Option<Vec<usize>> {
    let end = bytes.len().checked_sub(DIGEST)?;
    let (body, checksum) = bytes.split_at(end);
    if end < HEADER || !body.starts_with(MAGIC) || Digest::of(body).as_bytes() != checksum {
        return None;
    }
    let mut records = Vec::with_capacity((end - HEADER) / (FIXED + 32));
    let mut at = HEADER;
    while at < end {
        records.push(at);
        let length = u16::from_le_bytes([*body.get(at)?, *body.get(at + 1)?]);
        at += 2 + usize::from(length) + FIXED;
    }
    (at == end).then_some(records)
}
