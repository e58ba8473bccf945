//! Snapshots in the form in which they are read: versions of units and app versions.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::change::{Deployment, GitFacts};
use crate::clock::Timestamp;
use crate::digest::Digest;
use crate::kind::UnitKind;
use crate::name::{AliasName, GroupName, Label, UnitName};

/// One version of a unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Version {
    pub kind: UnitKind,
    pub name: UnitName,
    pub number: i64,
    pub uid: String,
    pub label: Option<Label>,
    pub digest: Digest,
    pub description: String,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    pub created_by: String,
    /// Whether this is the newest version.
    pub latest: bool,
    #[serde(default)]
    pub aliases: Vec<AliasName>,
    /// The active releases that contain it.
    #[serde(default)]
    pub releases: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupName>,
    /// The content; see the schemas of the specs.
    #[schema(value_type = Object)]
    pub spec: serde_json::Value,
}

/// One app version: every unit of the app at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppVersion {
    /// The uid of the change that made it.
    pub id: String,
    /// 1, 2, 3 … in commit order.
    pub number: i64,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    pub created_by: String,
    pub message: String,
    pub git: Option<GitFacts>,
    /// Omitted in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<AppObject>,
    /// Its newest release, active or expired.
    pub release: Option<crate::release::Release>,
}

/// One unit in an app version, in the form of seed 003's group view.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AppObject {
    #[serde(rename = "type")]
    pub kind: UnitKind,
    pub name: UnitName,
    /// The version's uid.
    pub version: String,
    pub number: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<Label>,
    pub digest: Digest,
}

/// A unit of the app in its current version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Unit {
    pub kind: UnitKind,
    pub name: UnitName,
    pub versions: i64,
    /// The folder that declares it, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<Deployment>,
    pub current: Version,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    pub name: GroupName,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    pub members: Vec<AppObject>,
}
