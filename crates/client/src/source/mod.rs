//! Sources: what users name on the command line (a folder, a file, or a zip), read as a tree.
//!
//! A [`Source`] is a snapshot: its tree is complete before anything is sent, and bytes that have
//! changed since are an error of the upload, never a wrong version. This module does not know the
//! server. The time and the location of caches are passed in. It is synchronous; call it where
//! blocking is acceptable.
//!
//! Unchanged folders are not read again, see [`StatCache`].

mod blob;
mod cache;
mod error;
mod exclude;
mod ignored;
mod include;
mod literal;
mod named;
mod options;
mod pool;
mod refused;
mod rules;
mod unmatched;
mod unpack;
mod walk;

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use milepost_model::digest::{Digest, Hasher};
use milepost_model::tree::{EncodedTree, FileEntry, Leaf, Tree};

pub use blob::Blob;
pub use cache::StatCache;
pub use error::{SourceError, ZipRefusal};
pub use include::{Unmatched, fits, is_plain};
pub use named::cache_name;
pub use options::{FolderLimits, Progress, ProgressFn, SourceOptions, ZipLimits};

pub use refused::refused;
pub use unmatched::{broken_patterns, unmatched};
pub use walk::Ignored;

use cache::{KnownRoot, Stat};
use rules::Rules;
use walk::{Found, Meter, Scan};

pub struct Source {
    origin: Origin,
    summary: ScanSummary,
    tree: OnceLock<Tree>,
    root: OnceLock<Digest>,
    encoded: OnceLock<EncodedTree>,
    by_digest: OnceLock<HashMap<Digest, (String, u64)>>,
    cache: Option<PathBuf>,
    /// Holds the temporary file of a source that came from bytes, for as long as it is needed.
    _scratch: Option<tempfile::TempDir>,
}

enum Origin {
    /// The paths in `Found` are relative to this directory.
    Folder(PathBuf, Found),
    Zip(PathBuf, Tree, unpack::Archive),
}

/// The result of a scan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScanSummary {
    pub files_seen: u64,
    pub files_hashed: u64,
    pub bytes_hashed: u64,
    /// Whether the stat cache changed and was written. Failing to write the cache is not an error.
    pub cache_written: bool,
    pub ignored: Ignored,
}

impl Source {
    /// Reads `path`: a folder with everything below it, a zip unpacked, or a file as a tree of one.
    /// A file that is itself named is taken regardless of patterns and ignore files. The cache is
    /// updated and saved.
    pub fn open(path: &Path, options: &SourceOptions, cache: Option<&mut StatCache>) -> Result<Self, SourceError> {
        let unreadable = |error| SourceError::unreadable(path, error);
        let metadata = fs::metadata(path).map_err(unreadable)?;
        let meter = Meter { watcher: options.progress.clone(), limits: options.folder_limits, ..Meter::default() };
        if metadata.is_dir() {
            let rules = Rules::of_folder(path, options)?;
            let scan = Scan { base: path, rules: &rules, cache: cache.as_deref(), meter: &meter };
            let found = scan.folder()?;
            check_matched(path, &rules)?;
            return Self::from_files(path.to_owned(), found, cache, &meter);
        }
        if !metadata.is_file() {
            let kind = walk::name_of(metadata.file_type());
            return Err(SourceError::NotRegular { path: path.display().to_string(), kind });
        }
        let rules = Rules::of_file(options)?;
        let named_zip = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zip"));
        if !options.keep_archives && (named_zip || unpack::looks_like_a_zip(path).map_err(unreadable)?) {
            let (tree, archive) = unpack::open(path, &rules, &options.limits, &meter)?;
            check_matched(path, &rules)?;
            return Ok(Self::new(Origin::Zip(path.to_owned(), tree, archive), &meter));
        }
        let (base, name) = walk::split(path)?;
        let scan = Scan { base: &base, rules: &rules, cache: cache.as_deref(), meter: &meter };
        let found = scan.file(name, Stat::of(&metadata))?;
        Self::from_files(base, found, cache, &meter)
    }

    /// The digest of the tree. For a folder that is unchanged since the last scan it comes from the
    /// cache, and no tree is built, so callers should ask for it first.
    pub fn root(&self) -> Result<Digest, SourceError> {
        match self.root.get() {
            Some(root) => Ok(*root),
            None => Ok(self.encoded()?.root),
        }
    }

    /// The tree, built on first use. An invalid tree is already an error in `open`, unless the
    /// cache knew its root.
    pub fn tree(&self) -> Result<&Tree, SourceError> {
        match (&self.origin, self.tree.get()) {
            (Origin::Zip(_, tree, _), _) | (_, Some(tree)) => Ok(tree),
            (Origin::Folder(_, found), None) => {
                let tree = assemble(found)?;
                Ok(self.tree.get_or_init(|| tree))
            }
        }
    }

    /// The tree in stored form, built on first use.
    pub fn encoded(&self) -> Result<&EncodedTree, SourceError> {
        let tree = self.tree()?;
        Ok(self.encoded.get_or_init(|| tree.encode()))
    }

    pub fn summary(&self) -> &ScanSummary {
        &self.summary
    }

