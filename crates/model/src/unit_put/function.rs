use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{SpecError, VersionRef};
use crate::digest::Digest;
use crate::name::UnitName;
use crate::spec::{FunctionPermission, FunctionSpec, Pin, Scale};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct FunctionPut {
    /// If set, fields left out keep the values of the newest version; otherwise they get their
    /// defaults.
    pub merge: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entrypoint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<VersionRef>,
    /// The new version takes the uid of the package version that it is pinned to (seed 003, CLI
    /// scenarios 2 and 5).
    pub adopt_package_uid: bool,
    /// Defaults to the package's environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<VersionRef>,
    /// Applied to the kept variables: a value sets, null removes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, Option<String>>,
    /// Added to the kept ones.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    #[schema(value_type = Vec<UnitName>)]
    pub secrets: BTreeSet<UnitName>,
    /// Removed from the kept ones.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    #[schema(value_type = Vec<UnitName>)]
    pub without_secrets: BTreeSet<UnitName>,
    /// Added to the kept ones.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    #[schema(value_type = Vec<UnitName>)]
    pub configmaps: BTreeSet<UnitName>,
    /// Removed from the kept ones.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    #[schema(value_type = Vec<UnitName>)]
    pub without_configmaps: BTreeSet<UnitName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission: Option<FunctionPermission>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<ScalePut>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ScalePut {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_ms: Option<u64>,
}

impl FunctionPut {
    /// The full spec, once references are resolved to pins.
    pub fn resolve(
        &self,
        base: Option<&FunctionSpec>,
        package: Pin,
        environment: Pin,
    ) -> Result<FunctionSpec, SpecError> {
        let start = match base.filter(|_| self.merge) {
            Some(base) => base.clone(),
            None => FunctionSpec {
                entrypoint: String::new(),
                package: package.clone(),
                environment: environment.clone(),
                variables: BTreeMap::new(),
                secrets: BTreeSet::new(),
                configmaps: BTreeSet::new(),
                permission: FunctionPermission::default(),
                memory: 128 << 20,
                cpu: 1000,
                timeout_ms: 60_000,
                scale: Scale::default(),
            },
        };
        let scale = self.scale.clone().unwrap_or_default();
        let spec = FunctionSpec {
            package,
            environment,
            entrypoint: self.entrypoint.clone().unwrap_or(start.entrypoint),
            variables: overlay(start.variables, &self.variables),
            secrets: merged(&start.secrets, &self.secrets, &self.without_secrets),
            configmaps: merged(&start.configmaps, &self.configmaps, &self.without_configmaps),
            permission: self.permission.unwrap_or(start.permission),
            memory: self.memory.unwrap_or(start.memory),
            cpu: self.cpu.unwrap_or(start.cpu),
            timeout_ms: self.timeout_ms.unwrap_or(start.timeout_ms),
            scale: Scale {
                min: scale.min.unwrap_or(start.scale.min),
                max: scale.max.unwrap_or_else(|| start.scale.max.max(scale.min.unwrap_or(0))),
                concurrency: scale.concurrency.unwrap_or(start.scale.concurrency),
                idle_ms: scale.idle_ms.unwrap_or(start.scale.idle_ms),
            },
        };
        check(&spec)?;
        Ok(spec)
    }
}

impl FunctionPut {
    /// Rejects what every server would reject, whatever the function's current version is.
    pub fn check(&self) -> Result<(), SpecError> {
        let anything = Pin { name: UnitName::config(), number: None, digest: Digest::of(b"") };
        self.resolve(None, anything.clone(), anything).map(drop)
    }
}

fn merged(kept: &BTreeSet<UnitName>, more: &BTreeSet<UnitName>, without: &BTreeSet<UnitName>) -> BTreeSet<UnitName> {
    kept.union(more).filter(|name| !without.contains(*name)).cloned().collect()
}

fn overlay(mut kept: BTreeMap<String, String>, given: &BTreeMap<String, Option<String>>) -> BTreeMap<String, String> {
    for (name, value) in given {
        match value {
            Some(value) => drop(kept.insert(name.clone(), value.clone())),
            None => drop(kept.remove(name)),
        }
    }
    kept
}

/// Checks that the names are valid names of environment variables.
pub fn check_variables(variables: &BTreeMap<String, String>) -> Result<(), SpecError> {
    for name in variables.keys() {
        let first_fits = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
        if !first_fits || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            let problem = format!("`{name}` is not a name of an environment variable");
            return Err(SpecError::new("variables", problem, "use letters, digits and `_`, and no digit in front"));
        }
    }
    Ok(())
}

fn check(spec: &FunctionSpec) -> Result<(), SpecError> {
    let wrong = |field: &str, problem: String, hint: &str| Err(SpecError::new(field, problem, hint));
    if spec.memory < 16 << 20 || spec.memory > 1 << 40 {
        return wrong("memory", format!("{} bytes is outside 16Mi to 1Ti", spec.memory), "write it like `256Mi`");
    }
    if spec.cpu == 0 || spec.cpu > 256_000 {
        let problem = format!("{} is outside 1 to 256000 thousandths of a core", spec.cpu);
        return wrong("cpu", problem, "write `500` for half a core");
    }
    if spec.timeout_ms == 0 || spec.timeout_ms > 24 * 3_600_000 {
        return wrong("timeoutMs", format!("{} ms is outside 1 ms to 24 h", spec.timeout_ms), "write it like `30s`");
    }
    let scale = &spec.scale;
    if scale.max == 0 || scale.min > scale.max {
        return wrong(
            "scale",
            format!("min {} and max {}: max must be at least 1 and not below min", scale.min, scale.max),
            "",
        );
    }
    if scale.concurrency == 0 {
        return wrong("scale.concurrency", "0 requests at once would be none".to_owned(), "write at least 1");
    }
    check_variables(&spec.variables)?;
    if spec.entrypoint.contains(['/', '\\', '\0', ' ']) && spec.entrypoint.contains("..") {
        let problem = format!("`{}` leaves the package", spec.entrypoint);
        return wrong("entrypoint", problem, "name a module or a file inside the package, like `main.handler`");
    }
    Ok(())
}
