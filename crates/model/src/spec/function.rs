use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Pin, is_default};
use crate::name::UnitName;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FunctionSpec {
    /// Empty means the convention of the runtime, `main.main` for Python.
    #[serde(default, skip_serializing_if = "is_default")]
    pub entrypoint: String,
    pub package: Pin,
    pub environment: Pin,
    #[serde(default, skip_serializing_if = "is_default")]
    pub variables: BTreeMap<String, String>,
    /// Names only: the values are separate units, bound by the app version.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schema(value_type = Vec<UnitName>)]
    pub secrets: BTreeSet<UnitName>,
    /// Keys of the configuration whose members the function sees as files in `/configs/APP/NAME/`.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schema(value_type = Vec<UnitName>)]
    pub configmaps: BTreeSet<UnitName>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub permission: FunctionPermission,
    /// In bytes.
    #[serde(default = "default_memory", skip_serializing_if = "is_default_memory")]
    pub memory: u64,
    /// In thousandths of a core.
    #[serde(default = "default_cpu", skip_serializing_if = "is_default_cpu")]
    pub cpu: u32,
    #[serde(default = "default_timeout", skip_serializing_if = "is_default_timeout")]
    pub timeout_ms: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub scale: Scale,
}

/// Who may call a function over HTTP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum FunctionPermission {
    #[default]
    Public,
    Token,
    Internal,
}

/// The number of instances, and when idle ones stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Scale {
    #[serde(skip_serializing_if = "is_default")]
    pub min: u32,
    #[serde(skip_serializing_if = "is_default_max")]
    pub max: u32,
    #[serde(skip_serializing_if = "is_one")]
    pub concurrency: u32,
    #[serde(skip_serializing_if = "is_default_idle")]
    pub idle_ms: u64,
}

impl Default for Scale {
    fn default() -> Self {
        Self { min: 0, max: DEFAULT_MAX, concurrency: 1, idle_ms: DEFAULT_IDLE_MS }
    }
}

pub const DEFAULT_MEMORY: u64 = 128 << 20;
pub const DEFAULT_CPU: u32 = 1000;
pub const DEFAULT_TIMEOUT_MS: u64 = 60_000;
const DEFAULT_MAX: u32 = 8;
const DEFAULT_IDLE_MS: u64 = 120_000;

fn default_memory() -> u64 {
    DEFAULT_MEMORY
}
fn is_default_memory(value: &u64) -> bool {
    *value == DEFAULT_MEMORY
}
fn default_cpu() -> u32 {
    DEFAULT_CPU
}
fn is_default_cpu(value: &u32) -> bool {
    *value == DEFAULT_CPU
}
fn default_timeout() -> u64 {
    DEFAULT_TIMEOUT_MS
}
fn is_default_timeout(value: &u64) -> bool {
    *value == DEFAULT_TIMEOUT_MS
}
fn is_default_max(value: &u32) -> bool {
    *value == DEFAULT_MAX
}
fn is_one(value: &u32) -> bool {
    *value == 1
}
fn is_default_idle(value: &u64) -> bool {
    *value == DEFAULT_IDLE_MS
}
