use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::SpecError;
use crate::name::UnitName;
use crate::route_path::{Answered, BELOW, RoutePathError, RoutePattern, mistake, without_variables};
use crate::schedule::Schedule;
use crate::selector::Selector;
use crate::spec::{Pin, RouteSpec, Target, TimerSpec};

/// The function and the selector of its version. `latest` follows the release and `@alias` the
/// alias; any other selector is resolved now and pinned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TargetPut {
    pub function: UnitName,
    #[serde(default)]
    pub version: Selector,
}

impl TargetPut {
    /// `pin` is the resolved version of a selector other than `latest` and `@alias`.
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
    /// The function receives the path without the prefix.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strip: bool,
    /// Passes requests on like Fission's router.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fission: bool,
    #[serde(default)]
    pub host: String,
    #[serde(flatten)]
    pub target: TargetPut,
}

impl RoutePut {
    /// The put that makes this route again, for a target in the terms of a change.
    pub fn of(route: &RouteSpec, target: TargetPut) -> Self {
        let RouteSpec { methods, path, prefix, strip, fission, host, target: _ } = route.clone();
        Self { methods, path, prefix, strip, fission, host, target }
    }

    pub fn answered(&self) -> Answered<'_> {
        Answered { methods: &self.methods, path: &self.path, prefix: self.prefix, host: &self.host }
    }
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
        check_path(&self.path, self.prefix)?;
        if self.strip {
            check_strip(&self.path, self.prefix)?;
        }
        Ok(RouteSpec {
            methods: self.methods.clone(),
            path: self.path.clone(),
            prefix: self.prefix,
            strip: self.strip,
            fission: self.fission,
            host: self.host.clone(),
            target: self.target.resolve(pin),
        })
    }
}

/// The prefix to strip must be determined by its segments alone.
fn check_strip(path: &str, prefix: bool) -> Result<(), SpecError> {
    let (problem, hint) = match RoutePattern::parse(path, prefix) {
        _ if !prefix => ("only a route with `prefix` has a prefix to strip", "set `prefix` too, or leave `strip` out"),
        Ok(RoutePattern::Regex(_)) => (
            "a prefix whose variable has a regular expression, or shares its segment, cannot be stripped",
            "write its variables like `/{id}`, each a whole segment",
        ),
        _ => return Ok(()),
    };
    Err(SpecError::new("strip", format!("`{path}`: {problem}"), hint))
}

