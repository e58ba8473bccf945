//! Scans files, with a stat cache, and uploads them with a progress bar.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use milepost_client::UploadSummary;
use milepost_client::source::{Source, SourceError, SourceOptions, StatCache, cache_name};
use milepost_model::{Clock, Digest, SystemClock};

use crate::context::{Context, cache_folder};
use crate::failure::{Failure, Result};

/// Options that name the code of a function or a package.
#[derive(Debug, Clone, Default, Args)]
pub struct CodeArgs {
    /// Code to run: a file, a folder or a zip
    #[arg(long, value_name = "PATH", conflicts_with = "deploy")]
    pub code: Option<PathBuf>,
    /// Source to build: a file, a folder or a zip
    #[arg(long, visible_alias = "sourcearchive", value_name = "PATH")]
    pub src: Option<PathBuf>,
    /// Code that is already built: a folder or a zip
    #[arg(long, visible_alias = "deployarchive", value_name = "PATH")]
    pub deploy: Option<PathBuf>,
    /// Command that builds the source
    #[arg(long, value_name = "COMMAND")]
    pub buildcmd: Option<String>,
}

impl CodeArgs {
    pub fn is_given(&self) -> bool {
        self.code.is_some() || self.src.is_some() || self.deploy.is_some() || self.buildcmd.is_some()
    }

    /// Rejects `--buildcmd` together with code that runs as it is: the command would never run.
    fn check(&self) -> Result<()> {
        let (Some(_), Some(path)) = (&self.buildcmd, self.code.as_ref().or(self.deploy.as_ref())) else {
            return Ok(());
        };
        let option = if self.code.is_some() { "--code" } else { "--deploy" };
        let message = format!("`--buildcmd` does not apply to `{option}`, whose code is not built");
        let hint = match &self.src {
            Some(_) => format!("leave out `{option}` or `--buildcmd`"),
            None => format!("pass the source as `--src {}`, or leave out `--buildcmd`", path.display()),
        };
        Err(Failure::usage(message).hint(hint))
    }

    /// Scans the given paths.
    pub async fn scan(&self) -> Result<Code> {
        self.check()?;
        let mut code = Code::default();
        if let Some(path) = &self.src {
            code.source = Some(code.add(path).await?);
        }
        if let Some(path) = self.code.as_ref().or(self.deploy.as_ref()) {
            code.deployment = Some(code.add(path).await?);
        }
        Ok(code)
    }
}

/// The code of a package: its root digests and the files to upload.
#[derive(Default)]
pub struct Code {
    pub source: Option<Digest>,
    pub deployment: Option<Digest>,
    pub files: Vec<Arc<Source>>,
}

impl Code {
    async fn add(&mut self, path: &Path) -> Result<Digest> {
        let source = scan_some(path, &SourceOptions::default()).await?;
        let root = source.root()?;
        self.files.push(Arc::new(source));
        Ok(root)
    }
}

/// Uploads what the server is missing of several trees, with one progress bar.
pub async fn upload_all(context: &Context<'_>, sources: Vec<Arc<Source>>, what: &str) -> Result<UploadSummary> {
    // Hidden until there is something to send.
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
    if let Ok(style) = ProgressStyle::with_template("{msg} [{bar:30}] {bytes}/{total_bytes} {bytes_per_sec}") {
        bar.set_style(style);
    }
    bar.set_message(what.to_owned());
    let moving = bar.clone();
    let progress = Arc::new(move |bytes| moving.inc(bytes));
    let begin = |total| {
        bar.set_length(total);
        if context.ui.shows_progress() {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    };
    let summary = context.client.upload_many(&context.app, sources, begin, progress).await;
    bar.finish_and_clear();
    Ok(summary?)
}

/// Like [`scan`], but fails if there are no files.
pub async fn scan_some(path: &Path, options: &SourceOptions) -> Result<Source> {
    let source = scan(path, options).await?;
    if source.summary().files_seen == 0 {
        return Err(
            Failure::new(format!("`{}` contains no files", path.display())).hint("check the path and the exclusions")
        );
    }
    Ok(source)
}

/// Scans files, reusing hashes from the stat cache of the last scan.
pub async fn scan(path: &Path, options: &SourceOptions) -> Result<Source> {
    let path = path.to_owned();
    let options = options.clone();
    // The system clock, also in tests: it is compared with the modification times of files.
    let started = SystemClock.now();
    aside(move || {
        let mut cache = cache_file(&path, &options).map(|file| StatCache::load(file, started));
        Source::open(&path, &options, cache.as_mut())
    })
    .await
}

/// Scans bytes embedded in a document: a zip, or one file called `name`.
pub async fn scan_bytes(name: &str, bytes: &[u8]) -> Result<Source> {
    let (name, bytes) = (name.to_owned(), bytes.to_owned());
    aside(move || Source::from_bytes(&name, &bytes, &SourceOptions::default())).await
}

/// Runs `work` on the blocking thread pool.
async fn aside(work: impl FnOnce() -> Result<Source, SourceError> + Send + 'static) -> Result<Source> {
    let done = tokio::task::spawn_blocking(work).await;
    Ok(done.map_err(|error| Failure::new("scanning the files failed").caused_by(&error))??)
}

/// One cache per scanned path and options. Without a cache directory, every scan hashes all files.
fn cache_file(path: &Path, options: &SourceOptions) -> Option<PathBuf> {
    Some(cache_folder().ok()?.join("stat").join(cache_name(path, options)))
}
