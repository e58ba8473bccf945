use std::collections::HashMap;

use axum::body::Body;
use axum::http::header::{ETAG, IF_MATCH, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::{Bytes, BytesMut};
use futures::{StreamExt as _, TryStreamExt as _};
use milepost_blobs::BlobError;
use milepost_blobs::named::{Condition, NamedRead, Replaced};
use milepost_channels::signature::MAX_SIGNATURE_BYTES;
use milepost_model::channel::index::{MAX_ALL_BYTES, MAX_LATEST_BYTES, MAX_VERSIONS};
use milepost_model::channel::{All, Entry, Latest};
use milepost_model::{Code, Digest, Next, Refusal};

use super::path::{ChannelFile, Kind, tags};
use crate::auth::Caller;
use crate::content::ingest::while_it_moves;
use crate::edge::body::{hear_out, hear_out_aside};
use crate::edge::extract::{Path, declared_length};
use crate::error::ApiResult;
use crate::state::Shared;

/// Maximum size of an artifact. The app it came from has its own limits.
const MAX_ARTIFACT_BYTES: u64 = 8 << 30;

/// Stores a file of a channel. Index files require `If-Match` with the ETag that was read, or
/// `If-None-Match: *`. An artifact must match the digest in its name.
pub(crate) async fn channels_put(
    caller: Caller,
    state: Shared,
    Path(path): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Response> {
    caller.everywhere()?;
    let file = ChannelFile::parse(&path)?;
    match file.kind {
        Kind::Artifact(digest) => store(&state, &file, digest, &headers, body).await,
        Kind::All | Kind::Latest | Kind::Signature => {
            let bytes = read(&file, body).await?;
            replace(&caller, &state, &file, &headers, bytes).await
        }
    }
}

async fn store(
    state: &Shared,
    file: &ChannelFile,
    digest: Digest,
    headers: &HeaderMap,
    body: Body,
) -> ApiResult<Response> {
    // Channels are stored next to the packs.
    if let Err(full) = declared_length(headers).map_or(Ok(()), |declared| state.content.blobs.check_room(declared)) {
        hear_out_aside(headers, body);
        return Err(full.into());
    }
    let bytes = state.content.blobs.leaving_room(while_it_moves(body).map_err(BlobError::Interrupted).boxed());
    state.content.channels.store(&file.name, bytes, digest, MAX_ARTIFACT_BYTES).await?;
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
            let message = "a file of a channel is only replaced on a condition";
            let hint = "send `If-Match` with its ETag, or `If-None-Match: *` for the first time";
            return Err(Refusal::new(Code::InvalidRequest, message).correct(hint).into());
        }
    };
    if !check(state, file, &bytes, when).await? {
        return Ok(StatusCode::PRECONDITION_FAILED.into_response());
    }
    match state.content.channels.replace(&file.name, bytes, when).await? {
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
    let mut body = while_it_moves(body).boxed();
    let mut bytes = BytesMut::new();
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|_| {
            Refusal::new(Code::InvalidRequest, "the body of the request ended too early").next(Next::Retry)
        })?;
        if bytes.len() + chunk.len() > limit {
            hear_out(&mut body).await;
            let message = format!("this file of a channel may have at most {limit} bytes");
            return Err(Refusal::new(Code::RequestTooLarge, message)
                .correct("unpublish versions that are not in use")
                .into());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes.freeze())
}

/// Checks that a file is valid and does not change what was published. Returns false if another
/// client wrote in the meantime.
async fn check(state: &Shared, file: &ChannelFile, bytes: &Bytes, when: Condition<'_>) -> ApiResult<bool> {
    let unusable = |error: &dyn std::fmt::Display| {
        Refusal::new(Code::ChannelRefused, format!("the file was refused: {error}")).next(Next::Publish)
    };
    match file.kind {
        Kind::Latest => {
            let latest = Latest::read(bytes).map_err(|error| unusable(&error))?;
            latest.expect(&file.package, &file.channel).map_err(|error| unusable(&error))?;
        }
        Kind::All => {
            let next = All::read(bytes).map_err(|error| unusable(&error))?;
            next.expect(&file.package, &file.channel).map_err(|error| unusable(&error))?;
            match (state.content.channels.read(&file.name, None, MAX_ALL_BYTES as u64).await?, when) {
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

/// Checks that every version keeps its artifact, even after it was unpublished. Only a full list
/// may drop the lowest unpublished versions, one for each that is added.
fn check_kept(before: &All, next: &All) -> Result<(), Refusal> {
    let entries = next.versions().iter().chain(next.unpublished());
    let known: HashMap<&str, &Entry> = entries.map(|entry| (entry.version.as_str(), entry)).collect();
    let found = |old: &Entry| known.get(old.version.as_str());
    let lost = before.versions().iter().find(|old| found(old).is_none_or(|new| new.id != old.id));
    let reused = before.unpublished().iter().find(|old| found(old).is_some_and(|new| new.id != old.id));
    let may_forget = usize::from(next.unpublished().len() >= MAX_VERSIONS);
    let forgotten = before.unpublished().iter().filter(|old| found(old).is_none()).nth(may_forget);
    let changed = lost.or(reused).or(forgotten);
    match changed {
        None => Ok(()),
        Some(entry) => {
            let message = format!("the list lacks or changes `{}`, which was published", entry.version);
            Err(Refusal::new(Code::ChannelRefused, message).correct("read the list again, and change only what is new"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list of versions `1.N.0`, and of unpublished versions `0.N.0`.
    fn list(versions: &[usize], unpublished: impl Iterator<Item = usize>) -> All {
        let entry = |version: String| {
            let id = Digest::of(version.as_bytes());
            serde_json::json!({ "version": version, "id": id, "createTime": "2026-03-01T12:00:00Z" })
        };
        let versions: Vec<_> = versions.iter().map(|number| entry(format!("1.{number}.0"))).collect();
        let unpublished: Vec<_> = unpublished.map(|number| entry(format!("0.{number}.0"))).collect();
        let document = serde_json::json!({
            "name": "stable", "type": "all", "package": "shop", "latest": null,
            "versions": versions, "unpublished": unpublished,
        });
        All::read(document.to_string().as_bytes()).expect("a list")
    }

    #[test]
    fn keeps_unpublished_versions() {
        let before = list(&[1], 1..3);
        check_kept(&before, &list(&[1, 2], 1..3)).expect("only something new");
        let refusal = check_kept(&before, &list(&[1, 2], 1..2)).expect_err("0.2.0 is lost");
        assert!(refusal.message.contains("`0.2.0`"), "{}", refusal.message);
        assert!(check_kept(&before, &list(&[], 1..3)).is_err(), "1.1.0 is lost");
    }

    #[test]
    fn full_list_drops_one_version_for_each_added() {
        let before = list(&[1], 0..MAX_VERSIONS);
        check_kept(&before, &list(&[1], 1..MAX_VERSIONS + 1)).expect("one came and one went");
        assert!(check_kept(&before, &list(&[1], 2..MAX_VERSIONS + 2)).is_err(), "two went at once");
    }
}