fn check_path(path: &str, prefix: bool) -> Result<(), SpecError> {
    let wrong = |problem: &str, hint: &str| Err(SpecError::new("path", format!("`{path}` {problem}"), hint));
    if !path.starts_with('/') || path.len() > 255 {
        return wrong("must start with `/` and have at most 255 characters", "write it like `/orders/{id}`");
    }
    if path.contains(char::is_whitespace) {
        return wrong("must not contain spaces", "write `%20` for one, and `\\s` in a regular expression");
    }
    if without_variables(path).contains(['?', '#', '\\'])
        || path.chars().any(char::is_control)
        || path.split('/').any(|part| part == "..")
    {
        return wrong(
            "must be a plain path, without `?`, `#` or backslash outside of `{…}`, and without `..`",
            "write it like `/orders/{id}`",
        );
    }
    if path.strip_prefix("/.milepost").is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
        return wrong("cannot be used: what begins with `/.milepost` is the gateway's own", "give it another path");
    }
    if path.split('/').any(|part| part == "*" || part == "**") {
        return wrong("cannot be used: a `*` does not stand for other paths", BELOW);
    }
    RoutePattern::parse(path, prefix)
        .and_then(|_| mistake(path, prefix).map_or(Ok(()), Err))
        .or_else(|RoutePathError { reason, hint }| wrong(&format!("cannot be used: {reason}"), hint))
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
    /// The put that makes this timer again, for a target in the terms of a change.
    pub fn of(timer: &TimerSpec, target: TargetPut) -> Self {
        let TimerSpec { cron, zone, target: _ } = timer.clone();
        Self { cron, zone, target }
    }

    pub fn resolve(&self, pin: Option<Pin>) -> Result<TimerSpec, SpecError> {
        Schedule::parse(&self.cron, &self.zone)?;
        Ok(TimerSpec { cron: self.cron.trim().to_owned(), zone: self.zone.clone(), target: self.target.resolve(pin) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(path: &str, prefix: bool) -> Option<SpecError> {
        let target = TargetPut { function: UnitName::config(), version: Selector::Latest };
        let methods = BTreeSet::new();
        let (path, host) = (path.to_owned(), String::new());
        RoutePut { methods, path, prefix, strip: false, fission: false, host, target }.resolve(None).err()
    }

    #[test]
    fn only_prefixes_of_whole_segments_can_be_stripped() {
        let strip = |path: &str, prefix| check_strip(path, prefix).err().map(|error| (error.field, error.problem));
        for path in ["/", "/api", "/api/", "/t/{tenant}", "/t/{tenant}/x"] {
            assert_eq!(strip(path, true), None, "{path}");
        }
        for (path, prefix, said) in [
            ("/api", false, "only a route with `prefix`"),
            ("/{id:[0-9]+}", true, "regular expression"),
            ("/v{major}", true, "shares its segment"),
        ] {
            let (field, problem) = strip(path, prefix).unwrap_or_else(|| panic!("{path} was taken"));
            assert!(field == "strip" && problem.contains(said) && problem.contains(path), "{problem}");
        }
    }

    #[test]
    fn rejects_unservable_paths_with_a_hint() {
        for (path, said, hint) in [
            ("/any/{p*}", "a variable is written `{name}`", "`prefix`"),
            ("/any/*", "a `*` does not stand", "`prefix`"),
            ("/any/**", "a `*` does not stand", "`prefix`"),
            ("/{}", "a variable is written `{name}`", "`/orders/{id}`"),
            ("/{a:}", "is empty", "`/orders/{id}`"),
            ("/{a:[}", "invalid regular expression", "fix"),
            ("/{a:)(}", "invalid regular expression", "fix"),
            (r"/{a:\d+}/{b}/{a}", "`a` occurs twice", "a name of its own"),
            ("/{id}/{ID}", "`ID` occurs twice", "a name of its own"),
            ("/{}/{}", "a variable is written `{name}`", "`/orders/{id}`"),
            ("/{a:^x$|^y$}", "no request can fulfil", "`a|b`"),
            ("/{a:(?i)^x$}", "no request can fulfil", "leave them out"),
            ("/{a:^$}", "no request can fulfil", "leave them out"),
            ("/{a:x$|y$}/{b}", "no request can fulfil", "leave them out"),
            (r"/{a:\Ax}", "no request can fulfil", "leave them out"),
            ("/{a:^^x}", "no request can fulfil", "leave them out"),
            ("/{a", "is not closed", "`/orders/{id}`"),
            ("/a}", "has no `{`", "`/orders/{id}`"),
            ("/}{", "has no `{`", "`/orders/{id}`"),
            ("/a?b", "outside of `{…}`", "`/orders/{id}`"),
            ("/{a}#b", "outside of `{…}`", "`/orders/{id}`"),
            (r"/a\b", "outside of `{…}`", "`/orders/{id}`"),
            ("/.milepost", "the gateway's own", "another path"),
            ("/.milepost/health", "the gateway's own", "another path"),
        ] {
            for prefix in [false, true] {
                let error = problem(path, prefix).unwrap_or_else(|| panic!("{path} was taken"));
                assert!(error.problem.contains(said), "{path}: {error:?}");
                assert!(error.problem.contains(path) && error.hint.contains(hint), "{path}: {error:?}");
            }
        }
    }

    #[test]
    fn accepts_every_form_of_variable() {
        for path in [
            "/",
            "/a/",
            "/{id}",
            "/v{major}.{minor}",
            "/{id:[0-9]{1,3}}",
            "/{rest:.*}",
            r"/{id:\d{4}}",
            "/{a:[#?]{2}x?}",
            "/{a:x/y}",
            "/a*b",
            "/.milepostx",
        ] {
            assert_eq!(problem(path, false), None, "{path}");
        }
    }
}
