//! Installs: apps that come from a channel, what they may do by themselves, and how they stand.

mod health;
mod settings;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use health::{Health, HealthError, no_health_function};
pub use settings::{InstallChange, InstallSettings, RollbackHolds, SettingsError};

use crate::channel::{Brakes, ChannelName, Entry, Outlook, PackageName, SemVer};
use crate::clock::Timestamp;
use crate::execution::{UnknownWord, words};
use crate::name::{AppName, UnitName};
use crate::release::Release;
use crate::unit_put::SecretPut;

words! {
    /// Whether an install looks for newer versions.
    InstallMode, "how an app was installed":
        /// It follows a channel.
        Channel => "channel",
        /// It stays at its version until a person names another.
        Pinned => "pinned",
        /// It came from a file, and newer versions come from files.
        Bundle => "bundle",
}

words! {
    /// How a look at a channel ended.
    CheckResult, "the result of a check":
        Ok => "ok",
        /// What the channel says is not followed, and a person must look.
        Refused => "refused",
        /// It could not be read, and is tried again.
        Retrying => "retrying",
}

/// An app that was installed, as it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Install {
    pub app: AppName,
    pub package: PackageName,
    /// None when it came straight from a registry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<ChannelName>,
    pub mode: InstallMode,
    /// The address of the channel or the registry that it comes from; empty when it came from a file.
    pub place: String,
    /// The version that is installed, as its channel had it then.
    pub entry: Entry,
    /// The app version that holds it.
    pub app_version: String,
    #[schema(value_type = String, format = DateTime)]
    pub installed_at: Timestamp,
    pub installed_by: String,
    pub settings: InstallSettings,
    pub brakes: Brakes,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_check: Option<Check>,
    /// The last version that did not stay; until one that is not below it does, or a person lifts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<FailedUpgrade>,
    /// What the last check found to do, and when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<UpgradePlan>,
    /// When its channel is looked at again; none when nothing does that by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub next_check_at: Option<Timestamp>,
    /// Whether the installed version still has to show that it is healthy.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_trial: bool,
    /// It fetches only from hosts that tokens without administration may name, because such a token asked for it.
    #[serde(skip)]
    #[schema(ignore)]
    pub confined: bool,
    /// The version that users get; another than the installed one while live is pinned elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<SemVer>,
    /// Units that are not as the artifact has them, because somebody changed them since. The next upgrade overwrites them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_by_hand: Vec<String>,
}

/// What a look at the channel found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    pub result: CheckResult,
    /// A word that stays: `current`, `planned`, `upgraded`, `lesser`, `bad_signature`, `gone` …
    pub kind: String,
    /// For people.
    pub message: String,
    /// How many checks in a row could not be read.
    #[serde(default)]
    pub failures: i64,
}

/// A version that was not healthy, or that a person went back from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailedUpgrade {
    pub version: SemVer,
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// For people.
    pub reason: String,
}

/// An installed app after a change of its settings
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChangedInstall {
    #[serde(flatten)]
    pub install: Install,
    /// What to know about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// The decision about a channel, in words and in parts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpgradePlan {
    pub installed: SemVer,
    /// `1.1.3 now, 1.2.3 on Sunday 2026-11-22 02:00 Europe/Berlin, 2.0.0 waits for you`
    pub forecast: String,
    /// Each step with its reason, lowest version first.
    pub steps: Vec<PlannedStep>,
    /// What `upgrade` would install now, since a person asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<SemVer>,
    /// What to know before that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedStep {
    pub outlook: Outlook,
    pub reason: String,
}

impl From<crate::channel::Decision> for UpgradePlan {
    fn from(decision: crate::channel::Decision) -> Self {
        let forecast = crate::channel::Forecast::from(decision);
        let step = |outlook: &Outlook| PlannedStep { reason: outlook.reason(), outlook: outlook.clone() };
        Self {
            forecast: forecast.to_string(),
            steps: forecast.lines.iter().map(step).collect(),
            installed: forecast.installed,
            asked: None,
            warnings: Vec::new(),
        }
    }
}

/// Asks for an app to be installed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewInstall {
    /// The app that it becomes; the last part of the package's name when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<AppName>,
    pub from: InstallFrom,
    /// Values of the secrets that the artifact wants.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<UnitName, SecretPut>,
    #[serde(default)]
    pub settings: InstallSettings,
}

/// What is installed, and from where.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "lowercase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum InstallFrom {
    /// The latest of a channel, which is followed from then on.
    Channel {
        url: String,
        /// Refused if the channel is of another one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        package: Option<PackageName>,
    },
    /// One version, which stays.
    Pinned {
        package: PackageName,
        version: SemVer,
        /// The channel that has it; the server's own when there is no registry either.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        channel: Option<String>,
        /// The OCI repository that has it, `host/path`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        registry: Option<String>,
    },
    /// From a file that the client has read and checked; the artifact follows the request.
    Bundle { package: PackageName, channel: ChannelName, entry: Entry, serial: u64 },
}

/// What an install or an upgrade did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Installed {
    /// The version before; none for a new install.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<SemVer>,
    /// What was installed; none when there was nothing to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<SemVer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<Release>,
    /// Why live went back to the version before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub went_back: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    pub install: Install,
}

/// Asks for an upgrade by a person.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Upgrade {
    /// This version and no other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<SemVer>,
    /// Whatever windows and denies say. It is written down who asked for that.
    pub now: bool,
    /// Values of secrets that the new version wants.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<UnitName, SecretPut>,
}

/// Asks for a hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct HoldInstall {
    /// Until there is a version above this one; until it is lifted when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_above: Option<SemVer>,
    pub reason: String,
}

/// What to lift: the hold and all skipped versions, or one of these.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LiftInstall {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<SemVer>,
}

/// Asks for an upgrade to a version from a file; the artifact follows the request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpgradeFromBundle {
    pub package: PackageName,
    pub channel: ChannelName,
    pub entry: Entry,
    pub serial: u64,
    #[serde(default)]
    pub upgrade: Upgrade,
}
