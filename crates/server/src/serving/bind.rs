//! From the versions of an app version to functions that can run.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use milepost_catalog::{ServingFunction, ServingFunctions, ServingVersion};
use milepost_model::digest::Hasher;
use milepost_model::spec::{EnvironmentSpec, FunctionSpec, PackageSpec, PinRole, Runtime};
use milepost_model::{AppName, Code, Digest, Refusal, UnitKind, UnitName, UnitSpec};
use milepost_runtime::{Function, SealedValue};

/// Every version that a view may need, by the catalog's number of it.
pub(crate) type Versions = HashMap<i64, Arc<ServingVersion>>;

/// The units of one app version, by kind and name. Remembered for every release of every app, so a list and no map.
#[derive(Debug, Default)]
pub(crate) struct Members {
    units: Box<[Arc<ServingVersion>]>,
}

impl Members {
    /// Versions that were deleted since are not there any more and are left out.
    pub(crate) fn new(ids: &[i64], versions: &Versions) -> Self {
        let mut units: Vec<_> = ids.iter().filter_map(|id| versions.get(id)).map(Arc::clone).collect();
        units.sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
        Self { units: units.into_boxed_slice() }
    }

    pub(crate) fn get(&self, kind: UnitKind, name: &UnitName) -> Option<&Arc<ServingVersion>> {
        let at = self.units.binary_search_by(|known| (known.kind, &known.name).cmp(&(kind, name))).ok()?;
        Some(&self.units[at])
    }

    /// The catalog's numbers of all of them.
    pub(crate) fn ids(&self) -> impl Iterator<Item = i64> + '_ {
        self.units.iter().map(|version| version.id)
    }

    pub(crate) fn of_kind(&self, kind: UnitKind) -> impl Iterator<Item = &Arc<ServingVersion>> {
        self.units.iter().filter(move |version| version.kind == kind)
    }
}

/// A function version with what an app version binds to it. `None` when it is not a function or when a version it is
/// pinned to is gone, which deletes do not allow.
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
        // A secret that is not set is bound to nothing: opening it says so, to the one whose function needs it.
        secrets: secrets.iter().map(|(name, version)| sealed(name, *version)).collect(),
        configmaps: spec.configmaps.clone(),
        memory: spec.memory,
        cpu: spec.cpu,
        timeout: Duration::from_millis(spec.timeout_ms),
        scale: spec.scale.clone(),
    })
}

/// A version with the app as it is now around it, for calls that name no release.
pub(crate) fn bind_alone(serving: ServingFunction) -> Result<Function, Refusal> {
    let versions = serving.versions.into_iter().map(|(id, version)| (id, Arc::new(version))).collect();
    let members = Members::new(&serving.members, &versions);
    let version = versions.get(&serving.version);
    version.and_then(|version| bind(&serving.app, version, &members, &versions)).ok_or_else(|| {
        Refusal::new(Code::FunctionNotReady, "The function has no package that can run.").hint("deploy its code again")
    })
}

/// A function version by the catalog's number and its name, bound; or its name and number when it has no package that can run.
pub(crate) type Bound = (i64, UnitName, Result<Function, (UnitName, i64)>);

/// Function versions with the app version of a release around them.
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

/// A function's own variable wins over one of its environment.
fn variables(environment: &EnvironmentSpec, function: &FunctionSpec) -> BTreeMap<String, String> {
    let mut variables = environment.variables.clone();
    variables.extend(function.variables.clone());
    variables
}

/// What instances are shared by. Numbers of versions are unique over all apps, so the version stands for its app too.
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
        // Not the digest, which re-keying changes: instances go on with the value they have.
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

/// Whether a runtime can run here at all.
pub(crate) fn is_served(runtime: Runtime) -> bool {
    runtime.runs()
}
