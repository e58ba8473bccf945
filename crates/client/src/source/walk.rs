//! Walks a folder. A few threads share one list of jobs, each a directory to list or a batch of
//! files to hash, so that one huge directory and many small ones both keep every core busy.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use milepost_model::digest::{Digest, Hasher};

use super::cache::{Records, Stat, StatCache};
use super::error::SourceError;
use super::options::{FolderLimits, Progress, ProgressFn};
use super::pool;
use super::rules::{Folder, Rules, Verdict};

/// Large enough to make taking a job cheap, small enough to balance the work between threads.
const BATCH_FILES: usize = 32;
const BATCH_BYTES: u64 = 4 << 20;
const BUFFER: usize = 128 << 10;

/// What the threads of a scan share.
pub(super) struct Scan<'a> {
    pub(super) base: &'a Path,
    pub(super) rules: &'a Rules,
    pub(super) cache: Option<&'a StatCache>,
    pub(super) meter: &'a Meter,
}

pub(super) struct FoundFile {
    pub(super) path: String,
    pub(super) stat: Stat,
    pub(super) digest: Digest,
    /// The number of bytes read. Differs from the stat if the file was being written.
    pub(super) size: u64,
}

/// What ignore files left out. A directory counts as one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ignored {
    pub count: u64,
    /// The first few paths, sorted; directories end with `/`.
    pub first: Vec<String>,
}

impl Ignored {
    const NAMED: usize = 5;

    fn add(&mut self, path: &str, is_folder: bool) {
        self.count += 1;
        let path = if is_folder { [path, "/"].concat() } else { path.to_owned() };
        let at = self.first.partition_point(|known| *known < path);
        if at < Self::NAMED {
            self.first.insert(at, path);
            self.first.truncate(Self::NAMED);
        }
    }

    fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.first.extend(other.first);
        self.first.sort_unstable();
        self.first.truncate(Self::NAMED);
    }
}

#[derive(Default)]
pub(super) struct Found {
    pub(super) files: Vec<FoundFile>,
    pub(super) links: Vec<(String, String)>,
    pub(super) ignored: Ignored,
    buffer: Vec<u8>,
}

pub(super) enum Job {
    List(Folder),
    Hash(Vec<(String, Stat)>),
}

/// Counts the work done and reports progress.
#[derive(Default)]
pub(super) struct Meter {
    pub(super) seen: AtomicU64,
    pub(super) hashed: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) watcher: Option<ProgressFn>,
    pub(super) limits: FolderLimits,
    /// What counts towards the limits.
    pub(super) listed: AtomicU64,
    pub(super) listed_bytes: AtomicU64,
}

impl Meter {
    pub(super) fn add(&self, seen: u64, bytes: u64) {
        let files_seen = self.seen.fetch_add(seen, Ordering::Relaxed) + seen;
        let bytes_hashed = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if let Some(watcher) = &self.watcher {
            watcher(Progress { files_seen, bytes_hashed });
        }
    }

    /// Counts one file, link or directory that is taken.
    fn list(&self, base: &Path, bytes: u64) -> Result<(), SourceError> {
        let path = || base.display().to_string();
        if let Some(limit) = self.limits.most_files
            && self.listed.fetch_add(1, Ordering::Relaxed) >= limit
        {
            return Err(SourceError::TooManyFiles { path: path(), limit });
        }
        // A sparse file can have almost any size, so the sum may overflow.
        if let Some(limit) = self.limits.most_bytes
            && bytes > limit.saturating_sub(self.listed_bytes.fetch_add(bytes.min(limit), Ordering::Relaxed))
        {
            return Err(SourceError::TooManyBytes { path: path(), limit });
        }
        Ok(())
    }
}

