//! The options of `install` and `install policy`.

use clap::Args;
use milepost_model::channel::{Policy, Windows, WindowsText};
use milepost_model::install::{InstallSettings, RollbackHolds};
use milepost_model::unit_put::ConfigPut;
use serde_json::Value;

use crate::commands::channel::place::public_key;
use crate::commands::shared::{parse_duration_ms, parse_pair};
use crate::failure::{Failure, Result};

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Upgrade options")]
pub struct SettingsArgs {
    /// When to install patch, minor and major updates
    ///
    /// Set each to `immediate`, `window`, `manual` or `never`. Defaults to
    /// `patch=immediate,minor=manual,major=manual`.
    #[arg(long, value_name = "STEP=WHEN,…")]
    policy: Option<String>,
    /// Allow updates to begin in this window, like `sun 02:00-04:00` (can be repeated)
    ///
    /// Applies to updates whose policy is `window`. Days may be a range: `mon-fri 22:00-06:00`.
    #[arg(long = "window", value_name = "WINDOW")]
    windows: Vec<String>,
    /// Install nothing in this time, like `2026-12-20..2027-01-06` (can be repeated)
    ///
    /// Takes precedence over windows and over `immediate`.
    #[arg(long = "deny", value_name = "WINDOW")]
    denies: Vec<String>,
    /// Time zone of `--window` and `--deny`, like `Europe/Berlin` [default: UTC]
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    /// Health check of a new version: a path like `/healthz`, or `function:NAME`
    ///
    /// If the check fails, users stay on the previous version, or live goes back to it.
    #[arg(long, value_name = "CHECK")]
    health: Option<String>,
    /// Time within which a new version must become healthy [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ms)]
    health_deadline: Option<u64>,
    /// Interval between checks of the channel [default: 15m]
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ms)]
    poll: Option<u64>,
    /// What ends the hold of a rollback: `until-newer` (default) or `until-lifted`
    #[arg(long, value_name = "END")]
    rollback_holds: Option<RollbackHolds>,
    /// The author's public key, or a file with it; anything not signed with it is refused
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Override a key of the author's configuration; kept across upgrades (can be repeated)
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse_pair)]
    set: Vec<(String, String)>,
}

impl SettingsArgs {
    pub fn is_empty(&self) -> bool {
        let Self { policy, windows, denies, zone, health, health_deadline, poll, rollback_holds, key, set } = self;
        policy.is_none()
            && windows.is_empty()
            && denies.is_empty()
            && zone.is_none()
            && health.is_none()
            && health_deadline.is_none()
            && poll.is_none()
            && rollback_holds.is_none()
            && key.is_none()
            && set.is_empty()
    }

