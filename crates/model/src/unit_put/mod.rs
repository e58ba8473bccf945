//! The units of a change request, with selectors where the stored spec has pins, and optional
//! fields. Resolving a [`UnitPut`] against the app's current units gives a [`crate::UnitSpec`].

mod config;
mod function;
mod trigger;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use config::ConfigPut;
pub use function::{FunctionPut, ScalePut, check_variables};
pub use trigger::{RoutePut, TargetPut, TimerPut};

use crate::digest::Digest;
use crate::name::{GroupName, Label, UnitName};
use crate::selector::Selector;
use crate::spec::{EnvironmentSpec, PackageSpec, Pin, StaticSpec};

/// One unit that a change puts.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Put {
    pub name: UnitName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Label>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Adds the new version to this group, which is created if it does not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupName>,
    /// Creates a new version even if the content is equal.
    #[serde(default)]
    pub force: bool,
    /// Refuses the change if the unit exists, or if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<PutOnly>,
    #[serde(flatten)]
    pub unit: UnitPut,
}

/// Implemented by hand, because serde cannot reject unknown fields beside a flattened one.
impl<'de> Deserialize<'de> for Put {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct Raw {
            name: UnitName,
            kind: crate::UnitKind,
            spec: serde_json::Value,
            #[serde(default)]
            label: Option<Label>,
            #[serde(default)]
            description: Option<String>,
            #[serde(default)]
            group: Option<GroupName>,
            #[serde(default)]
            force: bool,
            #[serde(default)]
            only: Option<PutOnly>,
        }
        use serde::de::Error;
        let Raw { name, kind, spec, label, description, group, force, only } = Raw::deserialize(from)?;
        // Serde would also accept a list of the fields in their declared order.
        if !spec.is_object() {
            return Err(D::Error::custom(format!("the spec of {kind} `{name}` must be an object")));
        }
        let given: Vec<String> = spec.as_object().into_iter().flatten().map(|(field, _)| field.clone()).collect();
        let unit: UnitPut =
            serde_json::from_value(serde_json::json!({ "kind": kind, "spec": spec })).map_err(|error| {
                // Serde's error message quotes the invalid value, which would leak the secret.
                if kind == crate::UnitKind::Secret {
                    return D::Error::custom(format!(
                        "the spec of secret `{name}` must be an object with the text `value`"
                    ));
                }
                D::Error::custom(format!("the spec of {kind} `{name}`: {error}"))
            })?;
        // Triggers flatten their target, so serde accepts unknown fields. The parsed unit
        // serialises all known fields except the newer ones, so any other given field is unknown.
        if matches!(unit, UnitPut::Route(_) | UnitPut::Timer(_)) {
            let known = serde_json::to_value(&unit).map_err(D::Error::custom)?;
            if let Some(field) = given.iter().find(|field| {
                known["spec"].get(field.as_str()).is_none()
                    && !(kind == crate::UnitKind::Route && NEWER_OF_ROUTES.contains(&field.as_str()))
            }) {
                return Err(D::Error::custom(format!("the spec of {kind} `{name}`: unknown field `{field}`")));
            }
        }
        Ok(Self { name, label, description, group, force, only, unit })
    }
}

/// Not serialised when unset, so that artifacts of apps without them keep their bytes and older
/// servers can read them.
const NEWER_OF_ROUTES: [&str; 2] = ["strip", "fission"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum PutOnly {
    /// For `create` commands: the unit must not exist yet.
    New,
    /// For `update` commands: the unit must exist.
    Existing,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", content = "spec", rename_all = "lowercase")]
pub enum UnitPut {
    Environment(EnvironmentSpec),
    Secret(SecretPut),
    Config(ConfigPut),
    Package(PackagePut),
    Function(FunctionPut),
    Static(StaticSpec),
    Route(RoutePut),
    Timer(TimerPut),
}

impl UnitPut {
    pub fn kind(&self) -> crate::UnitKind {
        use crate::UnitKind;
        match self {
            Self::Environment(_) => UnitKind::Environment,
            Self::Secret(_) => UnitKind::Secret,
            Self::Config(_) => UnitKind::Config,
            Self::Package(_) => UnitKind::Package,
            Self::Function(_) => UnitKind::Function,
            Self::Static(_) => UnitKind::Static,
            Self::Route(_) => UnitKind::Route,
            Self::Timer(_) => UnitKind::Timer,
        }
    }
}

/// A reference to a version of another unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VersionRef {
    pub name: UnitName,
    #[serde(default)]
    pub version: Selector,
}

/// The value of a secret on its way to the server, which seals it first of all. `Debug` hides it,
/// and it must never be serialised into logs.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretPut {
    pub value: String,
}

impl SecretPut {
    /// Maximum bytes of a value: it must fit into one environment variable of a process, with room
    /// for the rest.
    pub const MOST: usize = 64 << 10;

    /// Describes the problem without revealing the value.
    pub fn check(&self, name: &UnitName) -> Result<(), SpecError> {
        if self.value.len() <= Self::MOST {
            return Ok(());
        }
        let problem = format!(
            "the value of secret {name} has {} bytes, and {} KiB is the most that a secret may have",
            self.value.len(),
            Self::MOST >> 10
        );
        Err(SpecError::new("", problem, "keep the large part in a file of a package, and only its key in the secret"))
    }
}

impl std::fmt::Debug for SecretPut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretPut(…)")
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PackagePut {
    /// If set, fields left out keep the values of the newest version.
    pub merge: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<VersionRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment: Option<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_log: Option<Digest>,
}

