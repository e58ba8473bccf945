//! Files on their way to the server: scanned with a cache, sent with a progress bar.

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use milepost_client::source::{Source, SourceOptions, StatCache};
use milepost_model::{Clock, Digest, SystemClock};

use crate::context::{Context, cache_folder};
use crate::failure::{Failure, Result};

/// Where code comes from: a file, a folder or a zip.
#[derive(Debug, Clone, Default, Args)]
pub struct CodeArgs {
    /// The code that runs: a file, a folder or a zip
    #[arg(long, value_name = "PATH", conflicts_with = "deploy")]
    pub code: Option<std::path::PathBuf>,
    /// The source that is built: a file, a folder or a zip
    #[arg(long, visible_alias = "sourcearchive", value_name = "PATH")]
    pub src: Option<std::path::PathBuf>,
    /// What runs, already built: a folder or a zip
    #[arg(long, visible_alias = "deployarchive", value_name = "PATH")]
    pub deploy: Option<std::path::PathBuf>,
    /// The command that builds the source
    #[arg(long, value_name = "COMMAND")]
    pub buildcmd: Option<String>,
}

impl CodeArgs {
    pub fn is_given(&self) -> bool {
        self.code.is_some() || self.src.is_some() || self.deploy.is_some() || self.buildcmd.is_some()
    }

    /// Uploads what was named; answers the trees of the source and of what runs.
    pub async fn upload(&self, context: &Context<'_>) -> Result<(Option<Digest>, Option<Digest>)> {
        let source = match &self.src {
            Some(path) => Some(upload(context, path, &SourceOptions::default()).await?.0),
            None => None,
        };
        let deployment = match self.code.as_ref().or(self.deploy.as_ref()) {
            Some(path) => Some(upload(context, path, &SourceOptions::default()).await?.0),
            None => None,
        };
        Ok((source, deployment))
    }
}

/// Makes sure that the server has the files at `path`; answers the root of their tree, and how much was sent.
pub async fn upload(
    context: &Context<'_>,
    path: &Path,
    options: &SourceOptions,
) -> Result<(Digest, milepost_client::UploadSummary)> {
    let source = scan(path, options).await?;
    let root = source.root()?;
    if source.summary().files_seen == 0 {
        return Err(
            Failure::new(format!("`{}` holds no files", path.display())).hint("check the path and what is excluded")
        );
    }
    let bar = if context.ui.shows_progress() { ProgressBar::new(0) } else { ProgressBar::hidden() };
    if let Ok(style) = ProgressStyle::with_template("{msg} [{bar:30}] {bytes}/{total_bytes} {bytes_per_sec}") {
        bar.set_style(style);
    }
    bar.set_message(format!("Uploading {}", path.display()));
    let moving = bar.clone();
    let progress = Arc::new(move |bytes| moving.inc(bytes));
    let summary = context.client.upload(&context.app, Arc::new(source), |total| bar.set_length(total), progress).await;
    bar.finish_and_clear();
    Ok((root, summary?))
}

async fn scan(path: &Path, options: &SourceOptions) -> Result<Source> {
    let path = path.to_owned();
    let options = options.clone();
    // The machine's own time, also in tests: it is compared with the times of the files.
    let started = SystemClock.now();
    let scanned = tokio::task::spawn_blocking(move || {
        let mut cache = cache_file(&path).map(|file| StatCache::load(file, started));
        Source::open(&path, &options, cache.as_mut())
    });
    scanned.await.map_err(|error| Failure::new("scanning the files failed").caused_by(&error))?.map_err(Failure::from)
}

/// One cache per scanned folder. Without a place for it, everything is hashed each time.
fn cache_file(path: &Path) -> Option<std::path::PathBuf> {
    let full = path.canonicalize().ok()?;
    let name = Digest::of(full.as_os_str().as_encoded_bytes()).hex();
    Some(cache_folder().ok()?.join("stat").join(name))
}
