//! Settings chosen by the installing user, kept over upgrades.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::Health;
use crate::channel::policy::PolicyError;
use crate::channel::{Policy, Windows, WindowsText, artifact};
use crate::execution::{UnknownWord, words};

words! {
    /// What ends the hold after a rollback.
    RollbackHolds, "the end of a hold":
        /// A version above the bad one, or an operator.
        UntilNewer => "until-newer",
        /// Only an operator.
        UntilLifted => "until-lifted",
}

/// The default interval of channel checks, in seconds.
const POLL_S: u32 = 15 * 60;
const MAX_POLL_S: u32 = 7 * 24 * 3600;
const HEALTH_DEADLINE_S: u32 = 60;
const MAX_HEALTH_DEADLINE_S: u32 = 15 * 60;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct InstallSettings {
    pub policy: Policy,
    #[schema(value_type = WindowsText)]
    pub windows: Windows,
    pub rollback_holds: RollbackHolds,
    /// A merge patch over the author's configuration.
    #[schema(value_type = Object)]
    pub overrides: Value,
    /// The author's public key. If set, channel content without a valid signature by it is
    /// rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
    /// How long a new version may take to become healthy.
    pub health_deadline_s: u32,
    /// The interval of channel checks.
    pub poll_s: u32,
}

/// The changes to the settings; fields left out stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct InstallChange {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<WindowsText>)]
    pub windows: Option<Windows>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollback_holds: Option<RollbackHolds>,
    /// A health check, or an empty text to remove it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health_deadline_s: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_s: Option<u32>,
    /// A public key, or an empty text to remove it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Merged into the overrides and, in the same change, into the app's configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub overrides: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    #[error(transparent)]
    Policy(#[from] PolicyError),
    #[error("overrides are keys and values; write them like `mail.from=me@example.com`")]
    Overrides,
    #[error("the poll interval is out of bounds: it must be between one second and one week")]
    Poll,
    #[error("a version has from 1 s to {MAX_HEALTH_DEADLINE_S} s to become healthy; give another deadline")]
    Deadline,
    #[error(transparent)]
    Health(#[from] super::HealthError),
}

impl Default for InstallSettings {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            windows: Windows::none(),
            rollback_holds: RollbackHolds::UntilNewer,
            overrides: Value::Object(serde_json::Map::new()),
            key: None,
            health: None,
            health_deadline_s: HEALTH_DEADLINE_S,
            poll_s: POLL_S,
        }
    }
}

impl InstallChange {
    /// Whether the change affects automatic upgrades from a channel.
    pub fn follows_differently(&self, present: &InstallSettings) -> bool {
        self.policy.as_ref().is_some_and(|policy| *policy != present.policy)
            || self.windows.as_ref().is_some_and(|windows| *windows != present.windows)
            || self.poll_s.is_some_and(|poll_s| poll_s != present.poll_s)
    }
}

impl InstallSettings {
    /// Whether the settings differ in what affects automatic upgrades from a channel.
    pub fn follows_differently(&self, other: &Self) -> bool {
        (&self.policy, &self.windows, self.poll_s) != (&other.policy, &other.windows, other.poll_s)
    }

    pub fn check(&self) -> Result<(), SettingsError> {
        self.policy.check(&self.windows)?;
        if !self.overrides.is_object() {
            return Err(SettingsError::Overrides);
        }
        if !(1..=MAX_POLL_S).contains(&self.poll_s) {
            return Err(SettingsError::Poll);
        }
        if !(1..=MAX_HEALTH_DEADLINE_S).contains(&self.health_deadline_s) {
            return Err(SettingsError::Deadline);
        }
        Ok(())
    }

    /// Applies a change and validates the result as a whole.
    pub fn changed(&self, change: &InstallChange) -> Result<Self, SettingsError> {
        let mut to = self.clone();
        to.policy = change.policy.unwrap_or(to.policy);
        to.windows = change.windows.clone().unwrap_or(to.windows);
        to.rollback_holds = change.rollback_holds.unwrap_or(to.rollback_holds);
        to.poll_s = change.poll_s.unwrap_or(to.poll_s);
        to.health_deadline_s = change.health_deadline_s.unwrap_or(to.health_deadline_s);
        if let Some(text) = &change.health {
            to.health = if text.is_empty() { None } else { Some(text.parse()?) };
        }
        if let Some(key) = &change.key {
            to.key = (!key.is_empty()).then(|| key.clone());
        }
        if let Some(patch) = &change.overrides {
            if !patch.is_object() {
                return Err(SettingsError::Overrides);
            }
            artifact::merge(&mut to.overrides, patch);
        }
        to.check()?;
        Ok(to)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn changed_settings_are_validated_as_a_whole() {
        let settings = InstallSettings::default();
        let window: InstallChange =
            serde_json::from_value(json!({ "policy": { "minor": "window" } })).expect("a change");
        assert!(matches!(settings.changed(&window), Err(SettingsError::Policy(PolicyError::NoWindows(_)))));
        let both = InstallChange {
            windows: Some(Windows::new("Europe/Berlin", &["sun 02:00-04:00"], &[]).expect("windows")),
            health: Some("/healthz".to_owned()),
            overrides: Some(json!({ "mail": { "from": "a" } })),
            ..window
        };
        let changed = settings.changed(&both).expect("both");
        assert_eq!(changed.overrides, json!({ "mail": { "from": "a" } }));
        let none = InstallChange { health: Some(String::new()), ..InstallChange::default() };
        assert_eq!(changed.changed(&none).expect("none").health, None);
        let often = InstallChange { poll_s: Some(0), ..InstallChange::default() };
        assert_eq!(changed.changed(&often), Err(SettingsError::Poll));
    }
}
