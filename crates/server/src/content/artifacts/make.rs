//! Streams an app version as an artifact: first the document, then all files by digest.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bytes::Bytes;
use futures::stream::{self, BoxStream, Stream, StreamExt, TryStreamExt};
use milepost_blobs::{BlobError, Location};
use milepost_catalog::BlobRow;
use milepost_model::channel::artifact::{Artifact, ArtifactBlob};
use milepost_model::diff::Contents;
use milepost_model::refusal::{Part, View};
use milepost_model::snapshot::AppVersion;
use milepost_model::{AliasName, AppName, Code, Digest, Refusal, UnitName, pack};

use super::walk;
use crate::error::ApiResult;
use crate::state::Store;

/// An artifact that is ready to be sent.
pub(crate) struct Made {
    pub app_version: AppVersion,
    /// Differences that an installed copy will have.
    pub notes: Vec<String>,
    pub size: u64,
    pub bytes: BoxStream<'static, Result<Bytes, BlobError>>,
}

/// `version` is any name of an app version and defaults to `live`.
pub(crate) async fn make(store: &Store, app: &AppName, version: Option<String>) -> ApiResult<Made> {
    let name = version.unwrap_or_else(|| "live".to_owned());
    let (app_version, contents, gone) = store.catalog.app_version_contents(app, name).await?;
    if !gone.is_empty() {
        let message = format!("app version `{}` cannot be published, because parts of it were deleted", app_version.id);
        let gone = gone.iter().map(|(key, number)| format!("{key} version {number}")).collect();
        return Err(Refusal::new(Code::NotPortable, message)
            .correct("publish a later app version")
            .see(View::AppVersions)
            .deleted(gone)
            .into());
    }
    let aliases = aliases(store, app, &contents).await?;
    let alias = |function: &UnitName, alias: &AliasName| aliases.get(&(function.clone(), alias.clone())).copied();
    let packed = Artifact::of(&contents, alias).map_err(|unportable| {
        let message = format!("app version `{}` cannot be installed elsewhere", app_version.id);
        Refusal::new(Code::NotPortable, message)
            .correct("an artifact has one version of each unit: change what is listed, and publish the result")
            .parts(unportable.0.into_iter().map(|why| Part::new("", why)).collect())
    })?;
    let rows = walk::below(store, packed.roots).await?;
    let mut artifact = packed.artifact;
    artifact.blobs = rows
        .values()
        .map(|row| ArtifactBlob { digest: row.digest, size: row.size, directory: row.is_directory })
        .collect();
    let prefix = artifact.prefix();
    let size = prefix.len() as u64 + artifact.blobs_len();
    let bytes = stream::iter([Ok(Bytes::from(prefix))]).chain(content(store.clone(), rows)).boxed();
    Ok(Made { app_version, notes: packed.notes, size, bytes })
}

/// Resolves the aliases that triggers follow.
async fn aliases(store: &Store, app: &AppName, contents: &Contents) -> ApiResult<HashMap<(UnitName, AliasName), i64>> {
    let mut found = HashMap::new();
    let followed: BTreeSet<(UnitName, AliasName)> = contents
        .values()
        .filter_map(|(_, spec)| spec.target())
        .filter_map(|target| Some((target.function.clone(), target.alias.clone()?)))
        .collect();
    for (function, alias) in followed {
        // A deleted alias resolves to nothing, which [`Artifact::of`] reports with the other
        // problems.
        if let Ok(at) = store.catalog.alias_get(app, function.clone(), alias.clone()).await {
            found.insert((function, alias), at.number);
        }
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
