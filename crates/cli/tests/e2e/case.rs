//! What a case folder says.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Step {
    /// Says what this is about when it fails.
    #[serde(default)]
    pub name: String,
    /// Deploys the folder and remembers the release under this name.
    pub deploy: Option<String>,
    /// Writes files before anything else of the step.
    #[serde(default)]
    pub write: BTreeMap<String, String>,
    /// Runs `milepost ARGS`; it must succeed.
    pub run: Option<String>,
    /// What the command reads.
    #[serde(default)]
    pub input: String,
    /// `METHOD /path`.
    pub request: Option<String>,
    /// In front of the domain; `{app}` alone, which is live, when left out.
    pub host: Option<String>,
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    #[serde(default)]
    pub body: String,
    /// The body is so many bytes instead, each of another value than the one before.
    pub body_bytes: Option<usize>,
    #[serde(default)]
    pub expect: Expect,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Expect {
    pub status: Option<u16>,
    /// Values of headers, each exactly; an empty text means that the header is not there.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// All values of a repeated header, in order.
    #[serde(default)]
    pub repeated: BTreeMap<String, Vec<String>>,
    pub body: Option<String>,
    pub contains: Option<String>,
    pub json: Option<serde_json::Value>,
    /// The body is the request's body.
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
