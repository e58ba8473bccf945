use std::sync::Arc;

use super::{BUCKETS, Salt, SplitError};

/// Marks a bucket that no arm has, while a table is made.
const FREE: u8 = u8::MAX;
/// The index of the base.
const BASE: usize = 0;

/// The arm of each bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table(Arc<[u8]>);

impl Table {
    /// The arms after the base take their buckets in the salt's order; the base has the rest.
    pub(super) fn new(salt: &Salt, wanted: &[usize]) -> Self {
        Self(give_out(&salt.order(), vec![FREE; BUCKETS], wanted))
    }

    pub(super) fn arm_of(&self, bucket: u16) -> usize {
        usize::from(self.0[usize::from(bucket) % BUCKETS])
    }

    /// Moves as few buckets as possible. `successors` has, for each arm of this table, its index in
    /// the new one.
    ///
    /// An arm shrinks from the end of the salt's order and the base from its beginning, which is
    /// where arms grow: of two arms the candidate always has the first buckets of the order.
    pub(super) fn transfer(&self, salt: &Salt, successors: &[Option<usize>], wanted: &[usize]) -> Self {
        let order = salt.order();
        let kept = |arm: &u8| successors[usize::from(*arm)].map_or(FREE, |arm| arm as u8);
        let mut arms: Vec<u8> = self.0.iter().map(kept).collect();
        for (arm, wanted) in wanted.iter().enumerate() {
            let held: Vec<u16> =
                order.iter().copied().filter(|bucket| usize::from(arms[usize::from(*bucket)]) == arm).collect();
            let surplus = held.len().saturating_sub(*wanted);
            let released = if arm == BASE { &held[..surplus] } else { &held[held.len() - surplus..] };
            for bucket in released {
                arms[usize::from(*bucket)] = FREE;
            }
        }
        Self(give_out(&order, arms, wanted))
    }

    /// The arms in the salt's order, as runs of an arm and a length: two runs for two arms.
    pub(super) fn runs(&self, salt: &Salt) -> Vec<(u8, u16)> {
        let mut runs: Vec<(u8, u16)> = Vec::new();
        for bucket in salt.order() {
            let arm = self.0[usize::from(bucket)];
            match runs.last_mut() {
                Some((last, length)) if *last == arm => *length += 1,
                _ => runs.push((arm, 1)),
            }
        }
        runs
    }

    pub(super) fn from_runs(salt: &Salt, runs: &[(u8, u16)], wanted: &[usize]) -> Result<Self, SplitError> {
        let mut arms = vec![FREE; BUCKETS];
        let mut held = vec![0; wanted.len()];
        let order = salt.order();
        let mut places = order.iter();
        for (arm, length) in runs {
            *held.get_mut(usize::from(*arm)).ok_or(SplitError::Table)? += usize::from(*length);
            for _ in 0..*length {
                let bucket = places.next().ok_or(SplitError::Table)?;
                arms[usize::from(*bucket)] = *arm;
            }
        }
        if held != wanted {
            return Err(SplitError::Table);
        }
        Ok(Self(arms.into()))
    }
}

/// Gives the free buckets to the arms that lack some, the base last.
fn give_out(order: &[u16], mut arms: Vec<u8>, wanted: &[usize]) -> Arc<[u8]> {
    let mut held = vec![0; wanted.len()];
    for arm in arms.iter().filter(|arm| **arm != FREE) {
        held[usize::from(*arm)] += 1;
    }
    let mut free =
        order.iter().filter(|bucket| arms[usize::from(**bucket)] == FREE).copied().collect::<Vec<_>>().into_iter();
    for arm in (BASE + 1..wanted.len()).chain([BASE]) {
        for bucket in free.by_ref().take(wanted[arm] - held[arm]) {
            arms[usize::from(bucket)] = arm as u8;
        }
    }
    arms.into()
}