impl Scan<'_> {
    /// Lists and hashes everything below the base.
    pub(super) fn folder(&self) -> Result<Found, SourceError> {
        let parts = pool::run(Job::List(self.rules.root()), |job, found: &mut Found, more| match job {
            Job::List(folder) => self.list(folder, found, more),
            Job::Hash(batch) => self.hash(batch, found),
        })?;
        let mut all = Found::default();
        for part in parts {
            all.files.extend(part.files);
            all.links.extend(part.links);
            all.ignored.merge(part.ignored);
        }
        all.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        all.links.sort_unstable();
        Ok(all)
    }

    /// Hashes the single file `name` in the base directory.
    pub(super) fn file(&self, name: String, stat: Stat) -> Result<Found, SourceError> {
        let mut found = Found::default();
        self.meter.add(1, 0);
        match self.cache.and_then(|cache| cache.below("").digest(&name, &stat)) {
            Some(digest) => found.files.push(FoundFile { path: name, stat, digest, size: stat.size }),
            None => self.hash(vec![(name, stat)], &mut found)?,
        }
        Ok(found)
    }

    fn list(&self, folder: Folder, found: &mut Found, more: &mut Vec<Job>) -> Result<(), SourceError> {
        let listed = self.rules.enter(self.base, folder)?;
        let folder = listed.path.as_str();
        let here = if folder.is_empty() { self.base.to_owned() } else { self.base.join(folder) };
        let unreadable = |error| SourceError::unreadable(&here, error);
        let known: Option<Records<'_>> = self.cache.map(|cache| cache.below(folder));
        let mut unknown = Vec::new();
        let mut seen = 0;
        for entry in fs::read_dir(&here).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let vanished = |error| SourceError::vanished(&entry.path(), error);
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                return Err(SourceError::NameNotUtf8(entry.path().display().to_string()));
            };
            let path = if folder.is_empty() { name.to_owned() } else { [folder, "/", name].concat() };
            let kind = entry.file_type().map_err(vanished)?;
            match self.rules.verdict(&listed, &path, kind.is_dir()) {
                Verdict::Take => {}
                Verdict::No => continue,
                Verdict::Ignored => {
                    found.ignored.add(&path, kind.is_dir());
                    continue;
                }
                Verdict::Enter { folder, ignored } => {
                    if ignored {
                        found.ignored.add(&path, true);
                    }
                    self.meter.list(self.base, 0)?;
                    more.push(Job::List(folder));
                    continue;
                }
            }
            seen += 1;
            if kind.is_file() {
                let metadata = entry.metadata().map_err(vanished)?;
                let stat = Stat::of(&metadata);
                self.meter.list(self.base, stat.size)?;
                match known.as_ref().and_then(|known| known.digest(&path, &stat)) {
                    Some(digest) => found.files.push(FoundFile { path, stat, digest, size: stat.size }),
                    None => unknown.push((path, stat)),
                }
            } else if kind.is_symlink() {
                self.meter.list(self.base, 0)?;
                let target = fs::read_link(entry.path()).map_err(vanished)?;
                let target = target.into_os_string().into_string().map_err(|target| SourceError::LinkLeaves {
                    path: path.clone(),
                    target: target.to_string_lossy().into_owned(),
                })?;
                found.links.push((path, target));
            } else {
                return Err(SourceError::NotRegular { path: entry.path().display().to_string(), kind: name_of(kind) });
            }
        }
        self.meter.add(seen, 0);
        more.extend(batches(unknown));
        Ok(())
    }

    fn hash(&self, batch: Vec<(String, Stat)>, found: &mut Found) -> Result<(), SourceError> {
        found.buffer.resize(BUFFER, 0);
        for (path, stat) in batch {
            let place = self.base.join(&path);
            let hashed = self.hash_file(&place, &mut found.buffer);
            let (digest, size) = hashed.map_err(|error| SourceError::vanished(&place, error))?;
            self.meter.hashed.fetch_add(1, Ordering::Relaxed);
            found.files.push(FoundFile { path, stat, digest, size });
        }
        Ok(())
    }

    fn hash_file(&self, place: &Path, buffer: &mut [u8]) -> io::Result<(Digest, u64)> {
        let mut file = File::open(place)?;
        let mut hasher = Hasher::default();
        let mut size = 0;
        loop {
            let count = match file.read(buffer) {
                Ok(0) => return Ok((hasher.finish(), size)),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            hasher.update(&buffer[..count]);
            size += count as u64;
            self.meter.add(0, count as u64);
        }
    }
}

fn batches(files: Vec<(String, Stat)>) -> Vec<Job> {
    let mut jobs = Vec::new();
    let mut batch = Vec::new();
    let mut bytes = 0;
    for (path, stat) in files {
        bytes += stat.size;
        batch.push((path, stat));
        if batch.len() == BATCH_FILES || bytes >= BATCH_BYTES {
            jobs.push(Job::Hash(std::mem::take(&mut batch)));
            bytes = 0;
        }
    }
    if !batch.is_empty() {
        jobs.push(Job::Hash(batch));
    }
    jobs
}

/// Describes an entry that is neither a file, a directory nor a link.
pub(super) fn name_of(kind: fs::FileType) -> &'static str {
    if kind.is_socket() {
        "a socket"
    } else if kind.is_fifo() {
        "a named pipe"
    } else {
        "a device"
    }
}

/// Splits a path into its directory and its name, for a source that is a single file.
pub(super) fn split(path: &Path) -> Result<(PathBuf, String), SourceError> {
    let name = path.file_name().ok_or_else(|| SourceError::NotFound(path.display().to_string()))?;
    let name = name.to_str().ok_or_else(|| SourceError::NameNotUtf8(path.display().to_string()))?;
    Ok((path.parent().map(Path::to_owned).unwrap_or_default(), name.to_owned()))
}
