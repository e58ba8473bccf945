//! What a program may want to know about a refusal beyond its code.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::sampled::sampled;

/// Empty members are not sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Facts {
    /// What uses the thing that was to be deleted, moved or changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<User>,
    /// Names or digests that the request needs and that the server does not have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Deleted versions that the request needs, like `function hello version 1`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deleted: Vec<String>,
    /// Things that fit an ambiguous name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<String>,
    /// Parts that fail, each with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// The part of the server that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failing: Option<Failing>,
}

impl Facts {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// One thing that uses another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct User {
    pub kind: UserKind,
    /// The name or id; of a unit `kind name`.
    pub name: String,
    pub how: Use,
    /// What it uses, for example `function hello version 2`. Empty if the message says it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub of: String,
    /// The release in which it does; empty for the app as it is now.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub release: String,
    /// Why it counts, for example `tag good` for a release.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<String>,
    /// For the rest of a long list: how many more there are. The name is empty.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

sampled! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
    #[serde(rename_all = "camelCase")]
    pub enum UserKind {
        Alias,
        Tag,
        Live,
        Release,
        Unit,
        Job,
        Webhook,
        Rollout,
        Execution,
        /// A folder that declares units.
        Deployment,
        /// An id of the OpenStack interface.
        Qinling,
        #[serde(other)]
        Unknown,
    }
}

sampled! {
    /// How one thing uses another.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
    #[serde(rename_all = "camelCase")]
    pub enum Use {
        PointsAt,
        PinnedTo,
        /// Follows an alias.
        Follows,
        Needs,
        /// A release that has the version, and that is kept.
        Holds,
        Owns,
        /// An execution that has not ended.
        Runs,
        /// A release becomes live when its check passes.
        TakesLive,
        /// Would not work or not be kept otherwise.
        Protects,
        /// A name for it in another interface.
        Names,
        #[serde(other)]
        Unknown,
    }
}

impl User {
    pub fn new(kind: UserKind, name: impl Into<String>, how: Use, of: impl Into<String>) -> Self {
        Self { kind, name: name.into(), how, of: of.into(), release: String::new(), because: Vec::new(), more: 0 }
    }

    #[must_use]
    pub fn in_release(mut self, release: impl Into<String>) -> Self {
        self.release = release.into();
        self
    }

    #[must_use]
    pub fn because(mut self, reasons: Vec<String>) -> Self {
        self.because = reasons;
        self
    }

    /// The rest of a long list.
    pub fn more(kind: UserKind, more: u64, how: Use, of: impl Into<String>) -> Self {
        Self { more, ..Self::new(kind, "", how, of) }
    }
}

/// A bound, and what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Limit {
    pub bound: u64,
    pub asked: u64,
}

/// A part that fails, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Part {
    /// Empty if the reason names it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    pub why: String,
}

impl Part {
    pub fn new(name: impl Into<String>, why: impl Into<String>) -> Self {
        Self { name: name.into(), why: why.into() }
    }
}

sampled! {
    /// A part of the server that a request needs.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
    #[serde(rename_all = "camelCase")]
    pub enum Failing {
        Database,
        BlobStore,
        #[serde(other)]
        Unknown,
    }
}
