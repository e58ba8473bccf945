//! Uploads. A stream of blobs is stored as one pack, and only then registered in the catalog. A
//! crash in between leaves an unknown pack, which a later sweep removes.

use std::time::Duration;

use axum::BoxError;
use axum::body::Body;
use axum::http::HeaderMap;
use bytes::Bytes;
use futures::stream::{self, Stream, StreamExt};
use milepost_blobs::{IngestLimits, Ingested};
use milepost_catalog::NewBlob;
use milepost_client::api::Uploaded;
use milepost_model::tree::{MAX_NAME, fits_a_disk};
use milepost_model::{AppName, Code, Next, Refusal};

use crate::content::Content;
use crate::edge::body;
use crate::edge::extract::declared_length;
use crate::error::ApiResult;

const MAX_BLOBS: usize = 100_000;
/// Limit of one request. Larger files are sent one by one.
const MAX_BYTES: u64 = 64 << 30;
/// A sender that is silent for this long is considered gone.
const SILENCE: Duration = Duration::from_secs(60);

/// The body, failing when no data arrives for [`SILENCE`]. Uploads have no overall time limit, so a
/// dead connection would otherwise be kept forever.
pub(crate) fn while_it_moves(body: Body) -> impl Stream<Item = Result<Bytes, BoxError>> + Send {
    let moving = stream::unfold(body.into_data_stream(), |mut body| async move {
        match tokio::time::timeout(SILENCE, body.next()).await {
            Ok(chunk) => chunk.map(|chunk| (chunk.map_err(Into::into), body)),
            Err(silent) => Some((Err(silent.into()), body)),
        }
    });
    moving.fuse()
}

pub(crate) async fn upload(content: &Content, app: &AppName, headers: &HeaderMap, body: Body) -> ApiResult<Uploaded> {
    let left = content.catalog.quota_left(app).await?.unwrap_or(u64::MAX);
    let most = MAX_BYTES.min(left.saturating_add(1 << 20));
    if let Some(declared) = declared_length(headers).filter(|declared| *declared > most) {
        body::hear_out_aside(headers, body);
        let message = format!("the upload declares {declared} bytes, and app `{app}` may send {most} more");
        return Err(Refusal::new(Code::UploadTooLarge, message)
            .correct("send fewer files")
            .next(Next::LargerPlan { app: app.to_string() })
            .limit(most, declared)
            .into());
    }
    let mut body = Box::pin(while_it_moves(body));
    match content.blobs.ingest(&mut body, limits(most)).await {
        Ok(ingested) => register(content, app, ingested).await,
        Err(error) => {
            body::drain_aside(body);
            Err(error.into())
        }
    }
}

pub(crate) fn limits(most: u64) -> IngestLimits {
    IngestLimits { max_blobs: MAX_BLOBS, max_blob_bytes: most, max_total_bytes: most }
}

/// Registers the blobs of a stored pack in the catalog.
pub(crate) async fn register(content: &Content, app: &AppName, ingested: Ingested) -> ApiResult<Uploaded> {
    let pack = ingested.pack;
    let names = ingested.blobs.iter().filter_map(|blob| blob.directory.as_ref()).flat_map(|found| found.entries.keys());
    if let Some(name) = names.into_iter().find(|name| !fits_a_disk(name)) {
        let _ = content.blobs.delete(pack).await;
        let message =
            format!("the name `{}…` is longer than {MAX_NAME} bytes", name.chars().take(80).collect::<String>());
        return Err(Refusal::new(Code::InvalidRequest, message).correct("rename the file").into());
    }
    let blobs = ingested
        .blobs
        .iter()
        .map(|blob| NewBlob {
            digest: blob.digest,
            size: blob.size,
            offset: blob.offset,
            children: blob.directory.as_ref().map(|directory| directory.children().collect()),
        })
        .collect::<Vec<_>>();
    let uploaded = Uploaded { blobs: blobs.len() as u64, bytes: ingested.size };
    if let Err(error) = content.catalog.pack_register(app, pack.to_string(), ingested.size, blobs).await {
        // Nothing refers to the pack. If deleting it fails, a sweep removes it.
        let _ = content.blobs.delete(pack).await;
        return Err(error.into());
    }
    content.uploaded_bytes.inc_by(uploaded.bytes);
    Ok(uploaded)
}
