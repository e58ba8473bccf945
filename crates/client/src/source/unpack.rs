//! Zip archives. Entries are never written to named files: they are hashed in place and unpacked
//! again, one by one and into an unnamed temporary file, when the server needs their bytes. A path
//! in an archive therefore cannot escape, and nothing is left behind when the command is killed.
//!
//! Every limit is checked against the unpacked bytes, never against the sizes that the archive
//! declares.

use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use milepost_model::digest::{Digest, Hasher};
use milepost_model::tree::{FileEntry, Leaf, Tree, TreeError, checked_path, fits_a_disk};
use zip::ZipArchive;
use zip::read::ZipFileEntry;
use zip::result::ZipError;

use super::error::{SourceError, ZipRefusal};
use super::options::ZipLimits;
use super::rules::Rules;
use super::walk::Meter;

const KIND: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const FOLDER: u32 = 0o040_000;
const LINK: u32 = 0o120_000;
const MAX_TARGET: usize = 4096;
const BUFFER: usize = 64 << 10;
/// Unpacked blobs up to this size stay in memory.
const IN_MEMORY: usize = 4 << 20;
/// Where macOS stores file system metadata that no other system needs.
const FINDER: &str = "__MACOSX";

pub(super) struct Archive {
    entries: Mutex<ZipArchive<BufReader<File>>>,
    places: HashMap<Digest, usize>,
}

/// Whether a file has the signature of a zip.
pub(super) fn looks_like_a_zip(file: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    File::open(file)?.take(4).read_to_end(&mut start)?;
    Ok(start == b"PK\x03\x04" || start == b"PK\x05\x06")
}

pub(super) fn open(
    path: &Path,
    rules: &Rules,
    limits: &ZipLimits,
    meter: &Meter,
) -> Result<(Tree, Archive), SourceError> {
    let unreadable = |error| SourceError::unreadable(path, error);
    let file = File::open(path).map_err(unreadable)?;
    let packed = file.metadata().map_err(unreadable)?.len();
    let is_zip = looks_like_a_zip(path).map_err(unreadable)?;
    let read = || {
        let mut entries = ZipArchive::new(BufReader::new(file)).map_err(|error| match error {
            ZipError::InvalidArchive(_) if !is_zip => ZipRefusal::NotAZip,
            error => ZipRefusal::Damaged(error.to_string()),
        })?;
        if entries.len() > limits.entries {
            return Err(ZipRefusal::TooMany { count: entries.len(), limit: limits.entries });
        }
        if entries.has_duplicate_names() {
            let name = duplicate_name(path, entries.central_directory_start()).ok().flatten();
            return Err(ZipRefusal::Duplicate(name.unwrap_or_else(|| "?".to_owned())));
        }
        let bounds = Bounds { limits, packed, meter };
        let (tree, places) = bounds.scan(&mut entries, rules)?;
        Ok((tree, Archive { entries: Mutex::new(entries), places }))
    };
    read().map_err(|reason| SourceError::Zip { path: path.display().to_string(), reason })
}

impl Archive {
    /// Unpacks one file again, up to `size` bytes as measured by the scan.
    pub(super) fn open_blob(&self, digest: &Digest, size: u64) -> Result<Option<Box<dyn Read + Send>>, SourceError> {
        let Some(&place) = self.places.get(digest) else { return Ok(None) };
        let mut unpacked = tempfile::SpooledTempFile::new(IN_MEMORY);
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(entry) = entries.by_index(place) {
            let mut entry = entry.take(size);
            let mut buffer = vec![0; BUFFER];
            // An entry that no longer unpacks comes out short, and the blob's digest check reports
            // it.
            while let Ok(count @ 1..) = entry.read(&mut buffer) {
                unpacked.write_all(&buffer[..count]).map_err(SourceError::Scratch)?;
            }
        }
        unpacked.seek(SeekFrom::Start(0)).map_err(SourceError::Scratch)?;
        Ok(Some(Box::new(unpacked)))
    }
}

struct Bounds<'a> {
    limits: &'a ZipLimits,
    packed: u64,
    meter: &'a Meter,
}

