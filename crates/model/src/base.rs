//! The base of a change, and what the change leaves out or reverts because of it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::clock::Timestamp;
use crate::kind::UnitKind;
use crate::name::UnitName;
use crate::plan::Reason;

/// The content that a change is compared with and applied to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Base {
    /// The newest app version.
    #[default]
    Head,
    /// The app version of the live release. The new app version becomes head, and a pinned live
    /// moves to it.
    Live,
}

pub(crate) fn is_head(base: &Base) -> bool {
    *base == Base::Head
}

/// A unit of the previous head that a change on live left out: it was changed, added or removed
/// since live.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeftOut {
    pub kind: UnitKind,
    pub name: UnitName,
    /// Its version in the previous head; none if it had been removed there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<i64>,
    /// Its version in the live release; none if it was added later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<i64>,
}

/// A version that was not made by the deployment that owns the unit, and what the deployment
/// reverts in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HandEdit {
    pub kind: UnitKind,
    pub name: UnitName,
    /// The version made by hand, or the last version before the unit was removed by hand.
    pub number: i64,
    /// The unit was removed by hand, and the deployment recreates it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
    pub by: String,
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// The fields that are reverted, with the value set by hand as `before`. Empty if the unit was
    /// removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undone: Vec<Reason>,
}
