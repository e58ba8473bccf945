//! The channels hosted by this server.

use milepost_blobs::BlobError;
use milepost_blobs::named::Named;

use crate::settings::Settings;

/// Stored next to the blobs, so that servers that share blobs share channels too.
pub(crate) fn open(settings: &Settings) -> Result<Named, BlobError> {
    let Some(blobs) = &settings.blobs else { return Named::folder(&settings.data.join("channels")) };
    let aws = settings.aws.clone().unwrap_or_else(Named::aws_variables);
    Named::open(&format!("{}/channels", blobs.trim_end_matches('/')), &aws)
}
