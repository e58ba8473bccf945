//! Splits: an immutable division of callers over two to eight targets.
//!
//! A caller belongs to one of [`BUCKETS`] buckets for as long as the salt is kept, and a split gives
//! each bucket to one arm. A change of weights makes a new split with the same salt, in which as few
//! buckets as possible change their arm (`docs/decisions/018-splits.md`).

mod error;
mod json;
mod salt;
mod set;
mod table;
#[cfg(test)]
mod tests;
mod weight;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use error::SplitError;
pub use salt::Salt;
pub use set::{BucketSet, NotASet};
pub use weight::{Weight, WeightError};

use crate::canonical;
use crate::digest::Digest;
use crate::name::UnitName;
use table::Table;

/// One bucket is one hundredth of a percent, the unit of [`Weight`].
pub const BUCKETS: usize = 10_000;
pub const MIN_ARMS: usize = 2;
pub const MAX_ARMS: usize = 8;

/// What an arm leads to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
#[schema(as = ArmTarget)]
pub enum Target {
    /// A release, by its id.
    Release(String),
    Version {
        function: UnitName,
        number: i64,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Arm {
    pub target: Target,
    pub weight: Weight,
}

/// The first arm is the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    arms: Vec<Arm>,
    salt: Salt,
    table: Table,
}

impl Split {
    pub fn new(salt: Salt, arms: Vec<Arm>) -> Result<Self, SplitError> {
        check(&arms)?;
        let table = Table::new(&salt, &buckets_of(&arms));
        Ok(Self { arms, salt, table })
    }

    /// Returns the split that follows this one. `before` is the split that this one followed: going
    /// back to its arms restores its table, which a transfer between more than two arms would not.
    pub fn reweigh(&self, arms: Vec<Arm>, before: Option<&Self>) -> Result<Self, SplitError> {
        check(&arms)?;
        if let Some(before) = before.filter(|before| before.salt == self.salt && before.arms == arms) {
            return Ok(before.clone());
        }
        let successors: Vec<Option<usize>> =
            self.arms.iter().map(|old| arms.iter().position(|new| new.target == old.target)).collect();
        let table = self.table.transfer(&self.salt, &successors, &buckets_of(&arms));
        Ok(Self { arms, salt: self.salt, table })
    }

    pub fn arms(&self) -> &[Arm] {
        &self.arms
    }

    pub fn base(&self) -> &Arm {
        &self.arms[0]
    }

    pub fn salt(&self) -> &Salt {
        &self.salt
    }

    /// The index of the arm that has a bucket.
    pub fn arm_of(&self, bucket: u16) -> usize {
        self.table.arm_of(bucket)
    }

    /// The target that serves a caller.
    pub fn target_of(&self, key: &[u8]) -> &Target {
        &self.arms[self.arm_of(self.salt.bucket(key))].target
    }

    /// The buckets of an arm.
    pub fn buckets(&self, arm: usize) -> BucketSet {
        (0..BUCKETS as u16).filter(|bucket| self.arm_of(*bucket) == arm).collect()
    }

    pub fn has(&self, target: &Target) -> bool {
        self.arms.iter().any(|arm| arm.target == *target)
    }

    /// How many buckets another split gives to another target.
    pub fn moved(&self, to: &Self) -> usize {
        let target = |split: &Self, bucket| split.arms[split.arm_of(bucket)].target.clone();
        (0..BUCKETS as u16).filter(|bucket| target(self, *bucket) != target(to, *bucket)).count()
    }

    /// Equal digests mean that every caller gets the same target.
    pub fn digest(&self) -> Digest {
        Digest::of(&canonical::to_bytes(self))
    }
}

fn check(arms: &[Arm]) -> Result<(), SplitError> {
    if !(MIN_ARMS..=MAX_ARMS).contains(&arms.len()) {
        return Err(SplitError::Arms(arms.len()));
    }
    for (index, arm) in arms.iter().enumerate() {
        if arms[..index].iter().any(|earlier| earlier.target == arm.target) {
            return Err(SplitError::Twice(arm.target.clone()));
        }
    }
    let sum: u32 = arms.iter().map(|arm| u32::from(arm.weight.hundredths())).sum();
    if sum != u32::from(Weight::ALL.hundredths()) {
        return Err(SplitError::Sum(sum));
    }
    Ok(())
}

fn buckets_of(arms: &[Arm]) -> Vec<usize> {
    arms.iter().map(|arm| usize::from(arm.weight.hundredths())).collect()
}
