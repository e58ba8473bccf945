//! Channels that this server keeps: static files for everybody who installs, and a place to publish to for those with a
//! token. Outside of `/api/v1`, because any web server could serve them.

pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod list;
mod path;
pub(crate) mod put;

use milepost_blobs::BlobError;
use milepost_blobs::named::Named;

use crate::settings::Settings;

/// Next to the blobs: where these are shared between servers, the channels are too.
pub(crate) fn open(settings: &Settings) -> Result<Named, BlobError> {
    let Some(blobs) = &settings.blobs else { return Named::folder(&settings.data.join("channels")) };
    let aws = settings.aws.clone().unwrap_or_else(Named::aws_variables);
    Named::open(&format!("{}/channels", blobs.trim_end_matches('/')), &aws)
}
