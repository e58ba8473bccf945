//! A function version as a release binds it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use milepost_model::spec::{Runtime, Scale};
use milepost_model::{AppName, Digest, UnitName};

/// Everything that determines how a function behaves in a release. Bindings with equal keys share
/// instances.
#[derive(Debug, Clone)]
pub struct Function {
    /// A digest over the function version, its package and environment, the configuration and the
    /// secret versions.
    pub key: Digest,
    pub app: AppName,
    pub name: UnitName,
    pub number: i64,
    pub uid: String,
    pub runtime: Runtime,
    /// The requested interpreter version. Empty means the newest installed.
    pub interpreter: String,
    /// Empty means the runtime's convention.
    pub entrypoint: String,
    /// Root of the tree that runs.
    pub package: Digest,
    pub variables: BTreeMap<String, String>,
    /// The configuration document of the release.
    pub config: Arc<serde_json::Value>,
    pub secrets: Vec<SealedValue>,
    /// Members of the configuration that are exposed as files in `/configs`.
    pub configmaps: BTreeSet<UnitName>,
    /// In bytes.
    pub memory: u64,
    /// In thousandths of a core.
    pub cpu: u32,
    pub timeout: Duration,
    pub scale: Scale,
}

/// A secret of a binding. It is opened only when an instance starts.
#[derive(Clone)]
pub struct SealedValue {
    pub name: UnitName,
    pub sealed: Arc<[u8]>,
}

impl std::fmt::Debug for SealedValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SealedValue({})", self.name)
    }
}
