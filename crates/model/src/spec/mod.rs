//! The content of versions, one type per unit kind. Fields with their default value are left out of
//! the JSON, which keeps digests stable when a later Milepost adds a field.

mod config;
mod environment;
mod function;
mod package;
mod reference;
mod route;
mod secret;
mod static_item;
mod timer;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use utoipa::ToSchema;

pub use config::ConfigSpec;
pub use environment::{BUILT_IN_ENVIRONMENTS, EnvironmentSpec, Runtime, STDIO, UnknownRuntime};
pub use function::{DEFAULT_CPU, DEFAULT_MEMORY, DEFAULT_TIMEOUT_MS, FunctionPermission, FunctionSpec, Scale};
pub use package::PackageSpec;
pub use reference::{Pin, Target};
pub use route::RouteSpec;
pub use secret::SecretSpec;
pub use static_item::{DEFAULT_INDEX, StaticSpec};
pub use timer::TimerSpec;

use crate::canonical;
use crate::digest::Digest;
use crate::kind::UnitKind;

/// The content of one version.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum UnitSpec {
    Environment(EnvironmentSpec),
    Secret(SecretSpec),
    Config(ConfigSpec),
    Package(PackageSpec),
    Function(FunctionSpec),
    Static(StaticSpec),
    Route(RouteSpec),
    Timer(TimerSpec),
}

impl UnitSpec {
    pub fn kind(&self) -> UnitKind {
        match self {
            Self::Environment(_) => UnitKind::Environment,
            Self::Secret(_) => UnitKind::Secret,
            Self::Config(_) => UnitKind::Config,
            Self::Package(_) => UnitKind::Package,
            Self::Function(_) => UnitKind::Function,
            Self::Static(_) => UnitKind::Static,
            Self::Route(_) => UnitKind::Route,
            Self::Timer(_) => UnitKind::Timer,
        }
    }

    /// Parses a stored spec. The kind is stored separately and never guessed from the fields.
    pub fn from_json(kind: UnitKind, json: &str) -> Result<Self, serde_json::Error> {
        fn read<T: DeserializeOwned>(json: &str) -> Result<T, serde_json::Error> {
            serde_json::from_str(json)
        }
        Ok(match kind {
            UnitKind::Environment => Self::Environment(read(json)?),
            UnitKind::Secret => Self::Secret(read(json)?),
            UnitKind::Config => Self::Config(read(json)?),
            UnitKind::Package => Self::Package(read(json)?),
            UnitKind::Function => Self::Function(read(json)?),
            UnitKind::Static => Self::Static(read(json)?),
            UnitKind::Route => Self::Route(read(json)?),
            UnitKind::Timer => Self::Timer(read(json)?),
        })
    }

    /// The part that determines behaviour: everything except the numbers of pinned versions, whose
    /// digests are included.
    pub fn behaviour(&self) -> Value {
        let mut spec = self.clone();
        for pin in spec.pins_mut() {
            pin.number = None;
        }
        // The log only describes the build. The behaviour is in the trees.
        if let Self::Package(package) = &mut spec {
            package.build_log = None;
        }
        serde_json::to_value(&spec).unwrap_or_default()
    }

    pub fn digest(&self) -> Digest {
        canonical::content_digest(self.kind(), &self.behaviour())
    }

    /// The versions that this one is pinned to, with their roles.
    pub fn pins(&self) -> Vec<(PinRole, &Pin)> {
        match self {
            Self::Package(package) => vec![(PinRole::Environment, &package.environment)],
            Self::Function(function) => {
                vec![(PinRole::Package, &function.package), (PinRole::Environment, &function.environment)]
            }
            Self::Route(RouteSpec { target, .. }) | Self::Timer(TimerSpec { target, .. }) => {
                target.version.iter().map(|pin| (PinRole::Target, pin)).collect()
            }
            Self::Environment(_) | Self::Secret(_) | Self::Config(_) | Self::Static(_) => Vec::new(),
        }
    }

    pub fn pins_mut(&mut self) -> Vec<&mut Pin> {
        match self {
            Self::Package(package) => vec![&mut package.environment],
            Self::Function(function) => vec![&mut function.package, &mut function.environment],
            Self::Route(RouteSpec { target, .. }) | Self::Timer(TimerSpec { target, .. }) => {
                target.version.iter_mut().collect()
            }
            Self::Environment(_) | Self::Secret(_) | Self::Config(_) | Self::Static(_) => Vec::new(),
        }
    }

    /// The trees and files that this content refers to.
    pub fn blobs(&self) -> Vec<Digest> {
        match self {
            Self::Package(package) => {
                [package.source, package.deployment, package.build_log].into_iter().flatten().collect()
            }
            Self::Static(item) => vec![item.tree],
            _ => Vec::new(),
        }
    }

    pub fn target(&self) -> Option<&Target> {
        match self {
            Self::Route(route) => Some(&route.target),
            Self::Timer(timer) => Some(&timer.target),
            _ => None,
        }
    }
}

/// The role of a pinned version in the version that pins it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PinRole {
    Package,
    Environment,
    /// The function version that a route or a timer starts.
    Target,
}

impl PinRole {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Package => "package",
            Self::Environment => "environment",
            Self::Target => "target",
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not the role of a pinned version")]
pub struct UnknownPinRole(String);

impl std::str::FromStr for PinRole {
    type Err = UnknownPinRole;

    fn from_str(text: &str) -> Result<Self, UnknownPinRole> {
        let roles = [Self::Package, Self::Environment, Self::Target];
        roles.into_iter().find(|role| role.as_str() == text).ok_or_else(|| UnknownPinRole(text.to_owned()))
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
