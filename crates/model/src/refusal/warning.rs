//! What a caller should know about a write that succeeded. Each front end phrases it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::sampled::{Sample, sampled};
use crate::UnitKind;

sampled! {
    /// A warning. A front end phrases every one of them, in a `match` without a wildcard.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
    #[serde(tag = "warning", rename_all = "camelCase", rename_all_fields = "camelCase")]
    pub enum Warning {
        /// Live is pinned, so users do not get the change.
        LiveStaysPinned { live: Option<String>, release: String, planned: bool },
        /// Like [`Warning::LiveStaysPinned`], for a write that cannot be based on live.
        NewReleaseNotLive { live: Option<String>, release: String, planned: bool },
        /// The change changes nothing, and live is pinned to an older release.
        LiveIsOlder { live: String },
        /// Live was moved while the release was checked.
        LiveMovedMeanwhile { release: String },
        /// Older releases serve a function with less strict permission.
        StillServed { function: String, without_token: bool, releases: Vec<ServedBy> },
        /// A deployment takes over units that others put.
        TakesOver { deployment: String, units: Vec<OwnedUnit> },
        /// A deployment takes over units that no deployment put.
        Adopts { deployment: String, units: Vec<String> },
        /// The folder no longer names a secret.
        SecretKept { name: String },
        /// The folder no longer names a unit that others need.
        UnitKept { unit: String, needed_by: Vec<String> },
        /// No version was made, so the description was not used.
        DescriptionUnused { kind: UnitKind, name: String, version: i64 },
        UidTaken { unit: String, uid: String, new: String },
        /// The newest version has a lower label than another one.
        LowerLabel { label: String, highest: String, unit: String },
        RoutesOverlap { route: String, other: String },
        SecretNotSet { function: String, secret: String },
        /// A new release also has earlier changes that were kept without a release.
        HasUnreleasedChanges,
        /// Values of the author that are in the configuration again from the next upgrade on.
        OverridesEnd { keys: Vec<String> },
        /// The plan allows fewer active releases than the app has.
        MoreReleasesThanPlan { bound: u64 },
        /// An installed version is not live, because live is pinned to another release.
        InstalledNotLive,
        /// A version is not installed now, and why; it can be installed in spite of that.
        InstallWaits { why: String },
        /// The version to install is lower than the installed one.
        Downgrade { from: String, to: String },
        MajorUpdate { version: String },
        /// Units that were changed by hand after the install.
        OverwritesHandEdits { units: Vec<String> },
        /// A warning of a newer server.
        #[serde(other)]
        Unknown,
    }
}

/// A release that serves something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServedBy {
    pub release: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub live: bool,
}

impl Sample for ServedBy {
    fn sample() -> Self {
        Self { release: "r1".to_owned(), live: true }
    }
}

/// A unit and the deployment that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OwnedUnit {
    pub unit: String,
    pub owner: String,
}

impl Sample for OwnedUnit {
    fn sample() -> Self {
        Self { unit: "function hello".to_owned(), owner: "shop".to_owned() }
    }
}
