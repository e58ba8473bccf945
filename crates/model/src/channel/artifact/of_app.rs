//! Packs an app version as an artifact. Pins become names, which mean the same in an app that has
//! exactly these units.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Artifact, FORMAT};
use crate::change::UnitKey;
use crate::diff::Contents;
use crate::digest::Digest;
use crate::kind::UnitKind;
use crate::name::{AliasName, UnitName};
use crate::selector::Selector;
use crate::spec::{EnvironmentSpec, FunctionSpec, PackageSpec, Pin, Target, UnitSpec};
use crate::unit_put::{
    ConfigPut, FunctionPut, PackagePut, Put, RoutePut, ScalePut, TargetPut, TimerPut, UnitPut, VersionRef,
};

/// An app version in portable form.
#[derive(Debug, Clone, PartialEq)]
pub struct Packed {
    /// The artifact without its list of blobs, which only the blob store can provide.
    pub artifact: Artifact,
    /// The trees whose files belong to the artifact.
    pub roots: BTreeSet<Digest>,
    /// What will behave differently where the artifact is installed.
    pub notes: Vec<String>,
}

/// All reasons why an app version is not portable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.0.join("; "))]
pub struct Unportable(pub Vec<String>);

struct Packing<'a, A> {
    contents: &'a Contents,
    /// Returns the version number that an alias of a function points at.
    alias: A,
    roots: BTreeSet<Digest>,
    notes: Vec<String>,
    problems: Vec<String>,
}

impl Artifact {
    pub fn of(contents: &Contents, alias: impl Fn(&UnitName, &AliasName) -> Option<i64>) -> Result<Packed, Unportable> {
        let mut packing = Packing { contents, alias, roots: BTreeSet::new(), notes: Vec::new(), problems: Vec::new() };
        let mut units = Vec::new();
        let mut inputs = BTreeSet::new();
        for (key, (_, spec)) in contents {
            if key.kind == UnitKind::Secret {
                inputs.insert(key.name.clone());
            }
            if let UnitSpec::Function(function) = spec {
                inputs.extend(function.secrets.iter().cloned());
            }
            if let Some(unit) = packing.unit(key, spec) {
                units.push(plain(key.name.clone(), unit));
            }
        }
        let Packing { roots, notes, problems, .. } = packing;
        if !problems.is_empty() {
            return Err(Unportable(problems));
        }
        Ok(Packed { artifact: Self { format: FORMAT, units, inputs, blobs: Vec::new() }, roots, notes })
    }
}

impl<A: Fn(&UnitName, &AliasName) -> Option<i64>> Packing<'_, A> {
    fn unit(&mut self, key: &UnitKey, spec: &UnitSpec) -> Option<UnitPut> {
        Some(match spec {
            UnitSpec::Environment(environment) => UnitPut::Environment(environment.clone()),
            UnitSpec::Secret(_) => return None,
            UnitSpec::Config(config) => {
                UnitPut::Config(ConfigPut { document: Some(config.document.clone()), ..ConfigPut::default() })
            }
            UnitSpec::Package(package) => UnitPut::Package(self.package(key, package)?),
            UnitSpec::Function(function) => UnitPut::Function(self.function(key, function)),
            UnitSpec::Static(item) => {
                self.roots.insert(item.tree);
                UnitPut::Static(item.clone())
            }
            UnitSpec::Route(route) => UnitPut::Route(RoutePut::of(route, self.target(key, &route.target))),
            UnitSpec::Timer(timer) => UnitPut::Timer(TimerPut::of(timer, self.target(key, &timer.target))),
        })
    }

    /// A package is packed as its deployment only: the source and the build command stay with the
    /// author.
    fn package(&mut self, key: &UnitKey, package: &PackageSpec) -> Option<PackagePut> {
        let Some(deployment) = package.deployment else {
            self.problems.push(format!("{key} was never built; deploy it again, which builds it"));
            return None;
        };
        self.roots.insert(deployment);
        let environment = self.same(key, UnitKind::Environment, &package.environment);
        Some(PackagePut { environment: Some(environment), deployment: Some(deployment), ..PackagePut::default() })
    }

    fn function(&mut self, key: &UnitKey, function: &FunctionSpec) -> FunctionPut {
        FunctionPut {
            entrypoint: Some(function.entrypoint.clone()),
            package: Some(self.same(key, UnitKind::Package, &function.package)),
            environment: Some(self.same(key, UnitKind::Environment, &function.environment)),
            variables: function.variables.iter().map(|(name, value)| (name.clone(), Some(value.clone()))).collect(),
            secrets: function.secrets.clone(),
            configmaps: function.configmaps.clone(),
            permission: Some(function.permission),
            memory: Some(function.memory),
            cpu: Some(function.cpu),
            timeout_ms: Some(function.timeout_ms),
            scale: Some(ScalePut {
                min: Some(function.scale.min),
                max: Some(function.scale.max),
                concurrency: Some(function.scale.concurrency),
                idle_ms: Some(function.scale.idle_ms),
            }),
            ..FunctionPut::default()
        }
    }

    /// Replaces a pin by its name alone, which is correct only if the app version has the same
    /// content under that name.
    fn same(&mut self, key: &UnitKey, kind: UnitKind, pin: &Pin) -> VersionRef {
        let other = UnitKey { kind, name: pin.name.clone() };
        let held = match self.contents.get(&other) {
            Some((_, spec)) => Some(spec.digest()),
            None if kind == UnitKind::Environment => {
                EnvironmentSpec::built_in(pin.name.as_str()).map(|built_in| UnitSpec::Environment(built_in).digest())
            }
            None => None,
        };
        if held != Some(pin.digest) {
            self.problems.push(format!(
                "{key} is pinned to another version of {other} than the app has; make a version of it on the latest one"
            ));
        }
        VersionRef { name: pin.name.clone(), version: Selector::Latest }
    }

    fn target(&mut self, key: &UnitKey, target: &Target) -> TargetPut {
        let function = UnitKey { kind: UnitKind::Function, name: target.function.clone() };
        let held = self.contents.get(&function).map(|(number, spec)| (*number, spec.digest()));
        if let Some(pin) = &target.version {
            if held.as_ref().map(|(_, digest)| *digest) != Some(pin.digest) {
                self.problems.push(format!(
                    "{key} is pinned to another version of {function} than the app has; point it at `latest`"
                ));
            }
        } else if let Some(alias) = &target.alias {
            if held.as_ref().map(|(number, _)| *number) == (self.alias)(&target.function, alias) {
                self.notes.push(format!(
                    "{key} follows alias `{alias}` of {function} here; where the package is installed, it follows the release"
                ));
            } else {
                self.problems.push(format!(
                    "{key} follows alias `{alias}` of {function}, which points at another version than the app has; \
                    move the alias, or point the trigger at `latest`"
                ));
            }
        }
        TargetPut { function: target.function.clone(), version: Selector::Latest }
    }
}

/// A put with nothing but content.
fn plain(name: UnitName, unit: UnitPut) -> Put {
    Put { name, label: None, description: None, group: None, force: false, only: None, unit }
}

pub(super) fn config_put(document: Value) -> Put {
    let config = ConfigPut { document: Some(document), ..ConfigPut::default() };
    plain(UnitName::config(), UnitPut::Config(config))
}
