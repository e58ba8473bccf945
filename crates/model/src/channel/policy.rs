//! The size of an upgrade step, and when a policy allows it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::semver::{SemVer, shorten};
use super::windows::Windows;

/// The size of an upgrade, smallest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    Patch,
    Minor,
    Major,
}

/// When steps of one size are installed automatically.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum When {
    /// Immediately, unless upgrades are denied.
    Immediate,
    /// While a window is open.
    Window,
    /// On an operator's request.
    Manual,
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase", deny_unknown_fields, default)]
pub struct Policy {
    pub patch: When,
    pub minor: When,
    pub major: When,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    #[error("`{0}` is not a part of a policy; write `patch`, `minor` or `major`, like `patch=immediate`")]
    Step(String),
    #[error("`{0}` is not a time for upgrades; write `immediate`, `window`, `manual` or `never`")]
    When(String),
    #[error("`{0}` is there twice; say each of `patch`, `minor` and `major` once")]
    Twice(Step),
    #[error("{0} updates wait for a window, but none is set; set one, like `sun 02:00-04:00`")]
    NoWindows(Step),
}

impl Default for Policy {
    /// Fixes are installed automatically; changes in behaviour wait for an operator.
    fn default() -> Self {
        Self { patch: When::Immediate, minor: When::Manual, major: When::Manual }
    }
}

impl Step {
    pub const ALL: [Self; 3] = [Self::Patch, Self::Minor, Self::Major];

    /// The step between two versions, by the first number that differs. In 0.y, a different y is a
    /// major step, because semver promises nothing there and authors use it for breaking changes. A
    /// difference only after the numbers (`1.2.3-beta.1` and `1.2.3-beta.2`) is a patch.
    pub fn between(from: &SemVer, to: &SemVer) -> Self {
        if from.major() != to.major() {
            Self::Major
        } else if from.minor() != to.minor() {
            if from.major() == "0" { Self::Major } else { Self::Minor }
        } else {
            Self::Patch
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Patch => "patch",
            Self::Minor => "minor",
            Self::Major => "major",
        }
    }
}

impl When {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Immediate => "immediate",
            Self::Window => "window",
            Self::Manual => "manual",
            Self::Never => "never",
        }
    }
}

impl Policy {
    pub fn when(&self, step: Step) -> When {
        match step {
            Step::Patch => self.patch,
            Step::Minor => self.minor,
            Step::Major => self.major,
        }
    }

    /// Checks that a policy that waits for windows has any. Called when a policy is set: without
    /// this check, `window` without windows would mean "immediately", which is never intended.
    pub fn check(&self, windows: &Windows) -> Result<(), PolicyError> {
        let waiting = Step::ALL.into_iter().find(|step| self.when(*step) == When::Window);
        match waiting {
            Some(step) if windows.is_empty() => Err(PolicyError::NoWindows(step)),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Step {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let found = Self::ALL.into_iter().find(|step| step.as_str() == text);
        found.ok_or_else(|| PolicyError::Step(shorten(text)))
    }
}

impl FromStr for When {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let all = [Self::Immediate, Self::Window, Self::Manual, Self::Never];
        all.into_iter().find(|when| when.as_str() == text).ok_or_else(|| PolicyError::When(shorten(text)))
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "patch={},minor={},major={}", self.patch, self.minor, self.major)
    }
}

/// Parses `patch=immediate,minor=window,major=manual`. Steps left out keep their default.
impl FromStr for Policy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let mut policy = Self::default();
        let mut said = Vec::new();
        for part in text.split(',').map(str::trim) {
            let (step, when) = part.split_once('=').ok_or_else(|| PolicyError::Step(shorten(part)))?;
            let (step, when) = (step.trim().parse::<Step>()?, when.trim().parse::<When>()?);
            if said.contains(&step) {
                return Err(PolicyError::Twice(step));
            }
            said.push(step);
            *match step {
                Step::Patch => &mut policy.patch,
                Step::Minor => &mut policy.minor,
                Step::Major => &mut policy.major,
            } = when;
        }
        Ok(policy)
    }
}
