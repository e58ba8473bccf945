use std::collections::BTreeSet;

use proptest::collection::btree_set;
use proptest::prelude::*;

use crate::split::{BUCKETS, BucketSet, NotASet};

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn behaves_as_a_set_of_numbers(
        a in btree_set(0..BUCKETS as u16, 0..900),
        b in btree_set(0..BUCKETS as u16, 0..900),
    ) {
        let (left, right): (BucketSet, BucketSet) = (a.iter().copied().collect(), b.iter().copied().collect());
        let list = |set: &BucketSet| set.iter().collect::<BTreeSet<u16>>();
        prop_assert_eq!(list(&left.without(&right)), &a - &b);
        prop_assert_eq!(list(&left.and(&right)), &a & &b);
        let mut both = left.clone();
        both.add(&right);
        prop_assert_eq!(list(&both), &a | &b);
        prop_assert_eq!(both.len() as usize, (&a | &b).len());
        prop_assert_eq!(left.is_empty(), a.is_empty());
        for set in [left, right, both] {
            let bytes = set.to_bytes();
            prop_assert!(bytes.len() <= 1 + BUCKETS.div_ceil(64) * 8);
            prop_assert_eq!(BucketSet::from_bytes(&bytes), Ok(set));
        }
    }
}

#[test]
fn refuses_bytes_that_are_no_set() {
    let full: BucketSet = (0..BUCKETS as u16).collect();
    let mut beyond = full.to_bytes();
    *beyond.last_mut().expect("bytes") = 0xff;
    for bytes in [&[][..], &[2], &[1, 0], &[1, 0x10, 0x27], &[0; 9], &beyond] {
        assert_eq!(BucketSet::from_bytes(bytes), Err(NotASet), "{bytes:?}");
    }
    let mut set = BucketSet::default();
    set.insert(10_000);
    assert!(set.is_empty() && !set.contains(10_000) && !full.contains(10_000));
}
