//! Builds: turn the source of a package into the tree that runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::canonical;
use crate::clock::Timestamp;
use crate::digest::Digest;
use crate::name::UnitName;
use crate::spec::{EnvironmentSpec, Runtime, UnitSpec};

/// A request for a build. The response is a stream of [`BuildEvent`]s, one per line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BuildRequest {
    /// The package to build for. The log and the list of builds show it.
    pub package: UnitName,
    pub source: Digest,
    /// The environment as it will be after the change; the app may not have it yet.
    pub environment: EnvironmentSpec,
    /// If empty, the environment's builder or the convention of its runtime decides.
    #[serde(default)]
    pub command: String,
}

/// The progress of a build, sent to the waiting client. The last event is `done` or `failed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum BuildEvent {
    /// Other builds are ahead in the queue.
    Waiting,
    #[serde(rename_all = "camelCase")]
    Started {
        id: String,
        command: String,
    },
    Log {
        line: String,
    },
    /// The result is available. `cached`: it existed already, and no build ran.
    #[serde(rename_all = "camelCase")]
    Done {
        id: Option<String>,
        deployment: Digest,
        cached: bool,
    },
    #[serde(rename_all = "camelCase")]
    Failed {
        id: Option<String>,
        reason: String,
    },
}

/// A finished build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Build {
    pub id: String,
    pub package: UnitName,
    pub state: BuildState,
    pub source: Digest,
    pub command: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<Digest>,
    /// The build's output, stored as a blob.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<Digest>,
    /// Why the build failed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Timestamp,
    pub duration_ms: i64,
    pub started_by: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum BuildState {
    Succeeded,
    Failed,
}

/// The cache key of a build result. Builds with equal keys are assumed to give equal results. The
/// environment's variables are not part of it, because builds do not get them.
pub fn key(source: Digest, environment: &EnvironmentSpec, command: &str) -> Digest {
    key_of(source, builder(environment).digest(), command)
}

/// The key under which earlier versions stored the result: with the variables.
pub fn former_key(source: Digest, environment: &EnvironmentSpec, command: &str) -> Digest {
    key_of(source, UnitSpec::Environment(environment.clone()).digest(), command)
}

/// Whether packages are built in the same way in both environments.
pub fn builds_alike(one: &EnvironmentSpec, other: &EnvironmentSpec) -> bool {
    builder(one) == builder(other)
}

/// The environment as a build sees it. Without variables it is the environment itself, so its former
/// key stays valid.
fn builder(environment: &EnvironmentSpec) -> UnitSpec {
    UnitSpec::Environment(EnvironmentSpec { variables: BTreeMap::new(), ..environment.clone() })
}

fn key_of(source: Digest, environment: Digest, command: &str) -> Digest {
    let parts = serde_json::json!({ "source": source, "environment": environment, "command": command });
    Digest::of(&canonical::to_bytes(&parts))
}

/// Returns the build command of a package with a source, or `None` if there is nothing to build and
/// the source itself is the result. `root` reads a file at the root of the source if it exists; a
/// directory reads as `None`.
///
/// The package's own command takes precedence, then the environment's, then the convention of the
/// runtime.
pub fn command(own: &str, environment: &EnvironmentSpec, root: impl Fn(&str) -> Option<Vec<u8>>) -> Option<String> {
    if !own.is_empty() {
        return Some(own.to_owned());
    }
    if !environment.builder.is_empty() {
        return Some(environment.builder.clone());
    }
    match environment.runtime {
        Runtime::Python => python(&root),
        Runtime::Node => node(&root),
        Runtime::Binary | Runtime::Wasm => None,
    }
}

/// The files at the root of the source that the conventions depend on.
pub const TELLING_FILES: [&str; 3] = ["requirements.txt", "package.json", "package-lock.json"];

/// Copies the source and installs its requirements into the same directory.
pub const PYTHON_BUILD: &str = "cp -R \"$SRC_PKG\" \"$DEPLOY_PKG\" && python3 -m pip install --disable-pip-version-check \
                                --no-input --target \"$DEPLOY_PKG\" --requirement requirements.txt";
pub const NODE_INSTALL: &str = "npm install --omit=dev --no-audit --no-fund";
pub const NODE_CLEAN_INSTALL: &str = "npm ci --omit=dev --no-audit --no-fund";

fn python(root: &impl Fn(&str) -> Option<Vec<u8>>) -> Option<String> {
    let requirements = root("requirements.txt")?;
    let text = String::from_utf8_lossy(&requirements);
    let asks = text.lines().map(str::trim).any(|line| !line.is_empty() && !line.starts_with('#'));
    asks.then(|| PYTHON_BUILD.to_owned())
}

fn node(root: &impl Fn(&str) -> Option<Vec<u8>>) -> Option<String> {
    // The dependencies are already installed and part of the source.
    if root("node_modules").is_some() {
        return None;
    }
    let package: serde_json::Value = serde_json::from_slice(&root("package.json")?).ok()?;
    let has = |key: &str| package.get(key).and_then(|value| value.as_object()).is_some_and(|found| !found.is_empty());
    let script = package.pointer("/scripts/build").is_some();
    if !has("dependencies") && !script {
        return None;
    }
    let locked = root("package-lock.json").is_some();
    let install = match (locked, script) {
        (false, false) => NODE_INSTALL.to_owned(),
        (true, false) => NODE_CLEAN_INSTALL.to_owned(),
        // A build script needs the development dependencies, and the result does not.
        (false, true) => "npm install --no-audit --no-fund && npm run build && npm prune --omit=dev".to_owned(),
        (true, true) => "npm ci --no-audit --no-fund && npm run build && npm prune --omit=dev".to_owned(),
    };
    Some(format!("{install} && cp -R \"$SRC_PKG\" \"$DEPLOY_PKG\""))
}
