//! Builds: from the source of a package to what runs.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::canonical;
use crate::clock::Timestamp;
use crate::digest::Digest;
use crate::name::UnitName;
use crate::spec::{EnvironmentSpec, Runtime};

/// Asks for a build. The answer is a stream of [`BuildEvent`]s, one a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BuildRequest {
    /// For whom: the log and the list of builds name it.
    pub package: UnitName,
    pub source: Digest,
    /// As it would be after the change: the app may not have it yet.
    pub environment: EnvironmentSpec,
    /// Empty: what the environment's builder or the convention of its runtime says.
    #[serde(default)]
    pub command: String,
}

/// What happens while somebody waits for a build. The last one is `done` or `failed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum BuildEvent {
    /// Others come first.
    Waiting,
    #[serde(rename_all = "camelCase")]
    Started {
        id: String,
        command: String,
    },
    Log {
        line: String,
    },
    /// The result is there. `cached`: it was there before, and nothing ran.
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

/// A build that is over.
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
    /// What it wrote; a blob.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<Digest>,
    /// Why it failed.
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

/// Under which a result is kept: equal keys give equal results, as far as anybody can say.
pub fn key(source: Digest, environment: Digest, command: &str) -> Digest {
    let parts = serde_json::json!({ "source": source, "environment": environment, "command": command });
    Digest::of(&canonical::to_bytes(&parts))
}

/// What a package with a source needs. `root` reads a file at the root of the source, if it is there; a folder that is there reads
/// as nothing.
///
/// The package's own command comes first, then the environment's, then the convention of the runtime. None: there is nothing
/// to run, and the source is the result.
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

/// The files whose presence at the root decides about the convention.
pub const TELLING_FILES: [&str; 3] = ["requirements.txt", "package.json", "package-lock.json"];

/// Copies the source, and puts what it requires beside it.
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
    // Somebody installed already, and sends the result.
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
        // A build script wants what is for development, and the result does not.
        (false, true) => "npm install --no-audit --no-fund && npm run build && npm prune --omit=dev".to_owned(),
        (true, true) => "npm ci --no-audit --no-fund && npm run build && npm prune --omit=dev".to_owned(),
    };
    Some(format!("{install} && cp -R \"$SRC_PKG\" \"$DEPLOY_PKG\""))
}