impl Bounds<'_> {
    fn scan(
        &self,
        entries: &mut ZipArchive<BufReader<File>>,
        rules: &Rules,
    ) -> Result<(Tree, HashMap<Digest, usize>), ZipRefusal> {
        let mut tree = Tree::default();
        let mut places = HashMap::new();
        let mut buffer = vec![0; BUFFER];
        let mut total = 0;
        for place in 0..entries.len() {
            let about = entries.by_index_data(place).map_err(|error| ZipRefusal::Damaged(error.to_string()))?;
            let Some(name) = plain_name(&about)? else { continue };
            if name.split('/').next() == Some(FINDER) || !rules.takes_below(&name) {
                continue;
            }
            let mode = about.unix_mode().unwrap_or(REGULAR);
            let leaf = match mode & KIND {
                FOLDER => continue,
                LINK => Leaf::Link { target: self.target(entries, place, &name)? },
                REGULAR | 0 => {
                    let (digest, size) = self.hash(entries, place, &name, &mut buffer, &mut total)?;
                    places.entry(digest).or_insert(place);
                    Leaf::File(FileEntry { digest, size, executable: mode & 0o100 != 0 })
                }
                _ => return Err(ZipRefusal::NotRegular(name)),
            };
            self.meter.add(1, 0);
            tree.insert(&name, leaf).map_err(|error| match error {
                TreeError::LinkEscapes { path, target } => ZipRefusal::LinkLeaves { path, target },
                TreeError::Collides(name) => ZipRefusal::Duplicate(name),
                _ => ZipRefusal::Escapes(name),
            })?;
        }
        tree.check_links().map_err(|error| match error {
            TreeError::LinkEscapes { path, target } => ZipRefusal::LinkLeaves { path, target },
            other => ZipRefusal::Damaged(other.to_string()),
        })?;
        Ok((tree, places))
    }

    fn hash(
        &self,
        entries: &mut ZipArchive<BufReader<File>>,
        place: usize,
        name: &str,
        buffer: &mut [u8],
        total: &mut u64,
    ) -> Result<(Digest, u64), ZipRefusal> {
        let mut entry = entries.by_index(place).map_err(|error| damaged(name, &error))?;
        // The declared packed size may be false too; it is never more than the whole archive.
        let packed = entry.compressed_size().min(self.packed);
        let mut hasher = Hasher::default();
        let mut size = 0;
        loop {
            let count = entry.read(buffer).map_err(|error| damaged(name, &error))?;
            if count == 0 {
                self.meter.hashed.fetch_add(1, Ordering::Relaxed);
                return Ok((hasher.finish(), size));
            }
            size += count as u64;
            *total += count as u64;
            self.check(name, size, packed, *total)?;
            hasher.update(&buffer[..count]);
            self.meter.add(0, count as u64);
        }
    }

    fn check(&self, name: &str, size: u64, packed: u64, total: u64) -> Result<(), ZipRefusal> {
        let ZipLimits { total_bytes, file_bytes, ratio, ratio_from, .. } = *self.limits;
        let name = || name.to_owned();
        let bomb = |out: u64, packed: u64| out > ratio_from && out > packed.saturating_mul(ratio);
        if bomb(size, packed) || bomb(total, self.packed) {
            return Err(ZipRefusal::Bomb { name: name(), limit: ratio });
        }
        if size > file_bytes {
            return Err(ZipRefusal::FileTooLarge { name: name(), limit: file_bytes });
        }
        if total > total_bytes {
            return Err(ZipRefusal::TooLarge { name: name(), limit: total_bytes });
        }
        Ok(())
    }

    fn target(
        &self,
        entries: &mut ZipArchive<BufReader<File>>,
        place: usize,
        name: &str,
    ) -> Result<String, ZipRefusal> {
        let entry = entries.by_index(place).map_err(|error| damaged(name, &error))?;
        let mut target = Vec::new();
        entry.take(MAX_TARGET as u64 + 1).read_to_end(&mut target).map_err(|error| damaged(name, &error))?;
        match String::from_utf8(target) {
            Ok(target) if target.len() <= MAX_TARGET => Ok(target),
            _ => Err(ZipRefusal::NotRegular(name.to_owned())),
        }
    }
}

/// The validated name of an entry. `None` for directories, which are implied by their files.
fn plain_name(entry: &ZipFileEntry<'_>) -> Result<Option<String>, ZipRefusal> {
    let raw = entry.name_raw();
    let lossy = || String::from_utf8_lossy(raw).into_owned();
    let name = std::str::from_utf8(raw).map_err(|_| ZipRefusal::NameNotUtf8(lossy()))?;
    if name.contains('\\') {
        return Err(ZipRefusal::Backslash(lossy()));
    }
    // Some tools prefix every name with `./`.
    let plain = name.strip_prefix("./").unwrap_or(name);
    if plain.is_empty() && !name.is_empty() {
        return Ok(None);
    }
    let folder = plain.strip_suffix('/');
    let plain = checked_path(folder.unwrap_or(plain)).map_err(|_| ZipRefusal::Escapes(lossy()))?;
    if !fits_a_disk(&plain) {
        return Err(ZipRefusal::NameTooLong(plain.chars().take(80).collect()));
    }
    if folder.is_some() {
        return Ok(None);
    }
    if entry.encrypted() {
        return Err(ZipRefusal::Encrypted(plain));
    }
    Ok(Some(plain))
}

/// Classifies an error of reading an entry. The `zip` crate checks the method only when the first
/// byte is read.
fn damaged(name: &str, error: &(dyn Error + 'static)) -> ZipRefusal {
    let name = name.to_owned();
    let inner = error.downcast_ref::<io::Error>().and_then(|error| error.get_ref());
    let zip_error = inner.and_then(|error| error.downcast_ref::<ZipError>()).or_else(|| error.downcast_ref());
    match zip_error {
        Some(ZipError::CompressionMethodNotSupported(method)) => ZipRefusal::Method { name, method: *method },
        _ => ZipRefusal::DamagedEntry { name, reason: error.to_string() },
    }
}

/// The first duplicate name in the central directory. The `zip` crate reports only that one exists.
fn duplicate_name(path: &Path, start: u64) -> io::Result<Option<String>> {
    let mut list = BufReader::new(File::open(path)?);
    list.seek(SeekFrom::Start(start))?;
    let mut seen = HashSet::new();
    let mut header = [0; 46];
    loop {
        list.read_exact(&mut header)?;
        if !header.starts_with(b"PK\x01\x02") {
            return Ok(None);
        }
        let length = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
        let mut name = vec![0; usize::from(length(28))];
        list.read_exact(&mut name)?;
        list.seek_relative(i64::from(length(30)) + i64::from(length(32)))?;
        if seen.contains(&name) {
            return Ok(Some(String::from_utf8_lossy(&name).into_owned()));
        }
        seen.insert(name);
    }
}