    /// The bytes of a file in the tree. Reading them fails if they have changed since the scan.
    pub fn open_blob(&self, digest: &Digest) -> Result<Blob, SourceError> {
        let tree = self.tree()?;
        let known = self.by_digest.get_or_init(|| by_digest(tree));
        let unknown = || SourceError::UnknownBlob { source_path: self.path().display().to_string(), digest: *digest };
        let (path, size) = known.get(digest).ok_or_else(unknown)?;
        let reader = match &self.origin {
            Origin::Folder(base, _) => {
                let place = base.join(path);
                Box::new(File::open(&place).map_err(|error| SourceError::vanished(&place, error))?)
            }
            Origin::Zip(_, _, archive) => archive.open_blob(digest, *size)?.ok_or_else(unknown)?,
        };
        Ok(Blob::new(reader, path.clone(), *digest, *size, self.cache.clone()))
    }

    /// The complete bytes of a small file.
    pub fn read_blob(&self, digest: &Digest) -> Result<Vec<u8>, SourceError> {
        let mut blob = self.open_blob(digest)?;
        let mut bytes = Vec::new();
        match blob.read_to_end(&mut bytes) {
            Ok(_) => Ok(bytes),
            Err(error) => match error.downcast::<SourceError>() {
                Ok(changed) => Err(changed),
                Err(error) => Err(SourceError::unreadable(Path::new(blob.path()), error)),
            },
        }
    }

    fn path(&self) -> &Path {
        match &self.origin {
            Origin::Folder(path, _) | Origin::Zip(path, ..) => path,
        }
    }

    fn new(origin: Origin, meter: &Meter) -> Self {
        let summary = ScanSummary {
            files_seen: meter.seen.load(Ordering::Relaxed),
            files_hashed: meter.hashed.load(Ordering::Relaxed),
            bytes_hashed: meter.bytes.load(Ordering::Relaxed),
            cache_written: false,
            ignored: match &origin {
                Origin::Folder(_, found) => found.ignored.clone(),
                Origin::Zip(..) => Ignored::default(),
            },
        };
        let (tree, root, encoded, by_digest) = Default::default();
        Self { origin, summary, tree, root, encoded, by_digest, cache: None, _scratch: None }
    }

    fn from_files(
        base: PathBuf,
        found: Found,
        cache: Option<&mut StatCache>,
        meter: &Meter,
    ) -> Result<Self, SourceError> {
        let listing = cache.is_some().then(|| listing(&found));
        let mut source = Self::new(Origin::Folder(base, found), meter);
        let (Some(cache), Some(listing)) = (cache, listing) else {
            source.tree()?;
            return Ok(source);
        };
        let known = cache.known_root().filter(|known| known.listing == listing);
        let root = known.map_or_else(|| source.root(), |known| Ok(known.root))?;
        let _ = source.root.set(root);
        source.cache = Some(cache.file().to_owned());
        if let Origin::Folder(_, Found { files, .. }) = &source.origin
            // Otherwise every file was found unchanged in the cache, and the cache has no others.
            && (known.is_none() || source.summary.files_hashed > 0 || cache.len() != files.len())
        {
            // The stat of a file that was written while being read does not match its bytes.
            let whole = files.iter().filter(|file| file.size == file.stat.size);
            let records = whole.map(|file| (file.path.as_str(), &file.stat, file.digest));
            source.summary.cache_written = cache.replace(KnownRoot { listing, root }, records).is_ok();
        }
        Ok(source)
    }
}

fn check_matched(path: &Path, rules: &Rules) -> Result<(), SourceError> {
    let Some(Unmatched { pattern, ignored }) = rules.include.unmatched().into_iter().next() else { return Ok(()) };
    Err(SourceError::NothingMatched { path: path.display().to_string(), pattern, ignored })
}

fn assemble(found: &Found) -> Result<Tree, SourceError> {
    let mut tree = Tree::default();
    for file in &found.files {
        let entry = FileEntry { digest: file.digest, size: file.size, executable: file.stat.executable() };
        tree.insert(&file.path, Leaf::File(entry)).map_err(|error| SourceError::refused(&file.path, error))?;
    }
    for (path, target) in &found.links {
        let leaf = Leaf::Link { target: target.clone() };
        tree.insert(path, leaf).map_err(|error| SourceError::refused(path, error))?;
    }
    tree.check_links().map_err(|error| SourceError::refused("the tree", error))?;
    Ok(tree)
}

fn by_digest(tree: &Tree) -> HashMap<Digest, (String, u64)> {
    let files = tree.iter().filter_map(|(path, leaf)| match leaf {
        Leaf::File(file) => Some((file.digest, (path.to_owned(), file.size))),
        Leaf::Link { .. } => None,
    });
    files.collect()
}

/// A digest over everything that determines the tree, many times faster than building the tree.
fn listing(found: &Found) -> Digest {
    let mut hasher = Hasher::default();
    // The encoding of the empty tree stands for the tree format, and the crate's version for the
    // validation rules.
    hasher.update(Tree::default().encode().root.as_bytes());
    hasher.update(env!("CARGO_PKG_VERSION").as_bytes());
    for file in &found.files {
        hasher.update(file.path.as_bytes());
        hasher.update(if file.stat.executable() { b"\0x" } else { b"\0-" });
        hasher.update(&file.size.to_le_bytes());
        hasher.update(file.digest.as_bytes());
    }
    for (path, target) in &found.links {
        hasher.update(path.as_bytes());
        hasher.update(b"\0l");
        hasher.update(target.as_bytes());
        hasher.update(b"\0");
    }
    hasher.finish()
}
