//! The eight kinds of unit.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Declared in the order in which a change applies them: a unit comes before the units that refer
/// to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum UnitKind {
    Environment,
    Secret,
    Config,
    Package,
    Function,
    Static,
    Route,
    Timer,
}

impl UnitKind {
    pub const ALL: [Self; 8] = [
        Self::Environment,
        Self::Secret,
        Self::Config,
        Self::Package,
        Self::Function,
        Self::Static,
        Self::Route,
        Self::Timer,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Environment => "environment",
            Self::Secret => "secret",
            Self::Config => "config",
            Self::Package => "package",
            Self::Function => "function",
            Self::Static => "static",
            Self::Route => "route",
            Self::Timer => "timer",
        }
    }

    /// `a function`, `an environment`.
    pub fn with_article(self) -> String {
        let article = if self == Self::Environment { "an" } else { "a" };
        format!("{article} {self}")
    }
}

impl fmt::Display for UnitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Debug, thiserror::Error)]
#[error(
    "there is no kind of unit called `{0}`; the kinds are environment, secret, config, package, function, static, route and timer"
)]
pub struct UnknownKind(String);

impl FromStr for UnitKind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, UnknownKind> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or_else(|| UnknownKind(text.to_owned()))
    }
}