impl PackagePut {
    pub fn resolve(&self, base: Option<&PackageSpec>, environment: Pin) -> Result<PackageSpec, SpecError> {
        let base = base.filter(|_| self.merge);
        // A new source makes the old deployment stale, and a new deployment the old source: each is
        // kept only if the other is not given.
        let kept_deployment = if self.source.is_some() { None } else { base.and_then(|base| base.deployment) };
        let kept_source = if self.deployment.is_some() { None } else { base.and_then(|base| base.source) };
        let deployment = self.deployment.or(kept_deployment);
        // The log belongs to the deployment whose build it describes.
        let kept_log = base.filter(|base| base.deployment == deployment).and_then(|base| base.build_log);
        let spec = PackageSpec {
            environment,
            source: self.source.or(kept_source),
            build_command: self
                .build_command
                .clone()
                .or_else(|| base.map(|base| base.build_command.clone()))
                .unwrap_or_default(),
            deployment,
            build_log: self.build_log.or(kept_log),
        };
        if spec.source.is_none() && spec.deployment.is_none() {
            return Err(SpecError::new(
                "source",
                "a package needs a source or a deployment",
                "give the code as files, an archive or a package",
            ));
        }
        Ok(spec)
    }
}

/// An invalid field, with a hint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{}{hint}", self.sentence(), if self.hint.is_empty() { "" } else { "; " })]
pub struct SpecError {
    /// Empty if the problem itself names the field.
    pub field: String,
    pub problem: String,
    /// Empty if the problem includes it.
    pub hint: String,
}

impl SpecError {
    pub fn new(field: &str, problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { field: field.to_owned(), problem: problem.into(), hint: hint.into() }
    }

    /// What is wrong, without the hint.
    pub fn sentence(&self) -> String {
        if self.field.is_empty() { self.problem.clone() } else { format!("`{}`: {}", self.field, self.problem) }
    }
}

/// 365 days: servers should not ask caches to keep anything longer (RFC 2616, 14.21).
const LONGEST_EXPIRES: u64 = 365 * 24 * 60 * 60 * 1000;

pub fn check_static(spec: &StaticSpec) -> Result<(), SpecError> {
    if spec.path.len() > 1 && spec.path.ends_with('/') {
        let without = spec.path.trim_end_matches('/');
        return Err(SpecError::new("path", format!("`{}` ends with `/`", spec.path), format!("write `{without}`")));
    }
    if !spec.path.starts_with('/') || spec.path.contains("..") || spec.path.contains(['\\', '?', '#']) {
        return Err(SpecError::new(
            "path",
            format!("`{}` is not a plain path that starts with `/`", spec.path),
            "write it like `/assets`, without `..`, `?`, `#` and backslashes",
        ));
    }
    for (field, file) in
        [("index", Some(&spec.index)), ("fallback", spec.fallback.as_ref()), ("error", spec.error_page.as_ref())]
    {
        if let Some(file) = file
            && crate::tree::checked_path(file).is_err()
        {
            let hint = "write its path inside the folder, like `errors/404.html`";
            return Err(SpecError::new(field, format!("`{file}` is not a file inside the item"), hint));
        }
    }
    if let Some(ms) = spec.expires_ms.filter(|ms| ms % 1000 != 0 || *ms > LONGEST_EXPIRES) {
        let problem = format!("{ms} ms is not a number of whole seconds up to 8760h");
        return Err(SpecError::new("expires", problem, "write it like `10m` or `24h`"));
    }
    if spec.clean && spec.file {
        let hint = "leave it out, and give the file a `path` without its ending";
        return Err(SpecError::new("clean", "a single file is served at the path of its item alone", hint));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(put: serde_json::Value, problem: &str) {
        let error = serde_json::from_value::<Put>(put).expect_err("an unknown field");
        assert!(error.to_string().contains(problem), "{error}");
    }

    #[test]
    fn rejects_unknown_fields_at_every_level() {
        check(json!({"kind": "config", "name": "config", "spec": {}, "labl": "v1"}), "labl");
        check(json!({"kind": "function", "name": "f", "spec": {"memry": 1}}), "memry");
        check(json!({"kind": "route", "name": "r", "spec": {"path": "/", "function": "f", "verison": "1"}}), "verison");
        check(
            json!({"kind": "timer", "name": "t", "spec": {"cron": "0 3 * * *", "function": "f", "zonee": "UTC"}}),
            "zonee",
        );
    }

    #[test]
    fn accepts_route_fields_that_are_not_serialised_when_unset() {
        let spec = json!({"path": "/x", "function": "f", "prefix": true, "strip": false, "fission": false});
        let put = json!({"kind": "route", "name": "r", "spec": spec});
        let put: Put = serde_json::from_value(put).expect("a put");
        let written = serde_json::to_value(&put).expect("JSON");
        assert!(written["spec"].get("strip").is_none() && written["spec"].get("fission").is_none(), "{written}");
        check(
            json!({"kind": "timer", "name": "t", "spec": {"cron": "@daily", "function": "f", "strip": true}}),
            "strip",
        );
    }

    #[test]
    fn puts_round_trip() {
        let put = json!({"kind": "route", "name": "GET /x", "force": true, "spec": {"path": "/x", "function": "f", "version": "@stable"}});
        let put: Put = serde_json::from_value(put).expect("a put");
        let again = serde_json::from_value(serde_json::to_value(&put).expect("JSON")).expect("a put");
        assert_eq!(put, again);
    }
}