    /// Returns the first given option that only makes sense for an install that follows a channel.
    pub fn of_followed(&self) -> Option<&'static str> {
        let given = [
            ("--policy", self.policy.is_some()),
            ("--window", !self.windows.is_empty()),
            ("--deny", !self.denies.is_empty()),
            ("--zone", self.zone.is_some()),
            ("--poll", self.poll.is_some()),
        ];
        given.into_iter().find_map(|(option, is_given)| is_given.then_some(option))
    }

    /// Applies the given options to existing settings.
    pub fn over(&self, mut settings: InstallSettings) -> Result<InstallSettings> {
        if let Some(text) = &self.policy {
            settings.policy = policy_over(settings.policy, text)?;
        }
        settings.windows = self.windows_over(&settings.windows)?;
        if let Some(text) = &self.health {
            let parsed = || text.parse().map_err(|error| Failure::usage(format!("{error}")));
            settings.health = if text.is_empty() { None } else { Some(parsed()?) };
        }
        settings.health_deadline_s = self.health_deadline.map_or(settings.health_deadline_s, seconds);
        settings.poll_s = self.poll.map_or(settings.poll_s, seconds);
        settings.rollback_holds = self.rollback_holds.unwrap_or(settings.rollback_holds);
        if let Some(key) = self.key()? {
            settings.key = (!key.is_empty()).then_some(key);
        }
        if let Some(overrides) = self.overrides()? {
            milepost_model::channel::artifact::merge(&mut settings.overrides, &overrides);
        }
        settings.check().map_err(|error| Failure::usage(error.to_string()))?;
        Ok(settings)
    }

    pub fn key(&self) -> Result<Option<String>> {
        match self.key.as_deref() {
            None => Ok(None),
            Some("") => Ok(Some(String::new())),
            Some(text) => Ok(Some(public_key(text)?.to_string())),
        }
    }

    /// The dotted keys of `--set` as a nested document.
    pub fn overrides(&self) -> Result<Option<Value>> {
        if self.set.is_empty() {
            return Ok(None);
        }
        let value = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
        let set = self.set.iter().map(|(key, text)| (key.clone(), value(text))).collect();
        Ok(Some(ConfigPut { set, ..ConfigPut::default() }.resolve(None)?.document))
    }

    fn windows_over(&self, windows: &Windows) -> Result<Windows> {
        let WindowsText { zone, allow, deny } = windows.clone().into();
        // An empty value clears the list.
        let given = |given: &[String], present: Vec<String>| match given {
            [] => present,
            given => given.iter().filter(|window| !window.is_empty()).cloned().collect(),
        };
        let zone = self.zone.clone().unwrap_or(zone);
        let (allow, deny) = (given(&self.windows, allow), given(&self.denies, deny));
        Windows::new(&zone, &allow, &deny).map_err(|error| Failure::usage(error.to_string()))
    }
}

fn seconds(ms: u64) -> u32 {
    u32::try_from(ms.div_ceil(1000)).unwrap_or(u32::MAX)
}

/// Applies a partial policy: steps that the text does not name stay as they are.
fn policy_over(mut policy: Policy, text: &str) -> Result<Policy> {
    let wrong = |error: milepost_model::channel::policy::PolicyError| Failure::usage(error.to_string());
    text.parse::<Policy>().map_err(wrong)?;
    for part in text.split(',').map(str::trim) {
        let said: Policy = part.parse().map_err(wrong)?;
        match part.split('=').next().unwrap_or_default().trim() {
            "patch" => policy.patch = said.patch,
            "minor" => policy.minor = said.minor,
            _ => policy.major = said.major,
        }
    }
    Ok(policy)
}

#[cfg(test)]
mod tests {
    use milepost_model::channel::When;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_partial_policy_keeps_the_other_steps() {
        let before: Policy = "patch=never,minor=immediate".parse().expect("a policy");
        let after = policy_over(before, "major=never").expect("a policy");
        assert_eq!((after.patch, after.minor, after.major), (When::Never, When::Immediate, When::Never));
        assert!(policy_over(before, "major=never,major=manual").is_err());
    }

    #[test]
    fn given_windows_replace_existing_ones_and_an_empty_one_clears_them() {
        let args = |windows: &[&str]| SettingsArgs {
            windows: windows.iter().map(|&text| text.to_owned()).collect(),
            ..SettingsArgs::default()
        };
        let before = Windows::new("Europe/Berlin", &["sun 02:00-04:00"], &["sat"]).expect("windows");
        assert_eq!(args(&[]).windows_over(&before).expect("the same"), before);
        let other = args(&["mon 01:00-02:00"]).windows_over(&before).expect("another");
        assert_eq!((other.allow().len(), other.deny().len()), (1, 1));
        assert!(args(&[""]).windows_over(&before).expect("none").allow().is_empty());
    }

    #[test]
    fn dotted_keys_become_a_nested_document() {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let set = vec![pair("mail.from", "me@example.com"), pair("limit", "5")];
        let args = SettingsArgs { set, ..SettingsArgs::default() };
        let expected = json!({ "mail": { "from": "me@example.com" }, "limit": 5 });
        assert_eq!(args.overrides().expect("overrides"), Some(expected));
    }
}
