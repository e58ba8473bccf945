use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::SpecError;
use crate::name::UnitName;
use crate::schedule::Schedule;
use crate::selector::Selector;
use crate::spec::{Pin, RouteSpec, Target, TimerSpec};

/// Which function, by which selector. `latest` follows the release, `@alias` the alias; everything else is pinned to
/// the version it names now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TargetPut {
    pub function: UnitName,
    #[serde(default)]
    pub version: Selector,
}

impl TargetPut {
    /// `pin` is the version that a selector other than `latest` and `@alias` resolved to.
    pub fn resolve(&self, pin: Option<Pin>) -> Target {
        let alias = match &self.version {
            Selector::Alias(alias) => Some(alias.clone()),
            _ => None,
        };
        Target { function: self.function.clone(), alias, version: pin }
    }

    pub fn is_pinned(&self) -> bool {
        !matches!(self.version, Selector::Latest | Selector::Alias(_))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoutePut {
    #[serde(default)]
    #[schema(value_type = Vec<String>)]
    pub methods: BTreeSet<String>,
    pub path: String,
    #[serde(default)]
    pub prefix: bool,
    #[serde(default)]
    pub host: String,
    #[serde(flatten)]
    pub target: TargetPut,
}

const METHODS: [&str; 8] = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"];

impl RoutePut {
    pub fn resolve(&self, pin: Option<Pin>) -> Result<RouteSpec, SpecError> {
        if let Some(method) = self.methods.iter().find(|method| !METHODS.contains(&method.as_str())) {
            return Err(SpecError::new(
                "methods",
                format!("`{method}` is not an HTTP method"),
                format!("use {}", METHODS.join(", ")),
            ));
        }
        check_path(&self.path)?;
        Ok(RouteSpec {
            methods: self.methods.clone(),
            path: self.path.clone(),
            prefix: self.prefix,
            host: self.host.clone(),
            target: self.target.resolve(pin),
        })
    }
}

fn check_path(path: &str) -> Result<(), SpecError> {
    let wrong = |problem: &str, hint: &str| Err(SpecError::new("path", format!("`{path}` {problem}"), hint));
    if !path.starts_with('/') || path.len() > 255 {
        return wrong("must start with `/` and have at most 255 letters", "write it like `/orders/{id}`");
    }
    if path.contains(char::is_whitespace) {
        return wrong("must not hold spaces", "write `%20` for one");
    }
    if path.contains(['?', '#', '\\']) || path.chars().any(char::is_control) || path.split('/').any(|part| part == "..")
    {
        return wrong("must be a plain path without `?`, `#`, `..` or backslash", "write it like `/orders/{id}`");
    }
    for part in path.split('/') {
        let opens = part.matches('{').count();
        if opens != part.matches('}').count() {
            return wrong("has a `{` without its `}`", "write a part that varies like `/orders/{id}`");
        }
    }
    Ok(())
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TimerPut {
    pub cron: String,
    #[serde(default)]
    pub zone: String,
    #[serde(flatten)]
    pub target: TargetPut,
}

impl TimerPut {
    pub fn resolve(&self, pin: Option<Pin>) -> Result<TimerSpec, SpecError> {
        Schedule::parse(&self.cron, &self.zone)?;
        Ok(TimerSpec { cron: self.cron.trim().to_owned(), zone: self.zone.clone(), target: self.target.resolve(pin) })
    }
}
