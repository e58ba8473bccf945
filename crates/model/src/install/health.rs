use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::name::UnitName;
use crate::refusal::{Code, Field, Next, Refusal};

/// A health check: a path or a function that must respond with status 2xx, written `/healthz` or
/// `function:check`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Health {
    Path(String),
    Function(UnitName),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a health check; write a path like `/healthz`, or `function:NAME`")]
pub struct HealthError(String);

const MOST: usize = 1000;

impl FromStr for Health {
    type Err = HealthError;

    fn from_str(text: &str) -> Result<Self, HealthError> {
        let wrong = || HealthError(text.chars().take(80).collect());
        if let Some(name) = text.strip_prefix("function:") {
            return Ok(Self::Function(name.parse().map_err(|_| wrong())?));
        }
        let fits = text.starts_with('/') && text.len() <= MOST && text.bytes().all(|byte| byte.is_ascii_graphic());
        if fits { Ok(Self::Path(text.to_owned())) } else { Err(wrong()) }
    }
}

/// Refuses a health check whose function does not exist.
pub fn no_health_function(whose: &str, name: &UnitName, functions: &[String]) -> Refusal {
    let message = format!("{whose} has no function `{name}` for its health check");
    let existing = match functions {
        [] => "it has no functions".to_owned(),
        names => format!("its functions are {}", names.join(", ")),
    };
    let otherwise = [Next::Correct { how: existing }, Next::Give { field: Field::Health }];
    Refusal::not_found(Code::UnitNotFound, message, name.as_str(), functions, otherwise)
}

impl TryFrom<String> for Health {
    type Error = HealthError;

    fn try_from(text: String) -> Result<Self, HealthError> {
        text.parse()
    }
}

impl From<Health> for String {
    fn from(health: Health) -> Self {
        health.to_string()
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => f.write_str(path),
            Self::Function(name) => write!(f, "function:{name}"),
        }
    }
}

impl utoipa::PartialSchema for Health {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        String::schema()
    }
}

impl utoipa::ToSchema for Health {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_only_paths_and_functions_as_health_checks() {
        for text in ["/", "/healthz?deep=1", "function:check"] {
            assert_eq!(text.parse::<Health>().expect(text).to_string(), text);
        }
        for text in ["", "healthz", "http://x/", "function:", "function:No Name", "/a b", "/ü"] {
            assert!(text.parse::<Health>().is_err(), "{text}");
        }
    }
}
