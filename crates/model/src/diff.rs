//! The difference between two app versions.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::change::UnitKey;
use crate::kind::UnitKind;
use crate::name::UnitName;
use crate::plan::{self, Reason};
use crate::spec::UnitSpec;

/// One unit that differs between the two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnitDiff {
    pub kind: UnitKind,
    pub name: UnitName,
    pub change: UnitDiffKind,
    /// Version numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Reason>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum UnitDiffKind {
    Added,
    Changed,
    Removed,
    /// A different version with the same behaviour.
    Renumbered,
}

/// Every unit of one app version with its number and content.
pub type Contents = BTreeMap<UnitKey, (i64, UnitSpec)>;

pub fn diff(before: &Contents, after: &Contents) -> Vec<UnitDiff> {
    let mut keys: Vec<&UnitKey> = before.keys().chain(after.keys()).collect();
    keys.sort();
    keys.dedup();
    let mut found = Vec::new();
    for key in keys {
        let old = before.get(key);
        let new = after.get(key);
        let (change, reasons) = match (old, new) {
            (Some((old_number, _)), Some((new_number, _))) if old_number == new_number => continue,
            (Some((_, old)), Some((_, new))) if old.digest() == new.digest() => (UnitDiffKind::Renumbered, Vec::new()),
            (Some((_, old)), Some((_, new))) => (UnitDiffKind::Changed, plan::reasons(old, new)),
            (None, _) => (UnitDiffKind::Added, Vec::new()),
            (_, None) => (UnitDiffKind::Removed, Vec::new()),
        };
        found.push(UnitDiff {
            kind: key.kind,
            name: key.name.clone(),
            change,
            before: old.map(|(number, _)| *number),
            after: new.map(|(number, _)| *number),
            reasons,
        });
    }
    found
}
