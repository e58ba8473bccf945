//! How a source is read. The defaults are right for the code of a function.

use std::fmt;
use std::sync::Arc;

/// Called from several threads, a few times per folder and per megabyte; must be quick.
pub type ProgressFn = Arc<dyn Fn(Progress) + Send + Sync>;

#[derive(Clone)]
pub struct SourceOptions {
    /// Patterns of what is taken, from the root of the source: `lib/*.py`, `**/*.css`, `assets/`. Nothing: everything. A
    /// pattern that fits nothing is an error.
    pub include: Vec<String>,
    /// Patterns of what is left out, as the manifest has them: `*.map` anywhere, `video/*.mp4` from the root of the
    /// source or with the source folder's own name in front, `cache/` folders only. A folder takes its files along.
    pub exclude: Vec<String>,
    /// Whether `.gitignore` files count: those in the folder, and those above it up to the root of the repository, unless
    /// they leave out the folder itself. `.milepostignore` files always do, unless no ignore files count at all.
    pub gitignore: bool,
    /// Whether ignore files are read. Not in a folder that somebody else wrote: what a build made is all wanted, and an ignore
    /// file in it may be a link to anything.
    pub ignore_files: bool,
    /// Whether names that begin with a dot are taken. `.git` and `.milepost` never are.
    pub keep_hidden: bool,
    /// Whether a zip (or a jar, or an office document) stays the one file it is instead of being unpacked.
    pub keep_archives: bool,
    pub limits: ZipLimits,
    pub folder_limits: FolderLimits,
    pub progress: Option<ProgressFn>,
}

/// Bounds for unpacking, checked against what comes out and not against what the zip declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZipLimits {
    pub entries: usize,
    pub total_bytes: u64,
    pub file_bytes: u64,
    /// How many times larger than its packed form a file, and the whole, may become once it is above `ratio_from`.
    pub ratio: u64,
    pub ratio_from: u64,
}

/// Bounds for reading a folder that somebody else filled, checked before anything is hashed that goes beyond them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FolderLimits {
    /// Files, links and folders together.
    pub most_files: Option<u64>,
    /// What the files say they have, holes too: that much would be read.
    pub most_bytes: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    pub files_seen: u64,
    pub bytes_hashed: u64,
}

impl Default for SourceOptions {
    fn default() -> Self {
        Self {
            include: Vec::new(),
            exclude: Vec::new(),
            gitignore: false,
            ignore_files: true,
            keep_hidden: true,
            keep_archives: false,
            limits: ZipLimits::default(),
            folder_limits: FolderLimits::default(),
            progress: None,
        }
    }
}

impl Default for ZipLimits {
    fn default() -> Self {
        Self { entries: 100_000, total_bytes: 4 << 30, file_bytes: 2 << 30, ratio: 200, ratio_from: 10 << 20 }
    }
}

impl fmt::Debug for SourceOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceOptions")
            .field("include", &self.include)
            .field("exclude", &self.exclude)
            .field("gitignore", &self.gitignore)
            .field("keep_hidden", &self.keep_hidden)
            .field("keep_archives", &self.keep_archives)
            .field("limits", &self.limits)
            .field("folder_limits", &self.folder_limits)
            .finish_non_exhaustive()
    }
}
