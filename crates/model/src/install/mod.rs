//! Installs: apps from a channel, their automatic upgrades, and their state.

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
use crate::refusal::{Warning, lenient_list};
use crate::release::Release;
use crate::unit_put::SecretPut;

words! {
    /// Whether an install looks for newer versions.
    InstallMode, "how an app was installed":
        /// Follows a channel.
        Channel => "channel",
        /// Stays at its version until an operator selects another.
        Pinned => "pinned",
        /// Installed from a file and upgraded from files.
        Bundle => "bundle",
}

words! {
    /// The result of checking a channel.
    CheckResult, "the result of a check":
        Ok => "ok",
        /// The content of the channel was rejected, and an operator must look at it.
        Refused => "refused",
        /// The channel could not be read; the check is retried.
        Retrying => "retrying",
}

/// The state of an installed app.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Install {
    pub app: AppName,
    pub package: PackageName,
    /// None if it was installed directly from a registry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<ChannelName>,
    pub mode: InstallMode,
    /// The address of its channel or registry; empty if it was installed from a file.
    pub place: String,
    /// The installed version, as its channel listed it at that time.
    pub entry: Entry,
    /// The app version with the installed content.
    pub app_version: String,
    #[schema(value_type = String, format = DateTime)]
    pub installed_at: Timestamp,
    pub installed_by: String,
    pub settings: InstallSettings,
    pub brakes: Brakes,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_check: Option<Check>,
    /// The last version that failed to stay. Cleared when that version or a higher one stays, or
    /// when an operator lifts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<FailedUpgrade>,
    /// The plan of the last check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<UpgradePlan>,
    /// The time of the next channel check; none if there are no automatic checks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub next_check_at: Option<Timestamp>,
    /// Whether the installed version still has to pass its health check.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_trial: bool,
    /// Fetches only from hosts that tokens without administration may name, because such a token
    /// installed it.
    #[serde(skip)]
    #[schema(ignore)]
    pub confined: bool,
    /// The version that is live. It differs from the installed one while live is pinned elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<SemVer>,
    /// Units that were changed by hand and differ from the artifact. The next upgrade overwrites
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_by_hand: Vec<String>,
}

/// The outcome of a channel check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    pub result: CheckResult,
    /// A stable code: `current`, `planned`, `upgraded`, `lesser`, `bad_signature`, `gone` …
    pub kind: String,
    /// For display.
    pub message: String,
    /// How many checks in a row failed to read the channel.
    #[serde(default)]
    pub failures: i64,
}

/// A version that was unhealthy or that an operator rolled back from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailedUpgrade {
    pub version: SemVer,
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// For display.
    pub reason: String,
}

/// An installed app after a change of its settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChangedInstall {
    #[serde(flatten)]
    pub install: Install,
    /// Warnings about the new settings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient_list")]
    pub notices: Vec<Warning>,
}

/// The upgrade decision for a channel, as text and as data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpgradePlan {
    pub installed: SemVer,
    /// `1.1.3 now, 1.2.3 on Sunday 2026-11-22 02:00 Europe/Berlin, 2.0.0 waits for you`
    pub forecast: String,
    /// Each step with its reason, lowest version first.
    pub steps: Vec<PlannedStep>,
    /// The version that a manual `upgrade` would install now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<SemVer>,
    /// Warnings about that upgrade.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient_list")]
    pub notices: Vec<Warning>,
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
            notices: Vec::new(),
        }
    }
}

/// A request to install an app.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewInstall {
    /// The name of the app; by default the last part of the package name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<AppName>,
    pub from: InstallFrom,
    /// Values of the secrets that the artifact requires.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<UnitName, SecretPut>,
    #[serde(default)]
    pub settings: InstallSettings,
}

/// The version to install and its origin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "lowercase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum InstallFrom {
    /// The latest version of a channel, which is followed from then on.
    Channel {
        url: String,
        /// If set, the install is refused unless the channel belongs to this package.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        package: Option<PackageName>,
    },
    /// A fixed version.
    Pinned {
        package: PackageName,
        version: SemVer,
        /// The channel to read it from. If neither a channel nor a registry is given, the server's
        /// own channel.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        channel: Option<String>,
        /// The OCI repository to read it from, `host/path`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        registry: Option<String>,
    },
    /// A file that the client has read and verified; the artifact follows in the request body.
    Bundle { package: PackageName, channel: ChannelName, entry: Entry, serial: u64 },
}

/// The outcome of an install or upgrade.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Installed {
    /// The previous version; none for a new install.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<SemVer>,
    /// The installed version; none if there was nothing to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<SemVer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<Release>,
    /// Why live was rolled back to the previous version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub went_back: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient_list")]
    pub notices: Vec<Warning>,
    pub install: Install,
}

/// A manual upgrade request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Upgrade {
    /// Only this version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<SemVer>,
    /// Ignores windows and denies. The actor is recorded.
    pub now: bool,
    /// Values of secrets that the new version requires.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<UnitName, SecretPut>,
}

/// A request to hold an install.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct HoldInstall {
    /// Ends the hold when there is a version above this one. If not set, the hold stays until it is
    /// lifted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_above: Option<SemVer>,
    pub reason: String,
}

/// What to lift: one version, or the hold and all skipped versions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LiftInstall {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<SemVer>,
}

/// A request to upgrade to a version from a file; the artifact follows in the request body.
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
