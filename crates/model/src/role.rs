//! The roles of tokens and their permissions.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Reader,
    /// May call functions, and change nothing else.
    Invoker,
    /// May move pointers (aliases, tags, live), but not change code.
    Operator,
    /// May change code and move pointers.
    Deployer,
    Admin,
}

/// The permission that a request needs. Moving a pointer and changing code are separate, so that an
/// operator can roll back without being able to deploy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    Read,
    Invoke,
    MovePointer,
    ChangeCode,
    /// Apps, tokens, plans, storage.
    Administer,
}

impl Role {
    pub const ALL: [Self; 5] = [Self::Reader, Self::Invoker, Self::Operator, Self::Deployer, Self::Admin];

    pub fn may(self, permission: Permission) -> bool {
        match permission {
            Permission::Read => true,
            Permission::Invoke => self >= Self::Invoker,
            Permission::MovePointer => self >= Self::Operator,
            Permission::ChangeCode => self >= Self::Deployer,
            Permission::Administer => self == Self::Admin,
        }
    }

    /// The lowest role that has the permission.
    pub fn least_for(permission: Permission) -> Self {
        Self::ALL.into_iter().find(|role| role.may(permission)).unwrap_or(Self::Admin)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Invoker => "invoker",
            Self::Operator => "operator",
            Self::Deployer => "deployer",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Debug, thiserror::Error)]
#[error("there is no role called `{0}`; the roles are reader, invoker, operator, deployer and admin")]
pub struct UnknownRole(String);

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        Self::ALL.into_iter().find(|role| role.as_str() == text).ok_or_else(|| UnknownRole(text.to_owned()))
    }
}
