//! The change: the only way to write units, and its outcome.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::{Base, HandEdit, LeftOut, is_head};
use crate::check::ReleaseCheck;
use crate::clock::Timestamp;
use crate::digest::Digest;
use crate::kind::UnitKind;
use crate::name::{Label, UnitName};
use crate::plan::Reason;
use crate::refusal::{Warning, lenient_list};
use crate::release::Release;
use crate::unit_put::Put;

/// A set of puts and removals that is applied atomically.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Change {
    #[serde(default)]
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<GitFacts>,
    /// The uid of the app version that the author started from. The change is refused if the app
    /// has a newer one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<String>,
    /// The release that was live when the author planned the change. The change is refused if live
    /// has moved since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect_live: Option<String>,
    /// The content that the change is compared with and applied to.
    #[serde(default, skip_serializing_if = "is_head")]
    pub on: Base,
    #[serde(default = "yes")]
    pub release: bool,
    /// Loads new functions before the release may become latest and live.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub check: bool,
    /// Returns what would happen without doing it.
    #[serde(default)]
    pub dry_run: bool,
    #[serde(default)]
    pub puts: Vec<Put>,
    #[serde(default)]
    pub removes: Vec<UnitKey>,
    /// The deployment that makes this change, when a folder declares the units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<Declaration>,
}

/// A deployment that lists all of its units. Units that it put earlier and no longer names are
/// removed with the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Declaration {
    pub id: String,
    pub name: String,
    /// Units that the deployment needs but does not put, like the secrets that its functions name.
    /// It owns them from now on, unless another deployment already does.
    #[serde(default)]
    pub claims: Vec<UnitKey>,
    #[serde(default)]
    pub prune_secrets: bool,
    /// Takes over units that another deployment put.
    #[serde(default)]
    pub allow_conflicts: bool,
}

/// A folder that declares units, as the ledger records it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Deployment {
    /// Identifies the folder: two applies with the same id are of the same folder.
    pub id: String,
    /// The display name.
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

/// The state of the author's git worktree.
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

/// What a change did or, with a dry run, would do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeOutcome {
    pub changed: bool,
    #[serde(default)]
    pub dry_run: bool,
    /// The uid of the app version: the new one, or the current one when nothing changed.
    pub app_version: Option<String>,
    /// Every unit that the change named, with its outcome.
    pub versions: Vec<UnitOutcome>,
    /// The release that the change made. When nothing changed, the release with the app's current
    /// content if its check holds it back.
    pub release: Option<Release>,
    /// The check of that release.
    #[serde(default, skip_serializing_if = "ReleaseCheck::is_none")]
    pub check: ReleaseCheck,
    /// Releases that expired to make room.
    pub expired: Vec<String>,
    /// Packages that must be built before this change can be made. Set only by a dry run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub builds: Vec<UnitName>,
    /// Units that belonged to another deployment or to none and now belong to this one, whether or
    /// not their content changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken_over: Vec<UnitKey>,
    /// With `on: live`, the units whose version in the previous head is not in the new app version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Units of this deployment that were changed by hand and that it reverts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hand_edits: Vec<HandEdit>,
    /// The notices in neutral words. The server fills them in.
    pub warnings: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient_list")]
    pub notices: Vec<Warning>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnitOutcome {
    pub kind: UnitKind,
    pub name: UnitName,
    pub action: UnitAction,
    /// The version that the app has after the change; none if the unit was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<Label>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// Why the unit got a new version.
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
    /// A delete reverted the unit to an earlier version.
    Reverted,
}

/// The actor and the time of a request, shared by everything that the request creates.
#[derive(Debug, Clone)]
pub struct Act {
    pub actor: String,
    pub at: Timestamp,
}
