//! How a source is read. The defaults suit the code of a function.

use std::fmt;
use std::sync::Arc;

/// Called from several threads, a few times per directory and per megabyte; must be fast.
pub type ProgressFn = Arc<dyn Fn(Progress) + Send + Sync>;

#[derive(Clone)]
pub struct SourceOptions {
    /// Patterns of files to take, from the root of the source: `lib/*.py`, `**/*.css`, `assets/`.
    /// If empty, everything is taken. A pattern that matches nothing is an error.
    pub include: Vec<String>,
    /// Patterns of files to leave out, as in the manifest: `*.map` anywhere, `video/*.mp4` from the
    /// root of the source or with the source folder's own name as prefix, `cache/` for directories
    /// only. An excluded directory excludes its files.
    pub exclude: Vec<String>,
    /// Whether `.gitignore` files count: those in the folder, and those in its parents up to the
    /// root of the repository, unless they ignore the folder itself. `.milepostignore` files always
    /// count, unless `ignore_files` is off.
    pub gitignore: bool,
    /// Whether ignore files are read. Off for directories with untrusted content: all build output
    /// is wanted, and an ignore file in it may be a link to anything.
    pub ignore_files: bool,
    /// Whether names that start with a dot are taken. `.git` and `.milepost` never are.
    pub keep_hidden: bool,
    /// Whether a zip (or a jar, or an office document) is taken as a single file instead of being
    /// unpacked.
    pub keep_archives: bool,
    pub limits: ZipLimits,
    pub folder_limits: FolderLimits,
    pub progress: Option<ProgressFn>,
}

/// Limits for unpacking, checked against the unpacked bytes and not against the zip's declarations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZipLimits {
    pub entries: usize,
    pub total_bytes: u64,
    pub file_bytes: u64,
    /// How many times larger than its packed form a file, or the whole, may become once it exceeds
    /// `ratio_from`.
    pub ratio: u64,
    pub ratio_from: u64,
}

/// Limits for reading a folder with untrusted content, checked before anything beyond them is
/// hashed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FolderLimits {
    /// Files, links and directories together.
    pub most_files: Option<u64>,
    /// The sum of the file sizes, including holes, since that many bytes would be read.
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
