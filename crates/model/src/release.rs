//! Releases and the live pointer, in the form in which they are read.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::check::ReleaseCheck;
use crate::clock::Timestamp;
use crate::name::TagName;

/// An app version that can be reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Release {
    /// A short random id, also a valid DNS label.
    pub id: String,
    /// The uid of the app version.
    pub app_version: String,
    pub state: ReleaseState,
    pub tags: Vec<TagName>,
    pub live: bool,
    pub latest: bool,
    #[serde(default, skip_serializing_if = "ReleaseCheck::is_none")]
    pub check: ReleaseCheck,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    pub created_by: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expired_at: Option<Timestamp>,
    /// The addresses of the release; filled in by the server, which knows its domain.
    #[serde(default)]
    pub urls: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReleaseState {
    Active,
    Expired,
}

/// Whether live follows new releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum LiveMode {
    /// Live is latest: the newest active release that no check holds back.
    Following,
    /// Live stays at its release until `release live --follow`.
    Pinned,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Live {
    pub mode: LiveMode,
    pub release: Option<Release>,
}
