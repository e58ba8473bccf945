use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::is_default;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EnvironmentSpec {
    pub runtime: Runtime,
    /// The requested interpreter version; empty means the newest one on the server. For `binary`,
    /// `stdio` runs the program once per request.
    #[serde(default, skip_serializing_if = "is_default")]
    pub interpreter: String,
    /// The build command for packages that have none; empty means the convention of the runtime.
    #[serde(default, skip_serializing_if = "is_default")]
    pub builder: String,
    /// Variables for every function in this environment. A function's own variable with the same
    /// name takes precedence.
    #[serde(default, skip_serializing_if = "is_default")]
    pub variables: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Runtime {
    Python,
    Node,
    Binary,
    /// Stored by earlier versions. No executor runs it, so new units must not use it.
    Wasm,
}

/// The interpreter of a `binary` environment whose programs run once per request instead of serving
/// HTTP on a socket.
pub const STDIO: &str = "stdio";

/// The built-in environments of every app, and their runtimes. The first function that names one
/// adds it to the app as a unit, so that it is pinned like any other.
pub const BUILT_IN_ENVIRONMENTS: [(&str, Runtime); 5] = [
    ("python", Runtime::Python),
    ("python3", Runtime::Python),
    ("node", Runtime::Node),
    ("nodejs", Runtime::Node),
    ("binary", Runtime::Binary),
];

impl EnvironmentSpec {
    pub fn built_in(name: &str) -> Option<Self> {
        let (_, runtime) = BUILT_IN_ENVIRONMENTS.into_iter().find(|(built_in, _)| *built_in == name)?;
        Some(Self { runtime, interpreter: String::new(), builder: String::new(), variables: BTreeMap::new() })
    }
}

impl Runtime {
    /// Whether new environments and functions may use it.
    pub fn runs(self) -> bool {
        self != Self::Wasm
    }
}

impl fmt::Display for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Python => "python",
            Self::Node => "node",
            Self::Binary => "binary",
            Self::Wasm => "wasm",
        })
    }
}

#[derive(Debug, thiserror::Error)]
pub enum UnknownRuntime {
    #[error("there is no runtime called `{0}`; the runtimes are python, node and binary")]
    Unknown(String),
    /// A runtime that stored environments may have, since it was accepted before anything could run
    /// it.
    #[error("wasm functions do not run yet; the runtimes are python, node and binary")]
    Wasm,
}

impl FromStr for Runtime {
    type Err = UnknownRuntime;

    /// Also accepts the image names used in folders of seed 003.
    fn from_str(text: &str) -> Result<Self, UnknownRuntime> {
        let image = text.split(':').next().unwrap_or(text);
        let name = image.rsplit('/').next().unwrap_or(image);
        match name {
            _ if name == "python" || name.starts_with("python-env") => Ok(Self::Python),
            "node" | "nodejs" => Ok(Self::Node),
            _ if name.starts_with("node-env") => Ok(Self::Node),
            _ if name == "binary" || name.starts_with("binary-env") => Ok(Self::Binary),
            "wasm" => Err(UnknownRuntime::Wasm),
            _ => Err(UnknownRuntime::Unknown(text.to_owned())),
        }
    }
}
