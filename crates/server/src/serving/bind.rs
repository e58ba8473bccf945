//! Binds the function versions of an app version, so that they can run.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use milepost_catalog::{ServingFunction, ServingFunctions, ServingVersion};
use milepost_model::digest::Hasher;
use milepost_model::spec::{EnvironmentSpec, FunctionSpec, PackageSpec, PinRole, Runtime};
use milepost_model::{AppName, Code, Digest, Refusal, UnitKind, UnitName, UnitSpec};
use milepost_runtime::{Function, SealedValue};

/// All versions that a view may need, by catalog id.
pub(crate) type Versions = HashMap<i64, Arc<ServingVersion>>;

/// The units of one app version, by kind and name. Kept in memory for every release of every app,
/// so stored as a sorted list instead of a map.
#[derive(Debug, Default)]
pub(crate) struct Members {
    units: Box<[Arc<ServingVersion>]>,
}

impl Members {
    /// Skips versions that were deleted meanwhile.
    pub(crate) fn new(ids: &[i64], versions: &Versions) -> Self {
        let mut units: Vec<_> = ids.iter().filter_map(|id| versions.get(id)).map(Arc::clone).collect();
        units.sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
        Self { units: units.into_boxed_slice() }
    }

    pub(crate) fn get(&self, kind: UnitKind, name: &UnitName) -> Option<&Arc<ServingVersion>> {
        let at = self.units.binary_search_by(|known| (known.kind, &known.name).cmp(&(kind, name))).ok()?;
        Some(&self.units[at])
    }

    /// The catalog ids of all units.
    pub(crate) fn ids(&self) -> impl Iterator<Item = i64> + '_ {
        self.units.iter().map(|version| version.id)
    }

    pub(crate) fn of_kind(&self, kind: UnitKind) -> impl Iterator<Item = &Arc<ServingVersion>> {
        self.units.iter().filter(move |version| version.kind == kind)
    }
}

/// Binds a function version to an app version. Returns `None` if it is not a function, or if a
/// version it is pinned to is gone, which deletes prevent.
pub(crate) fn bind(
    app: &AppName,
    version: &ServingVersion,
    members: &Members,
    versions: &Versions,
) -> Option<Function> {
    let UnitSpec::Function(spec) = &version.spec else { return None };
    let package = package(pinned(version, PinRole::Package, versions)?)?;
    let environment = environment(pinned(version, PinRole::Environment, versions)?)?;
    let config = members.of_kind(UnitKind::Config).next();
    let secrets: Vec<(&UnitName, Option<&Arc<ServingVersion>>)> =
        spec.secrets.iter().map(|name| (name, members.get(UnitKind::Secret, name))).collect();
    Some(Function {
        key: key(version, config, &secrets),
        app: app.clone(),
        name: version.name.clone(),
        number: version.number,
        uid: version.uid.clone(),
        runtime: environment.runtime,
        interpreter: environment.interpreter.clone(),
        entrypoint: spec.entrypoint.clone(),
        package: package.deployment.or(package.source)?,
        variables: variables(environment, spec),
        config: Arc::new(config.map_or_else(|| serde_json::json!({}), |config| document(config))),
        // A missing secret is bound to an empty value. Opening it fails with an error for the
        // function's author.
        secrets: secrets.iter().map(|(name, version)| sealed(name, *version)).collect(),
        configmaps: spec.configmaps.clone(),
        memory: spec.memory,
        cpu: spec.cpu,
        timeout: Duration::from_millis(spec.timeout_ms),
        scale: spec.scale.clone(),
    })
}

/// Binds a version to the current state of the app, for calls that name no release.
pub(crate) fn bind_alone(serving: ServingFunction) -> Result<Function, Refusal> {
    let versions = serving.versions.into_iter().map(|(id, version)| (id, Arc::new(version))).collect();
    let members = Members::new(&serving.members, &versions);
    let version = versions.get(&serving.version);
    version.and_then(|version| bind(&serving.app, version, &members, &versions)).ok_or_else(|| {
        Refusal::new(Code::FunctionNotReady, "the function has no package that can run")
            .correct("deploy its code again")
    })
}

/// The catalog id and name of a function version, and the bound function, or its name and number if
/// it has no package that can run.
pub(crate) type Bound = (i64, UnitName, Result<Function, (UnitName, i64)>);

/// Binds function versions to the app version of a release.
pub(crate) fn bind_all(serving: ServingFunctions) -> Vec<Bound> {
    let versions: Versions = serving.versions.into_iter().map(|(id, version)| (id, Arc::new(version))).collect();
    let members = Members::new(&serving.members, &versions);
    let found = serving.functions.iter().filter_map(|id| versions.get(id));
    found
        .map(|version| {
            let function = bind(&serving.app, version, &members, &versions);
            let function = function.ok_or_else(|| (version.name.clone(), version.number));
            (version.id, version.name.clone(), function)
        })
        .collect()
}

/// A function's own variables take precedence over those of its environment.
fn variables(environment: &EnvironmentSpec, function: &FunctionSpec) -> BTreeMap<String, String> {
    let mut variables = environment.variables.clone();
    variables.extend(function.variables.clone());
    variables
}

/// Functions with equal keys share instances. Version ids are unique over all apps, so the key
/// needs no app.
fn key(
    version: &ServingVersion,
    config: Option<&Arc<ServingVersion>>,
    secrets: &[(&UnitName, Option<&Arc<ServingVersion>>)],
) -> Digest {
    let mut hasher = Hasher::default();
    hasher.update(&version.id.to_le_bytes());
    hasher.update(version.digest.as_bytes());
    match config {
        Some(config) => hasher.update(config.digest.as_bytes()),
        None => hasher.update(&[0; 32]),
    }
    for (_, secret) in secrets {
        // The sealed value rather than the digest, which re-keying changes: instances keep running
        // with the value they have.
        let sealed = secret.and_then(|secret| secret.sealed.as_deref()).unwrap_or_default();
        hasher.update(Digest::of(sealed).as_bytes());
    }
    hasher.finish()
}

fn pinned<'v>(version: &ServingVersion, role: PinRole, versions: &'v Versions) -> Option<&'v ServingVersion> {
    let (_, id) = version.pins.iter().find(|(pinned, _)| *pinned == role)?;
    versions.get(id).map(|version| &**version)
}

fn package(version: &ServingVersion) -> Option<&PackageSpec> {
    if let UnitSpec::Package(spec) = &version.spec { Some(spec) } else { None }
}

fn environment(version: &ServingVersion) -> Option<&EnvironmentSpec> {
    if let UnitSpec::Environment(spec) = &version.spec { Some(spec) } else { None }
}

fn document(version: &ServingVersion) -> serde_json::Value {
    if let UnitSpec::Config(spec) = &version.spec { spec.document.clone() } else { serde_json::json!({}) }
}

fn sealed(name: &UnitName, version: Option<&Arc<ServingVersion>>) -> SealedValue {
    let sealed = version.and_then(|version| version.sealed.as_deref()).unwrap_or_default();
    SealedValue { name: name.clone(), sealed: sealed.into() }
}

pub(crate) fn is_served(runtime: Runtime) -> bool {
    runtime.runs()
}
