//! Properties of all versions, and agreement with the `semver` crate where it applies.

use std::cmp::Ordering;

use jiff::Timestamp;
use proptest::prelude::*;

use super::super::{SemVer, cmp_channel};
use super::version;

fn number() -> impl Strategy<Value = String> {
    prop_oneof![4 => "0|[1-9]", 2 => "[1-9][0-9]{0,3}", 1 => "[1-9][0-9]{15,30}"]
}

/// Deliberately similar identifiers, so that comparisons are decided late.
fn pre() -> impl Strategy<Value = String> {
    let identifier = prop_oneof!["0|[1-9][0-9]{0,2}", "[a-b]{1,2}", "[0-9]{0,2}[A-Za-z-][0-9A-Za-z-]{0,3}"];
    prop::collection::vec(identifier, 1..4).prop_map(|list| list.join("."))
}

fn build() -> impl Strategy<Value = String> {
    prop::collection::vec("[0-9]{1,3}|[a-b]{1,2}|[0-9A-Za-z-]{1,4}", 1..4).prop_map(|list| list.join("."))
}

fn text() -> impl Strategy<Value = String> {
    (number(), number(), number(), prop::option::of(pre()), prop::option::of(build())).prop_map(
        |(major, minor, patch, pre, build)| {
            let pre = pre.map_or(String::new(), |pre| format!("-{pre}"));
            let build = build.map_or(String::new(), |build| format!("+{build}"));
            format!("{major}.{minor}.{patch}{pre}{build}")
        },
    )
}

fn time() -> impl Strategy<Value = Timestamp> {
    (0_i64..3).prop_map(|second| Timestamp::from_second(second).expect("in range"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn versions_round_trip(text in text()) {
        let parsed = version(&text);
        prop_assert_eq!(parsed.to_string(), text.clone());
        let json = serde_json::to_string(&parsed).expect("json");
        prop_assert_eq!(serde_json::from_str::<SemVer>(&json).expect("a version"), parsed);
    }

    #[test]
    fn every_suggested_fix_is_valid(text in "[v0-9.+a-c_ -]{0,12}|.{0,8}") {
        match text.parse::<SemVer>() {
            Ok(parsed) => prop_assert_eq!(parsed.as_str(), text),
            Err(error) => {
                if let Some(meant) = error.meant {
                    prop_assert!(meant.parse::<SemVer>().is_ok(), "{} for {}", meant, text);
                }
            }
        }
    }

    #[test]
    fn precedence_is_a_total_preorder(a in text(), b in text(), c in text()) {
        let (a, b, c) = (version(&a), version(&b), version(&c));
        prop_assert_eq!(a.cmp_precedence(&a), Ordering::Equal);
        prop_assert_eq!(a.cmp_precedence(&b), b.cmp_precedence(&a).reverse());
        if a.cmp_precedence(&b).is_le() && b.cmp_precedence(&c).is_le() {
            prop_assert!(a.cmp_precedence(&c).is_le());
        }
    }

    #[test]
    fn the_channel_order_is_total_and_refines_precedence(
        a in (text(), time()), b in (text(), time()), c in (text(), time()),
    ) {
        let [a, b, c] = [a, b, c].map(|(text, time)| (version(&text), time));
        let order = |x: &(SemVer, Timestamp), y: &(SemVer, Timestamp)| cmp_channel((&x.0, x.1), (&y.0, y.1));
        prop_assert_eq!(order(&a, &b), order(&b, &a).reverse());
        prop_assert_eq!(order(&a, &b) == Ordering::Equal, a == b);
        if order(&a, &b).is_le() && order(&b, &c).is_le() {
            prop_assert!(order(&a, &c).is_le());
        }
        let precedence = a.0.cmp_precedence(&b.0);
        prop_assert!(precedence.is_eq() || precedence == order(&a, &b));
    }

    /// Versions that differ only in their builds, where comparisons are decided late and leading
    /// zeros cause ties.
    #[test]
    fn the_order_of_builds_is_transitive(
        builds in prop::collection::vec((prop::option::of("[0-1]{1,3}|[0-1]{1,2}\\.[0-1]|a"), time()), 3),
    ) {
        let with_build = |build: &Option<String>| {
            version(&build.as_ref().map_or("1.0.0".to_owned(), |build| format!("1.0.0+{build}")))
        };
        let all: Vec<(SemVer, Timestamp)> = builds.iter().map(|(build, time)| (with_build(build), *time)).collect();
        let order = |x: usize, y: usize| cmp_channel((&all[x].0, all[x].1), (&all[y].0, all[y].1));
        prop_assert_eq!(order(0, 1), order(1, 0).reverse());
        if order(0, 1).is_le() && order(1, 2).is_le() {
            prop_assert!(order(0, 2).is_le());
        }
    }

    #[test]
    fn the_order_agrees_with_the_semver_crate(a in text(), b in text()) {
        let (ours, other) = (version(&a), version(&b));
        if let (Ok(theirs), Ok(their_other)) = (semver::Version::parse(&a), semver::Version::parse(&b)) {
            prop_assert_eq!(ours.cmp_precedence(&other), theirs.cmp_precedence(&their_other));
            // The crate's own order also compares builds, and ranks leading zeros higher where we
            // compare times.
            let zero = |text: &str| text.split(['+', '.']).any(|part| part.len() > 1 && part.starts_with('0'));
            if !zero(&a) && !zero(&b) && a != b {
                let time = Timestamp::UNIX_EPOCH;
                prop_assert_eq!(cmp_channel((&ours, time), (&other, time)), theirs.cmp(&their_other));
            }
        }
    }

    #[test]
    fn the_syntax_agrees_with_the_semver_crate(
        text in "[0-9]{1,2}\\.[0-9]{1,2}\\.[0-9]{1,2}[-+.0-9ab_]{0,8}",
    ) {
        prop_assert_eq!(text.parse::<SemVer>().is_ok(), semver::Version::parse(&text).is_ok(), "{}", text);
    }

    #[test]
    fn tags_round_trip(text in text()) {
        let parsed = version(&text);
        if let Ok(tag) = parsed.to_tag() {
            let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
            prop_assert!(tag.len() <= 128 && tag.bytes().all(legal));
            prop_assert_eq!(SemVer::from_tag(&tag).expect("a version"), parsed);
        }
    }
}
