//! Scans files into trees, reusing hashes from the stat cache of the last scan.

use std::path::{Path, PathBuf};

use milepost_client::source::{Source, SourceError, SourceOptions, StatCache, cache_name};
use milepost_model::{Clock, SystemClock};

use super::FileSet;
use super::error::{Error, Result};

#[derive(Debug, Clone, Default)]
pub struct Scanner {
    /// The folder of the stat caches. Without one, every scan hashes all files.
    cache: Option<PathBuf>,
}

impl Scanner {
    pub fn new(cache: Option<PathBuf>) -> Self {
        Self { cache }
    }

    /// Scans declared files.
    pub async fn files(&self, files: &FileSet) -> Result<Source> {
        match files {
            FileSet::Files(selection) => self.path(&selection.root, &selection.options()).await,
            FileSet::Literal { name, bytes } => literal(name, bytes).await,
        }
    }

    pub async fn path(&self, path: &Path, options: &SourceOptions) -> Result<Source> {
        // One cache for each path and options.
        let cache = self.cache.as_ref().map(|folder| folder.join(cache_name(path, options)));
        let (path, options) = (path.to_owned(), options.clone());
        // The system clock, also in tests: it is compared with the modification times of files.
        let started = SystemClock.now();
        aside(move || {
            let mut cache = cache.map(|file| StatCache::load(file, started));
            Source::open(&path, &options, cache.as_mut())
        })
        .await
    }
}

/// Scans bytes embedded in a document: a zip, or one file called `name`.
async fn literal(name: &str, bytes: &[u8]) -> Result<Source> {
    let (name, bytes) = (name.to_owned(), bytes.to_owned());
    aside(move || Source::from_bytes(&name, &bytes, &SourceOptions::default())).await
}

/// Runs `work` on the blocking thread pool.
async fn aside(work: impl FnOnce() -> Result<Source, SourceError> + Send + 'static) -> Result<Source> {
    let done = tokio::task::spawn_blocking(work).await;
    Ok(done.map_err(|source| Error::Stopped { task: "scanning the files", source })??)
}
