//! The code of a function. The uploaded zip is kept unchanged as the package's source, and its
//! content is what runs.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use milepost_client::source::{Source, SourceError, SourceOptions, ZipRefusal};
use milepost_model::change::UnitKey;
use milepost_model::spec::{FunctionSpec, PackageSpec};
use milepost_model::unit_put::{PackagePut, VersionRef};
use milepost_model::{AppName, Digest, Selector, UnitKind, UnitName};

use crate::compat::qinling::fault::{Fault, V1Result};
use crate::compat::qinling::form::{Upload, ZIP};
use crate::content::{archive, ingest_source, trees};
use crate::error::internal;
use crate::state::State;

/// Build command that turns the source into the deployment, in case it has to be repeated.
const UNPACK: &str = "python3 -m zipfile -e package.zip \"$DEPLOY_PKG\"";

/// Message of the v1 interface. Clients look for it, so anything else is appended.
const INVALID: &str = "Package is not a valid ZIP package.";

pub(crate) struct Code {
    /// The tree with only the zip.
    pub source: Digest,
    /// The tree with the content of the zip.
    deployment: Digest,
    pub md5: String,
}

impl Code {
    pub(crate) fn put(&self, environment: Option<UnitName>) -> PackagePut {
        PackagePut {
            merge: environment.is_none(),
            environment: environment.map(|name| VersionRef { name, version: Selector::Latest }),
            source: Some(self.source),
            deployment: Some(self.deployment),
            build_command: Some(UNPACK.to_owned()),
            build_log: None,
        }
    }
}

/// Verifies and stores a zip.
pub(crate) async fn store(state: &State, app: &AppName, upload: Upload, md5: Option<&str>) -> V1Result<Code> {
    if md5.is_some_and(|wanted| !wanted.eq_ignore_ascii_case(&upload.md5)) {
        return Err(Fault::bad("Package md5 mismatch."));
    }
    let folder = upload.folder.path().to_owned();
    let read = tokio::task::spawn_blocking(move || {
        let options = SourceOptions { ignore_files: false, ..SourceOptions::default() };
        let inside = Source::open(&folder.join(ZIP), &options, None)?;
        inside.encoded()?;
        let whole = Source::open(&folder, &options, None)?;
        whole.encoded()?;
        Ok::<_, SourceError>((inside, whole))
    });
    let (inside, whole) = read.await.map_err(|error| internal(&error))?.map_err(|error| refused(&error))?;
    if inside.summary().files_seen == 0 {
        return Err(Fault::bad(format!("{INVALID} It is refused: no file is in it; pack the function's code.")));
    }
    let deployment = ingest_source::store(&state.content, app, Arc::new(inside)).await?;
    let source = ingest_source::store(&state.content, app, Arc::new(whole)).await?;
    Ok(Code { source, deployment, md5: upload.md5 })
}

fn refused(error: &SourceError) -> Fault {
    match error {
        SourceError::Zip { reason: ZipRefusal::NotAZip | ZipRefusal::Damaged(_), .. } => Fault::bad(INVALID),
        // The file is a zip, so the message needs the reason why it was rejected.
        SourceError::Zip { reason, .. } => Fault::bad(format!("{INVALID} It is refused: {reason}.")),
        other => internal(other).into(),
    }
}

/// The package version that a function version runs.
pub(crate) async fn package(state: &State, app: &AppName, function: &FunctionSpec) -> V1Result<PackageSpec> {
    let key = UnitKey { kind: UnitKind::Package, name: function.package.name.clone() };
    let selector = match function.package.number {
        Some(number) => Selector::Number(number),
        None => Selector::Digest(function.package.digest.hex()),
    };
    let version = state.catalog.version_get(app, key, selector).await?;
    Ok(serde_json::from_value(version.spec).map_err(|error| internal(&error))?)
}

/// Downloads the uploaded zip, or a zip of the files if the function was deployed another way.
pub(crate) async fn download(state: &State, app: &AppName, function: &FunctionSpec, name: &str) -> V1Result<Response> {
    let package = package(state, app, function).await?;
    if let Some(source) = package.source.filter(|_| package.build_command == UNPACK) {
        let tree = trees::load(&state.store, source).await?;
        if let Some(file) = tree.file_at(ZIP) {
            let row = trees::locate(&state.store, file.digest).await?;
            let stream = state.blobs.stream_verified(&trees::location(&row)?, file.digest).await;
            let stream = stream.map_err(crate::error::ApiError::from)?;
            let headers = [
                (header::CONTENT_TYPE, HeaderValue::from_static("application/zip")),
                (header::CONTENT_LENGTH, HeaderValue::from(row.size)),
                (header::CONTENT_DISPOSITION, archive::disposition(name)?),
            ];
            return Ok((headers, Body::from_stream(stream)).into_response());
        }
    }
    let Some(root) = package.deployment.or(package.source) else {
        return Err(Fault::bad("The function has no files."));
    };
    Ok(archive::zip_response(&state.content, root, name).await?)
}
