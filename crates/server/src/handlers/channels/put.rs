use axum::body::Body;
use axum::http::header::{ETAG, IF_MATCH, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::{Bytes, BytesMut};
use futures::{StreamExt as _, TryStreamExt as _};
use milepost_blobs::BlobError;
use milepost_blobs::named::{Condition, NamedRead, Replaced};
use milepost_channels::signature::MAX_SIGNATURE_BYTES;
use milepost_model::channel::index::{MAX_ALL_BYTES, MAX_LATEST_BYTES};
use milepost_model::channel::{All, Entry, Latest};
use milepost_model::{Code, Digest, Permission, Refusal};

use super::path::{ChannelFile, Kind, tags};
use crate::auth::Caller;
use crate::body::hear_out;
use crate::error::ApiResult;
use crate::extract::Path;
use crate::handlers::Shared;

/// What one artifact may have; the app that it came from has its own limits.
const MAX_ARTIFACT_BYTES: u64 = 8 << 30;

/// Stores a file of a channel. Index files need `If-Match` with what was read, or `If-None-Match: *`; an artifact must have
/// the digest that it is named by.
pub(crate) async fn channels_put(
    caller: Caller,
    state: Shared,
    Path(path): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Response> {
    caller.may_everywhere(Permission::ChangeCode)?;
    let file = ChannelFile::parse(&path)?;
    match file.kind {
        Kind::Artifact(digest) => store(&state, &file, digest, body).await,
        Kind::All | Kind::Latest | Kind::Signature => {
            let bytes = read(&file, body).await?;
            replace(&caller, &state, &file, &headers, bytes).await
        }
    }
}

async fn store(state: &Shared, file: &ChannelFile, digest: Digest, body: Body) -> ApiResult<Response> {
    let bytes = body.into_data_stream().map_err(|error| BlobError::Interrupted(error.into())).boxed();
    state.channels.store(&file.name, bytes, digest, MAX_ARTIFACT_BYTES).await?;
    Ok(StatusCode::CREATED.into_response())
}

async fn replace(
    caller: &Caller,
    state: &Shared,
    file: &ChannelFile,
    headers: &HeaderMap,
    bytes: Bytes,
) -> ApiResult<Response> {
    let (wanted, absent) = (tags(headers, &IF_MATCH), tags(headers, &IF_NONE_MATCH));
    let when = match (wanted.as_slice(), absent.as_slice()) {
        ([tag], []) if *tag != "*" => Condition::Tag(tag),
        ([], ["*"]) => Condition::Absent,
        _ => {
            let message = "A file of a channel is replaced only if it is what was read.";
            let hint = "send `If-Match` with its ETag, or `If-None-Match: *` for the first time";
            return Err(Refusal::new(Code::InvalidRequest, message).hint(hint).into());
        }
    };
    if !check(state, file, &bytes, when).await? {
        return Ok(StatusCode::PRECONDITION_FAILED.into_response());
    }
    match state.channels.replace(&file.name, bytes, when).await? {
        Replaced::Written { tag } => {
            tracing::info!(file = %file.name, token = caller.name(), "a channel was written");
            Ok((StatusCode::OK, [(ETAG, tag)]).into_response())
        }
        Replaced::Lost => Ok(StatusCode::PRECONDITION_FAILED.into_response()),
    }
}

async fn read(file: &ChannelFile, body: Body) -> ApiResult<Bytes> {
    let limit = match file.kind {
        Kind::All | Kind::Artifact(_) => MAX_ALL_BYTES,
        Kind::Latest => MAX_LATEST_BYTES,
        Kind::Signature => MAX_SIGNATURE_BYTES as usize,
    };
    let mut body = body.into_data_stream();
    let mut bytes = BytesMut::new();
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|_| {
            Refusal::new(Code::InvalidRequest, "The body of the request did not arrive whole.").hint("send it again")
        })?;
        if bytes.len() + chunk.len() > limit {
            hear_out(&mut body).await;
            let message = format!("This file of a channel has at most {limit} bytes.");
            return Err(Refusal::new(Code::RequestTooLarge, message).hint("unpublish versions that nobody has").into());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes.freeze())
}

/// What is served to everybody is at least a channel's file, and does not change what was published. False when somebody else
/// wrote meanwhile.
async fn check(state: &Shared, file: &ChannelFile, bytes: &Bytes, when: Condition<'_>) -> ApiResult<bool> {
    let unusable = |error: &dyn std::fmt::Display| {
        Refusal::new(Code::ChannelRefused, format!("The file was refused: {error}."))
            .hint("publish with `milepost publish`, which writes it right")
    };
    match file.kind {
        Kind::Latest => {
            let latest = Latest::read(bytes).map_err(|error| unusable(&error))?;
            latest.expect(&file.package, &file.channel).map_err(|error| unusable(&error))?;
        }
        Kind::All => {
            let next = All::read(bytes).map_err(|error| unusable(&error))?;
            next.expect(&file.package, &file.channel).map_err(|error| unusable(&error))?;
            match (state.channels.read(&file.name, None, MAX_ALL_BYTES as u64).await?, when) {
                (NamedRead::Found(before), Condition::Tag(tag)) if before.tag == tag => {
                    if let Ok(before) = All::read(&before.bytes) {
                        check_kept(&before, &next)?;
                    }
                }
                (NamedRead::Missing, Condition::Absent) => {}
                _ => return Ok(false),
            }
        }
        Kind::Signature if std::str::from_utf8(bytes).is_err() => return Err(unusable(&"it is not text").into()),
        Kind::Signature | Kind::Artifact(_) => {}
    }
    Ok(true)
}

/// A version stays bound to its artifact, also after it was taken back.
fn check_kept(before: &All, next: &All) -> Result<(), Refusal> {
    let found = |old: &Entry| next.versions().iter().chain(next.unpublished()).find(|new| new.version == old.version);
    let lost = before.versions().iter().find(|old| found(old).is_none_or(|new| new.id != old.id));
    let reused = before.unpublished().iter().find(|old| found(old).is_some_and(|new| new.id != old.id));
    let changed = lost.or(reused);
    match changed {
        None => Ok(()),
        Some(entry) => {
            let message = format!("The list has lost or changed `{}`, which was published.", entry.version);
            Err(Refusal::new(Code::ChannelRefused, message).hint("read the list again and change only what is new"))
        }
    }
}
