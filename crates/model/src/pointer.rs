//! Pointers: named, movable, with a history of every move.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::clock::Timestamp;
use crate::name::{AliasName, UnitName};
use crate::split::Arm;

/// An alias of a function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Alias {
    pub name: AliasName,
    pub function: UnitName,
    /// The version it points at.
    pub number: i64,
    pub version: String,
    pub label: Option<crate::name::Label>,
    #[schema(value_type = String, format = DateTime)]
    pub moved_at: Timestamp,
    pub moved_by: String,
}

/// One move of a pointer. An alias points at a version number; a tag, live and latest point at a
/// release id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PointerMove {
    pub from: Option<String>,
    /// None if the pointer was deleted.
    pub to: Option<String>,
    pub by: String,
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    pub why: String,
    /// What stood beside live afterwards, while a rollout was open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub split: Vec<Arm>,
}

/// The direction of a move. Rollbacks walk back over the moves and skip those already undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Forward,
    Back,
}

/// Returns where a rollback leads: the target before the current one, on the path that the moves
/// describe. A second rollback goes further back instead of undoing the first.
pub fn rollback_target<T: Clone + PartialEq>(moves: &[(T, Step)]) -> Option<T> {
    rollback_targets(moves).into_iter().next()
}

/// Returns where a rollback leads, then where a second one would, and so on.
pub fn rollback_targets<T: Clone + PartialEq>(moves: &[(T, Step)]) -> Vec<T> {
    let mut path: Vec<T> = Vec::new();
    for (to, step) in moves {
        match step {
            Step::Forward => {
                if path.last() != Some(to) {
                    path.push(to.clone());
                }
            }
            Step::Back => match path.iter().rposition(|earlier| earlier == to) {
                Some(at) => path.truncate(at + 1),
                None => path.push(to.clone()),
            },
        }
    }
    path.pop();
    path.reverse();
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_rollback_goes_further_back() {
        use Step::{Back, Forward};
        assert_eq!(rollback_target(&[(1, Forward), (2, Forward), (3, Forward)]), Some(2));
        assert_eq!(rollback_target(&[(1, Forward), (2, Forward), (3, Forward), (2, Back)]), Some(1));
        assert_eq!(rollback_target(&[(1, Forward), (2, Forward), (1, Back)]), None);
        assert_eq!(rollback_target(&[(1, Forward), (2, Forward), (1, Back), (4, Forward)]), Some(1));
        assert_eq!(rollback_target::<i32>(&[]), None);
        assert_eq!(rollback_targets(&[(1, Forward), (2, Forward), (3, Forward), (4, Forward), (3, Back)]), [2, 1]);
    }
}
