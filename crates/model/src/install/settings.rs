//! What an installer decides. It stays over upgrades.

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
    /// What ends the hold that a rollback leaves.
    RollbackHolds, "the end of a hold":
        /// A version above the bad one, or a person.
        UntilNewer => "until-newer",
        /// A person.
        UntilLifted => "until-lifted",
}

/// How often a channel is looked at when nothing else is said, in seconds.
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
    /// The author's public key: without a good signature of it nothing of the channel is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
    /// How long a new version has until it must be healthy.
    pub health_deadline_s: u32,
    /// How often the channel is looked at.
    pub poll_s: u32,
}

/// What of the settings is to be changed; what is left out stays.
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
    /// A check, or an empty text for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health_deadline_s: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_s: Option<u32>,
    /// A public key, or an empty text for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Merged into the overrides, and into the app's configuration at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub overrides: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    #[error(transparent)]
    Policy(#[from] PolicyError),
    #[error("overrides are keys and values; write them like `--set mail.from=me@example.com`")]
    Overrides,
    #[error("a channel is looked at every second at the most and every week at the least; give another `--poll`")]
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
    /// Whether it changes what decides about upgrades from a channel.
    pub fn follows_differently(&self, present: &InstallSettings) -> bool {
        self.policy.as_ref().is_some_and(|policy| *policy != present.policy)
            || self.windows.as_ref().is_some_and(|windows| *windows != present.windows)
            || self.poll_s.is_some_and(|poll_s| poll_s != present.poll_s)
    }
}

impl InstallSettings {
    /// Whether what decides about upgrades from a channel differs.
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

    /// The settings after a change, checked as a whole.
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
    fn a_change_of_the_settings_is_checked_as_a_whole() {
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
