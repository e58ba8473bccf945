//! The events of the audit log.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::clock::Timestamp;

/// One event: the actor, the subject, the time, and the state before and after.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// 1, 2, 3 … per app, in commit order and without gaps.
    pub id: i64,
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    pub actor: String,
    /// `version.created`, `alias.moved`, `release.expired` …
    pub kind: String,
    /// The subject: `function hello`, `tag beta`, `release qwerty`.
    pub subject: String,
    #[schema(value_type = Option<Object>)]
    pub before: Option<serde_json::Value>,
    #[schema(value_type = Option<Object>)]
    pub after: Option<serde_json::Value>,
}

/// The kinds of events. The names are part of the public contract: add, never rename.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    AppCreated,
    AppDeleted,
    PlanChanged,
    VersionCreated,
    VersionDeleted,
    VersionDescribed,
    UnitRemoved,
    /// A deployment took ownership of an existing unit.
    UnitTakenOver,
    /// A change on live reverted a unit to the version of the live release.
    UnitPutBack,
    AppVersionCreated,
    ReleaseCreated,
    ReleaseExpired,
    /// The release's functions were loaded or failed to load.
    ReleaseChecked,
    LiveMoved,
    /// Live stays at its release and stops following.
    LivePinned,
    /// Live stays at its release and follows from now on.
    LiveUnpinned,
    LatestMoved,
    TagMoved,
    TagDeleted,
    AliasMoved,
    AliasDeleted,
    GroupChanged,
    GroupDeleted,
    JobCreated,
    JobChanged,
    JobDeleted,
    WebhookCreated,
    WebhookChanged,
    WebhookDeleted,
    InstallCreated,
    InstallUpgraded,
    /// An operator overrode windows or denies.
    InstallForced,
    InstallChanged,
    InstallHeld,
    InstallLifted,
    InstallDetached,
    /// A version of the app was published or unpublished, as reported by its author.
    AppPublished,
    AppUnpublished,
    /// Events that a node had read are not in the database any more, after a failover or a restore.
    HistoryCut,
    RolloutStarted,
    /// A rollout moved to another state, step or weight.
    RolloutChanged,
    /// A rollout was promoted, aborted or superseded.
    RolloutEnded,
}

impl EventKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AppCreated => "app.created",
            Self::AppDeleted => "app.deleted",
            Self::PlanChanged => "app.plan-changed",
            Self::VersionCreated => "version.created",
            Self::VersionDeleted => "version.deleted",
            Self::VersionDescribed => "version.described",
            Self::UnitRemoved => "unit.removed",
            Self::UnitTakenOver => "unit.taken-over",
            Self::UnitPutBack => "unit.put-back",
            Self::AppVersionCreated => "app-version.created",
            Self::ReleaseCreated => "release.created",
            Self::ReleaseExpired => "release.expired",
            Self::ReleaseChecked => "release.checked",
            Self::LiveMoved => "live.moved",
            Self::LivePinned => "live.pinned",
            Self::LiveUnpinned => "live.unpinned",
            Self::LatestMoved => "latest.moved",
            Self::TagMoved => "tag.moved",
            Self::TagDeleted => "tag.deleted",
            Self::AliasMoved => "alias.moved",
            Self::AliasDeleted => "alias.deleted",
            Self::GroupChanged => "group.changed",
            Self::GroupDeleted => "group.deleted",
            Self::JobCreated => "job.created",
            Self::JobChanged => "job.changed",
            Self::JobDeleted => "job.deleted",
            Self::WebhookCreated => "webhook.created",
            Self::WebhookChanged => "webhook.changed",
            Self::WebhookDeleted => "webhook.deleted",
            Self::InstallCreated => "install.created",
            Self::InstallUpgraded => "install.upgraded",
            Self::InstallForced => "install.forced",
            Self::InstallChanged => "install.changed",
            Self::InstallHeld => "install.held",
            Self::InstallLifted => "install.lifted",
            Self::InstallDetached => "install.detached",
            Self::AppPublished => "app.published",
            Self::AppUnpublished => "app.unpublished",
            Self::HistoryCut => "history.cut",
            Self::RolloutStarted => "rollout.started",
            Self::RolloutChanged => "rollout.changed",
            Self::RolloutEnded => "rollout.ended",
        }
    }
}
