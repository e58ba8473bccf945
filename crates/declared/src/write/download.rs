//! Downloads the files of versions into folders.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use futures::{StreamExt, TryStreamExt};
use milepost_client::source::{Source, SourceOptions, ZipLimits};
use milepost_model::Digest;
use milepost_model::change::UnitKey;

use super::disk::put_tree;
use crate::error::{Error, Result};
use crate::reporter::Activity;
use crate::session::Session;

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
pub async fn all(session: &Session<'_>, downloads: &[Download]) -> Result<Vec<BTreeSet<String>>> {
    let shown = session.reporter.begin(Activity::Download);
    shown.set_total(downloads.len() as u64);
    futures::stream::iter(downloads)
        .map(|download| {
            let shown = &shown;
            async move {
                shown.set_item(&download.key.to_string());
                let paths = one(session, download).await?;
                shown.advance(1);
                Ok::<_, Error>(paths)
            }
        })
        .buffered(AT_ONCE)
        .try_collect()
        .await
}

async fn one(session: &Session<'_>, download: &Download) -> Result<BTreeSet<String>> {
    let Download { key, number, part, root, to } = download.clone();
    let response = session.client.version_download(session.app, &key, &number.to_string(), part).await?;
    let mut zip = tempfile::NamedTempFile::new()?;
    let mut stream = response.bytes_stream();
    while let Some(chunk) = stream.next().await {
        zip.write_all(&chunk.map_err(|error| Error::Interrupted(Box::new(error)))?)?;
    }
    let unpacked = tokio::task::spawn_blocking(move || {
        let source = Source::open(zip.path(), &options(), None)?;
        if source.root()? != root {
            return Err(Error::WrongDigest { key, number });
        }
        put_tree(&source, &to)?;
        Ok(source.tree()?.iter().map(|(path, _)| path.to_owned()).collect())
    });
    unpacked.await.map_err(|source| Error::Stopped { task: "unpacking the files", source })?
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
