//! An author's report to the app's server about a channel that the server may never see.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::name::{ArtifactId, ChannelName, PackageName};
use super::semver::SemVer;

/// Reports that a version of an app was published or unpublished.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Publication {
    pub done: PublicationKind,
    pub package: PackageName,
    pub channel: ChannelName,
    pub version: SemVer,
    /// The id of the artifact.
    pub id: ArtifactId,
    /// The address of the channel.
    pub place: String,
    /// The app version that was published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_version: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum PublicationKind {
    Published,
    Unpublished,
}
