use axum::http::StatusCode;
use milepost_blobs::named::NamedRead;
use milepost_channels::Files;
use milepost_model::channel::All;
use milepost_model::channel::index::MAX_ALL_BYTES;
use milepost_model::{Code, Refusal};

use super::path::{ChannelFile, Kind};
use crate::auth::Caller;
use crate::edge::extract::Path;
use crate::error::ApiResult;
use crate::state::Shared;

/// Deletes an artifact that no version of the channel refers to.
pub(crate) async fn channels_delete(caller: Caller, state: Shared, Path(path): Path<String>) -> ApiResult<StatusCode> {
    caller.everywhere()?;
    let file = ChannelFile::parse(&path)?;
    let Kind::Artifact(digest) = file.kind else {
        let message = "the index of a channel cannot be deleted: versions would lose their digests";
        return Err(Refusal::new(Code::MethodNotAllowed, message).correct("unpublish its versions").into());
    };
    let all = Files::of(&file.package, &file.channel).all();
    if let NamedRead::Found(object) = state.content.channels.read(&all, None, MAX_ALL_BYTES as u64).await?
        && let Ok(all) = All::read(&object.bytes)
        && let Some(entry) = all.with_digest(digest).next()
    {
        let message = format!("the artifact belongs to `{}`, which is published", entry.version);
        return Err(Refusal::new(Code::StillReferenced, message).correct("unpublish the version first").into());
    }
    state.content.channels.delete(&file.name).await?;
    Ok(StatusCode::NO_CONTENT)
}
