//! The first three of what must always hold (`docs/decisions/018-splits.md`).

use proptest::collection::vec;
use proptest::prelude::*;

use super::{arms, release, split};
use crate::split::{Arm, Split};

fn config() -> ProptestConfig {
    // A case makes several tables of 10,000 buckets, and this is without optimisation.
    ProptestConfig { cases: 48, ..ProptestConfig::default() }
}

fn two(weight: u16) -> Vec<Arm> {
    arms(&[("base", 10_000 - weight), ("candidate", weight)])
}

fn candidate_buckets(split: &Split) -> Vec<u16> {
    split.buckets(1).iter().collect()
}

/// Weights of two to eight arms, named by distinct letters.
fn many() -> impl Strategy<Value = Vec<Arm>> {
    (Just("abcdefgh".chars().collect::<Vec<_>>()).prop_shuffle(), vec(0_u16..=10_000, 1..=7)).prop_map(
        |(names, mut cuts)| {
            cuts.sort_unstable();
            cuts.push(10_000);
            let names: Vec<String> = names.into_iter().map(String::from).collect();
            let mut before = 0;
            let weights = cuts.iter().map(|cut| cut - std::mem::replace(&mut before, *cut));
            arms(&names.iter().map(String::as_str).zip(weights).collect::<Vec<_>>())
        },
    )
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn invariant_1_same_key_and_salt_same_arm(salt: [u8; 16], keys in vec(".{0,40}", 1..50), steps in vec(many(), 1..4)) {
        let mut node = Split::new(super::Salt::from_bytes(salt), steps[0].clone()).expect("a split");
        for step in &steps[1..] {
            node = node.reweigh(step.clone(), None).expect("a split");
        }
        // Another node, or this one after a restart, reads what was stored.
        let stored = serde_json::to_string(&node).expect("JSON");
        let other: Split = serde_json::from_str(&stored).expect("a split");
        prop_assert_eq!(node.digest(), other.digest());
        for key in &keys {
            prop_assert_eq!(node.target_of(key.as_bytes()), other.target_of(key.as_bytes()));
        }
        prop_assert_eq!(&node, &other);
    }

    #[test]
    fn invariant_2_two_arms_move_exactly_the_difference(salt: [u8; 16], weights in vec(0_u16..=10_000, 2..6)) {
        let first = split(salt, &[("base", 10_000 - weights[0]), ("candidate", weights[0])]);
        let mut now = first.clone();
        for pair in weights.windows(2) {
            let next = now.reweigh(two(pair[1]), None).expect("a split");
            prop_assert_eq!(now.moved(&next), usize::from(pair[0].abs_diff(pair[1])));
            now = next;
        }
        prop_assert_eq!(now.reweigh(two(weights[0]), None).expect("a split"), first);
    }

    #[test]
    fn invariant_3_raising_never_returns_a_bucket_to_base(salt: [u8; 16], mut weights in vec(0_u16..=10_000, 2..6)) {
        weights.sort_unstable();
        let mut now = split(salt, &[("base", 10_000 - weights[0]), ("candidate", weights[0])]);
        for weight in &weights[1..] {
            let next = now.reweigh(two(*weight), None).expect("a split");
            prop_assert!(now.buckets(1).without(&next.buckets(1)).is_empty());
            now = next;
        }
        let order = now.salt().order();
        let mut first = order[..usize::from(weights[weights.len() - 1])].to_vec();
        first.sort_unstable();
        prop_assert_eq!(candidate_buckets(&now), first);
        prop_assert_eq!(now.salt().candidates(now.arms()[1].weight), now.buckets(1));
    }

    #[test]
    fn many_arms_have_their_weights_and_move_as_little_as_possible(salt: [u8; 16], from in many(), to in many()) {
        let before = Split::new(super::Salt::from_bytes(salt), from.clone()).expect("a split");
        let after = before.reweigh(to.clone(), None).expect("a split");
        for split in [&before, &after] {
            for (index, arm) in split.arms().iter().enumerate() {
                prop_assert_eq!(split.buckets(index).len(), u32::from(arm.weight.hundredths()));
            }
        }
        let weight = |arms: &[Arm], name: &str| {
            arms.iter().find(|arm| arm.target == release(name)).map_or(0, |arm| arm.weight.hundredths())
        };
        let differences: usize = "abcdefgh"
            .split("")
            .filter(|name| !name.is_empty())
            .map(|name| usize::from(weight(&from, name).abs_diff(weight(&to, name))))
            .sum();
        prop_assert_eq!(before.moved(&after), differences / 2);
        // A removed arm's buckets go to arms that grow: no arm gives while it gains.
        for arm in &to {
            let index = |split: &Split| split.arms().iter().position(|other| other.target == arm.target);
            let held = |split: &Split| index(split).map(|index| split.buckets(index)).unwrap_or_default();
            let (had, has) = (held(&before), held(&after));
            prop_assert!(had.without(&has).is_empty() || has.without(&had).is_empty());
        }
        // An immediate undo restores.
        prop_assert_eq!(after.reweigh(from, Some(&before)).expect("a split"), before);
    }
}

/// The expected share is exact for buckets; keys are spread over them by the hash.
#[test]
fn keys_are_spread_by_weight() {
    let split = split([7; 16], &[("base", 7500), ("candidate", 2500)]);
    let visitors = 100_000_u32;
    let candidate =
        (0..visitors).filter(|visitor| split.arm_of(split.salt().bucket(&visitor.to_le_bytes())) == 1).count();
    let deviation = (f64::from(visitors) * 0.25 * 0.75).sqrt();
    assert!((candidate as f64 - f64::from(visitors) * 0.25).abs() < 3.0 * deviation, "{candidate}");
}
