//! An app version as an artifact, streamed: the document first, then every file of it, by digest.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bytes::Bytes;
use futures::stream::{self, BoxStream, Stream, StreamExt, TryStreamExt};
use milepost_blobs::{BlobError, Location};
use milepost_catalog::BlobRow;
use milepost_model::channel::artifact::{Artifact, ArtifactBlob, MAX_BLOBS};
use milepost_model::diff::Contents;
use milepost_model::snapshot::AppVersion;
use milepost_model::tree::Entry;
use milepost_model::{AliasName, AppName, Code, Digest, Refusal, UnitName, pack};

use crate::error::ApiResult;
use crate::state::{State, Store};
use crate::trees;

/// An artifact that is ready to be sent.
pub(crate) struct Made {
    pub app_version: AppVersion,
    /// What is not the same where it is installed.
    pub notes: Vec<String>,
    pub size: u64,
    pub bytes: BoxStream<'static, Result<Bytes, BlobError>>,
}

/// `version` is any name of an app version; `live` when left out.
pub(crate) async fn make(state: &State, app: &AppName, version: Option<String>) -> ApiResult<Made> {
    let name = version.unwrap_or_else(|| "live".to_owned());
    let (app_version, contents, gone) = state.catalog.app_version_contents(app, name).await?;
    if !gone.is_empty() {
        let message = format!("App version `{}` is not whole any more, so it cannot be published.", app_version.id);
        let gone = gone.iter().map(|(key, number)| format!("version {number} of {key} was deleted")).collect();
        return Err(Refusal::new(Code::NotPortable, message)
            .hint("publish a later app version; `milepost app list-version` shows them")
            .blockers(gone)
            .into());
    }
    let aliases = aliases(state, app, &contents).await?;
    let alias = |function: &UnitName, alias: &AliasName| aliases.get(&(function.clone(), alias.clone())).copied();
    let packed = Artifact::of(&contents, alias).map_err(|unportable| {
        let message = format!("App version `{}` cannot be installed elsewhere as it is.", app_version.id);
        Refusal::new(Code::NotPortable, message)
            .hint("an artifact holds one version of each unit: change what is listed, and publish the result")
            .blockers(unportable.0)
    })?;
    let rows = blobs(&state.store, packed.roots).await?;
    let mut artifact = packed.artifact;
    artifact.blobs = rows
        .values()
        .map(|row| ArtifactBlob { digest: row.digest, size: row.size, directory: row.is_directory })
        .collect();
    let prefix = artifact.prefix();
    let size = prefix.len() as u64 + artifact.blobs_len();
    let bytes = stream::iter([Ok(Bytes::from(prefix))]).chain(content(state.store.clone(), rows)).boxed();
    Ok(Made { app_version, notes: packed.notes, size, bytes })
}

/// Where the aliases point that triggers follow.
async fn aliases(state: &State, app: &AppName, contents: &Contents) -> ApiResult<HashMap<(UnitName, AliasName), i64>> {
    let mut found = HashMap::new();
    let followed: BTreeSet<(UnitName, AliasName)> = contents
        .values()
        .filter_map(|(_, spec)| spec.target())
        .filter_map(|target| Some((target.function.clone(), target.alias.clone()?)))
        .collect();
    for (function, alias) in followed {
        // One that is gone points nowhere, which is told with the rest.
        if let Ok(at) = state.catalog.alias_get(app, function.clone(), alias.clone()).await {
            found.insert((function, alias), at.number);
        }
    }
    Ok(found)
}

/// Every directory and file below the roots, by digest.
async fn blobs(store: &Store, roots: BTreeSet<Digest>) -> ApiResult<BTreeMap<Digest, BlobRow>> {
    let mut found: BTreeMap<Digest, BlobRow> = BTreeMap::new();
    let mut level = roots;
    while !level.is_empty() {
        if found.len() + level.len() > MAX_BLOBS {
            let message = format!("The app version has more than {MAX_BLOBS} different files and folders.");
            return Err(Refusal::new(Code::UploadTooLarge, message)
                .hint("leave out what is not needed to run, or split the app")
                .into());
        }
        let mut below = BTreeSet::new();
        let rows = store.catalog.blob_locate(level.iter().copied().collect()).await?;
        let known: BTreeSet<Digest> = rows.iter().map(|row| row.digest).collect();
        if let Some(missing) = level.difference(&known).next() {
            return Err(trees::not_here(*missing));
        }
        for row in rows {
            if row.is_directory {
                for entry in trees::directory(store, &row).await?.entries.values() {
                    match entry {
                        Entry::Directory { digest } => below.insert(*digest),
                        Entry::File(file) => below.insert(file.digest),
                        Entry::Link { .. } => false,
                    };
                }
            }
            found.insert(row.digest, row);
        }
        level = below.into_iter().filter(|digest| !found.contains_key(digest)).collect();
    }
    Ok(found)
}

fn content(
    store: Store,
    rows: BTreeMap<Digest, BlobRow>,
) -> impl Stream<Item = Result<Bytes, BlobError>> + Send + 'static {
    stream::iter(rows.into_values())
        .then(move |row| {
            let store = store.clone();
            async move {
                let kind = if row.is_directory { pack::BlobKind::Directory } else { pack::BlobKind::File };
                let header = Bytes::copy_from_slice(&pack::encode_header(kind, row.digest, row.size));
                let pack =
                    row.pack.parse().map_err(|_| BlobError::Malformed(format!("`{}` names no pack", row.pack)))?;
                let at = Location { pack, offset: row.offset, size: row.size };
                let body = store.blobs.stream_verified(&at, row.digest).await?;
                Ok(stream::iter([Ok(header)]).chain(body))
            }
        })
        .try_flatten()
}
