use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::digest::Digest;
use crate::name::{AliasName, UnitName};

/// An exact version of another unit. Its digest determines behaviour; its number is only for
/// display, so two versions pinned to equal content have equal digests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Pin {
    pub name: UnitName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<i64>,
    pub digest: Digest,
}

/// The function that a trigger starts: the version in the release, an alias, or one fixed version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Target {
    pub function: UnitName,
    /// Resolved at each call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<AliasName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Pin>,
}
