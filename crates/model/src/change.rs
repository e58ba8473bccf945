//! The change: the one way to write units, and what it answers.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::{Base, HandEdit, LeftOut, is_head};
use crate::check::ReleaseCheck;
use crate::clock::Timestamp;
use crate::digest::Digest;
use crate::kind::UnitKind;
use crate::name::{Label, UnitName};
use crate::plan::Reason;
use crate::release::Release;
use crate::unit_put::Put;

/// A set of puts and removals that lands whole or not at all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Change {
    #[serde(default)]
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<GitFacts>,
    /// The uid of the app version that the author built on; the change is refused when the app has moved since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<String>,
    /// The release that live was at when the author planned the change; the change is refused when live has moved since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect_live: Option<String>,
    /// What the change is compared with and added to.
    #[serde(default, skip_serializing_if = "is_head")]
    pub on: Base,
    #[serde(default = "yes")]
    pub release: bool,
    /// Loads the functions that are new before the release may become latest and live.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub check: bool,
    /// Answers what would happen, and does nothing.
    #[serde(default)]
    pub dry_run: bool,
    #[serde(default)]
    pub puts: Vec<Put>,
    #[serde(default)]
    pub removes: Vec<UnitKey>,
    /// Whose change this is, when a folder declares what should be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<Declaration>,
}

/// A deployment that says what it is made of: what it put earlier and does not name any more goes with the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Declaration {
    pub id: String,
    pub name: String,
    /// Units that it needs and does not put, like the secrets that its functions name: they are its own from now on, unless
    /// they are somebody else's already.
    #[serde(default)]
    pub claims: Vec<UnitKey>,
    #[serde(default)]
    pub prune_secrets: bool,
    /// Takes units over that another deployment put.
    #[serde(default)]
    pub allow_conflicts: bool,
}

/// A folder that declares units, as the ledger knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Deployment {
    /// What decides whether two applies are of the same folder.
    pub id: String,
    /// For people.
    pub name: String,
}

fn yes() -> bool {
    true
}

fn is_yes(value: &bool) -> bool {
    *value
}

impl Default for Change {
    fn default() -> Self {
        Self {
            message: String::new(),
            git: None,
            expect: None,
            expect_live: None,
            on: Base::Head,
            release: true,
            check: true,
            dry_run: false,
            puts: Vec::new(),
            removes: Vec::new(),
            deployment: None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
pub struct UnitKey {
    pub kind: UnitKind,
    pub name: UnitName,
}

impl std::fmt::Display for UnitKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.kind == UnitKind::Config { f.write_str("config") } else { write!(f, "{} {}", self.kind, self.name) }
    }
}

/// Where the author's tree stood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GitFacts {
    pub commit: String,
    #[serde(default)]
    pub branch: String,
    pub clean: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
}

/// What a change did, or with a dry run, would do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeOutcome {
    pub changed: bool,
    #[serde(default)]
    pub dry_run: bool,
    /// The uid of the app version: the new one, or the present one when nothing changed.
    pub app_version: Option<String>,
    /// Every unit that the change named, and what became of it.
    pub versions: Vec<UnitOutcome>,
    /// The release that the change made; when nothing changed, the one that holds what the app has now, if its check holds it
    /// back.
    pub release: Option<Release>,
    /// The check of that release.
    #[serde(default, skip_serializing_if = "ReleaseCheck::is_none")]
    pub check: ReleaseCheck,
    /// Releases that had to make room.
    pub expired: Vec<String>,
    /// Packages that have to be built before this change can be made; only a dry run gets that far.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub builds: Vec<UnitName>,
    /// Units that were another deployment's, or nobody's, and are this one's now, whether or not their content changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken_over: Vec<UnitKey>,
    /// With `on: live`, the units whose version in the previous head is not in the new app version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Units of this deployment that were changed by hand and that it puts back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hand_edits: Vec<HandEdit>,
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnitOutcome {
    pub kind: UnitKind,
    pub name: UnitName,
    pub action: UnitAction,
    /// The version that the app has after the change; none for what was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<Label>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// Why it got a new version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Reason>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum UnitAction {
    Created,
    Updated,
    Unchanged,
    Removed,
    /// One of its versions was deleted.
    Deleted,
    /// A delete put the unit back to an earlier version.
    Reverted,
}

/// Who does something, and when: the same for everything that one request makes.
#[derive(Debug, Clone)]
pub struct Act {
    pub actor: String,
    pub at: Timestamp,
}
