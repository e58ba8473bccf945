//! The format of `steps.yaml`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Step {
    /// Shown when the step fails.
    #[serde(default)]
    pub name: String,
    /// Deploys the folder and records the release under this name.
    pub deploy: Option<String>,
    /// Files to write before the rest of the step.
    #[serde(default)]
    pub write: BTreeMap<String, String>,
    /// Runs `milepost ARGS`; it must succeed.
    pub run: Option<String>,
    /// Standard input of the command.
    #[serde(default)]
    pub input: String,
    /// `METHOD /path`.
    pub request: Option<String>,
    /// The label before the domain; `{app}`, which is live, by default.
    pub host: Option<String>,
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    #[serde(default)]
    pub body: String,
    /// The length of a generated body, in which each byte differs from the one before.
    pub body_bytes: Option<usize>,
    #[serde(default)]
    pub expect: Expect,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Expect {
    pub status: Option<u16>,
    /// Exact values of headers. An empty value means that the header must be absent.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// All values of a repeated header, in order.
    #[serde(default)]
    pub repeated: BTreeMap<String, Vec<String>>,
    pub body: Option<String>,
    pub contains: Option<String>,
    pub json: Option<serde_json::Value>,
    /// The body must equal that of the request.
    #[serde(default)]
    pub echo: bool,
    pub length: Option<usize>,
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/cases")
}

/// The names of all cases, sorted.
pub fn folders() -> Vec<String> {
    let entries = std::fs::read_dir(root()).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

pub fn steps(name: &str) -> Vec<Step> {
    let path = root().join(name).join("steps.yaml");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
