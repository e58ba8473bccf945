//! Downloads the files of versions into folders.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use futures::{StreamExt, TryStreamExt};
use indicatif::{ProgressBar, ProgressStyle};
use milepost_client::source::{Source, SourceOptions, ZipLimits};
use milepost_model::Digest;
use milepost_model::change::UnitKey;

use super::disk::put_tree;
use crate::context::Context;
use crate::failure::{Failure, Result};

/// Concurrent downloads. The server only packs a few archives at once, for all clients.
const AT_ONCE: usize = 4;

/// One tree of a version, and its target.
#[derive(Debug, Clone)]
pub struct Download {
    pub key: UnitKey,
    pub number: i64,
    /// `source` or `deployment`; None for a unit with a single tree.
    pub part: Option<&'static str>,
    pub root: Digest,
    pub to: PathBuf,
}

/// Downloads all of them, and returns the paths of each in the same order.
pub async fn all(context: &Context<'_>, downloads: &[Download]) -> Result<Vec<BTreeSet<String>>> {
    let bar =
        if context.ui.shows_progress() { ProgressBar::new(downloads.len() as u64) } else { ProgressBar::hidden() };
    if let Ok(style) = ProgressStyle::with_template("Downloading [{bar:30}] {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    let fetched = futures::stream::iter(downloads)
        .map(|download| {
            let bar = &bar;
            async move {
                bar.set_message(download.key.to_string());
                let paths = one(context, download).await?;
                bar.inc(1);
                Ok::<_, Failure>(paths)
            }
        })
        .buffered(AT_ONCE)
        .try_collect()
        .await;
    bar.finish_and_clear();
    fetched
}

async fn one(context: &Context<'_>, download: &Download) -> Result<BTreeSet<String>> {
    let Download { key, number, part, root, to } = download.clone();
    let response = context.client.version_download(&context.app, &key, &number.to_string(), part).await?;
    let mut zip = tempfile::NamedTempFile::new()?;
    let mut stream = response.bytes_stream();
    while let Some(chunk) = stream.next().await {
        zip.write_all(&chunk.map_err(|error| Failure::new("the download was interrupted").caused_by(&error))?)?;
    }
    let unpacked = tokio::task::spawn_blocking(move || {
        let source = Source::open(zip.path(), &options(), None)?;
        if source.root()? != root {
            let message = format!("the downloaded files of {key}, version {number}, do not match their digest");
            return Err(Failure::new(message).hint("run `milepost doctor`: the server's storage may be damaged"));
        }
        put_tree(&source, &to)?;
        Ok(source.tree()?.iter().map(|(path, _)| path.to_owned()).collect())
    });
    unpacked.await.map_err(|error| Failure::new("could not unpack the files").caused_by(&error))?
}

/// No limits on archives from the server: the digest is verified.
fn options() -> SourceOptions {
    let limits = ZipLimits {
        entries: usize::MAX,
        total_bytes: u64::MAX,
        file_bytes: u64::MAX,
        ratio: u64::MAX,
        ratio_from: u64::MAX,
    };
    SourceOptions { limits, ..SourceOptions::default() }
}
