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
    /// The interpreter version that is asked for; empty means the newest that the server has. For `binary`, `stdio` runs the
    /// program once for each request.
    #[serde(default, skip_serializing_if = "is_default")]
    pub interpreter: String,
    /// The command that builds packages without one of their own; empty means the convention of the runtime.
    #[serde(default, skip_serializing_if = "is_default")]
    pub builder: String,
    /// Variables of every function that runs in it. A function's own variable of the same name wins.
    #[serde(default, skip_serializing_if = "is_default")]
    pub variables: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Runtime {
    Python,
    Node,
    Binary,
    /// Stored by earlier versions; nothing runs it, so nothing new may have it.
    Wasm,
}

/// The interpreter of a `binary` environment whose programs run once for each request, instead of serving HTTP on a socket.
pub const STDIO: &str = "stdio";

/// Environments that an app has without making them, and what they run. The first function that names one adds it to
/// the app as a unit, so that it is pinned like any other.
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
    /// Whether a new environment or function may have it.
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
    /// Stored environments may have it: it could be asked for before anything ran it.
    #[error("wasm functions do not run yet; the runtimes are python, node and binary")]
    Wasm,
}

impl FromStr for Runtime {
    type Err = UnknownRuntime;

    /// Also takes the image names that folders of seed 003 carry.
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
