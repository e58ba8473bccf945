//! The strings of semver.org's own table (regex101.com/r/vkijKf), its precedence rules, and our
//! errors.

use std::cmp::Ordering;

use super::super::{SemVer, cmp_channel};
use super::{at, version};

const VALID: [&str; 31] = [
    "0.0.4",
    "1.2.3",
    "10.20.30",
    "1.1.2-prerelease+meta",
    "1.1.2+meta",
    "1.1.2+meta-valid",
    "1.0.0-alpha",
    "1.0.0-beta",
    "1.0.0-alpha.beta",
    "1.0.0-alpha.beta.1",
    "1.0.0-alpha.1",
    "1.0.0-alpha0.valid",
    "1.0.0-alpha.0valid",
    "1.0.0-alpha-a.b-c-somethinglong+build.1-aef.1-its-okay",
    "1.0.0-rc.1+build.1",
    "2.0.0-rc.1+build.123",
    "1.2.3-beta",
    "10.2.3-DEV-SNAPSHOT",
    "1.2.3-SNAPSHOT-123",
    "1.0.0",
    "2.0.0",
    "1.1.7",
    "2.0.0+build.1848",
    "2.0.1-alpha.1227",
    "1.0.0-alpha+beta",
    "1.2.3----RC-SNAPSHOT.12.9.1--.12+788",
    "1.2.3----R-S.12.9.1--.12+meta",
    "1.2.3----RC-SNAPSHOT.12.9.1--.12",
    "1.0.0+0.build.1-rc.10000aaa-kk-0.1",
    "99999999999999999999999.999999999999999999.99999999999999999",
    "1.0.0-0A.is.legal",
];

const INVALID: [&str; 40] = [
    "1",
    "1.2",
    "1.2.3-0123",
    "1.2.3-0123.0123",
    "1.1.2+.123",
    "+invalid",
    "-invalid",
    "-invalid+invalid",
    "-invalid.01",
    "alpha",
    "alpha.beta",
    "alpha.beta.1",
    "alpha.1",
    "alpha+beta",
    "alpha_beta",
    "alpha.",
    "alpha..",
    "beta",
    "1.0.0-alpha_beta",
    "-alpha.",
    "1.0.0-alpha..",
    "1.0.0-alpha..1",
    "1.0.0-alpha...1",
    "1.0.0-alpha....1",
    "1.0.0-alpha.....1",
    "1.0.0-alpha......1",
    "1.0.0-alpha.......1",
    "01.1.1",
    "1.01.1",
    "1.1.01",
    "1.2",
    "1.2.3.DEV",
    "1.2-SNAPSHOT",
    "1.2.31.2.3----RC-SNAPSHOT.12.09.1--..12+788",
    "1.2-RC-SNAPSHOT",
    "-1.0.3-gamma+b7718",
    "+justmeta",
    "9.8.7+meta+meta",
    "9.8.7-whatever+meta+meta",
    "99999999999999999999999.999999999999999999.99999999999999999----RC-SNAPSHOT.12.09.1--------------------------------..12",
];

/// Not in that table, but also invalid.
const ALSO_INVALID: [&str; 16] = [
    "",
    " ",
    "1.2.3 ",
    " 1.2.3",
    "1.2.3\n",
    "v1.2.3",
    "V1.2.3",
    "=1.2.3",
    "1.2.3-",
    "1.2.3+",
    "1.2.3-+b",
    "1..3",
    ".1.2",
    "1.2.3.4",
    "１.2.3",
    "1.2.3-bêta",
];

#[test]
fn every_valid_string_of_semver_org_round_trips() {
    for text in VALID {
        let parsed = version(text);
        assert_eq!(parsed.to_string(), text);
        let pre: Vec<&str> = parsed.pre().collect();
        let build: Vec<&str> = parsed.build().collect();
        let mut again = format!("{}.{}.{}", parsed.major(), parsed.minor(), parsed.patch());
        assert_eq!(parsed.core(), again);
        if parsed.is_prerelease() {
            again += &format!("-{}", pre.join("."));
        }
        if parsed.has_build() {
            again += &format!("+{}", build.join("."));
        }
        assert_eq!(again, text, "the parts make the whole");
    }
}

#[test]
fn rejects_every_invalid_string_of_semver_org() {
    for text in INVALID.into_iter().chain(ALSO_INVALID) {
        assert!(text.parse::<SemVer>().is_err(), "{text:?}");
    }
}

#[test]
fn errors_name_the_problem_and_a_fix() {
    for (text, said) in [
        ("", "it is empty; write three numbers, like `1.2.3`, `1.2.3-beta.1` or `1.2.3-beta+123`"),
        ("v1.2.3", "it begins with `v`, which is not a part of the version; write `1.2.3`"),
        ("1.2", "it has 2 of the three numbers; write `1.2.0`"),
        ("1", "it has 1 of the three numbers; write `1.0.0`"),
        ("v1.2", "it begins with `v`, which is not a part of the version; write `1.2.0`"),
        ("1.2-beta", "it has 2 of the three numbers; write `1.2.0-beta`"),
        ("1.2.3.4", "it has more than three numbers; write three numbers, like"),
        ("01.2.3", "`01` has a zero in front; write `1.2.3`"),
        ("1.2.3-beta.01", "`01` has a zero in front; write `1.2.3-beta.1`"),
        ("1.2.3-", "an identifier of the pre-release is empty; write `1.2.3`"),
        ("1.2.3-beta..1", "an identifier of the pre-release is empty; write `1.2.3-beta.1`"),
        ("1.2.3+", "an identifier of the build metadata is empty; write `1.2.3`"),
        ("1.2.3-a_b", "`_` is not allowed in the pre-release, only letters, digits, `-` and `.`; write three"),
        ("1.2.3+a+b", "`+` is not allowed in the build metadata"),
        ("1.2.x", "`x` is not a number; write three numbers"),
        ("1..3", "a number is missing between the dots; write three"),
        (" 1.2.3\n", "there is space around it; write `1.2.3`"),
        ("+justmeta", "it has 0 of the three numbers"),
    ] {
        let error = text.parse::<SemVer>().expect_err(text).to_string();
        let expected = format!("`{text}` is not a semantic version: {said}");
        assert!(error.starts_with(&expected), "{error}\n  expected {expected}");
    }
}

#[test]
fn the_error_for_a_very_long_text_is_short() {
    let error = format!("1.2.{}", "x".repeat(100_000)).parse::<SemVer>().expect_err("letters");
    assert!(error.to_string().len() < 400, "{}", error.to_string().len());
    let long = format!("1.2.{}", "9".repeat(100_000));
    assert_eq!(version(&long).to_string(), long);
}

/// Each list is strictly ascending by section 11 of the specification.
const RISING: [&[&str]; 6] = [
    &["1.0.0", "2.0.0", "2.1.0", "2.1.1"],
    &["1.0.0-alpha", "1.0.0"],
    &[
        "1.0.0-alpha",
        "1.0.0-alpha.1",
        "1.0.0-alpha.beta",
        "1.0.0-beta",
        "1.0.0-beta.2",
        "1.0.0-beta.11",
        "1.0.0-rc.1",
        "1.0.0",
    ],
    &["0.9.9", "0.10.0", "0.10.10", "1.0.0-0", "1.0.0-9", "1.0.0-10", "1.0.0--", "1.0.0-A", "1.0.0-a", "1.0.0-a.0"],
    &["99999999999999999999998.0.0", "99999999999999999999999.0.0", "100000000000000000000000.0.0"],
    &["1.0.0-99999999999999999999", "1.0.0-100000000000000000000", "1.0.0-99999999999999999999a"],
];

#[test]
fn precedence_follows_the_specification() {
    for list in RISING {
        for (at, low) in list.iter().enumerate() {
            for (other, high) in list.iter().enumerate() {
                assert_eq!(version(low).cmp_precedence(&version(high)), at.cmp(&other), "{low} and {high}");
            }
        }
    }
}

#[test]
fn build_metadata_does_not_affect_precedence() {
    for (a, b) in [("1.0.0+a", "1.0.0"), ("1.0.0+a", "1.0.0+b"), ("1.0.0-beta+1", "1.0.0-beta+2")] {
        assert_eq!(version(a).cmp_precedence(&version(b)), Ordering::Equal);
        assert_ne!(version(a), version(b));
    }
}

#[test]
fn the_channel_order_compares_builds_then_times() {
    let (early, late) = (at("2026-01-01T00:00:00Z"), at("2026-01-02T00:00:00Z"));
    let rising = [
        ("1.2.3-beta", late),
        ("1.2.3-beta+0", late),
        ("1.2.3-beta+9", late),
        ("1.2.3-beta+10", early),
        ("1.2.3-beta+10.1", early),
        ("1.2.3-beta+a", early),
        ("1.2.3-beta+a.b", early),
        ("1.2.3", early),
        // Equal as numbers, so the time decides, then the text.
        ("1.2.4+07", early),
        ("1.2.4+7", early),
        ("1.2.4+007", late),
    ];
    for (position, (low, low_time)) in rising.iter().enumerate() {
        for (other, (high, high_time)) in rising.iter().enumerate() {
            let order = cmp_channel((&version(low), *low_time), (&version(high), *high_time));
            assert_eq!(order, position.cmp(&other), "{low} and {high}");
        }
    }
}

#[test]
fn tags_use_an_underscore_and_round_trip() {
    for (text, tag) in [("1.2.3", "1.2.3"), ("1.2.3-beta+123", "1.2.3-beta_123"), ("1.0.0+a.b-c", "1.0.0_a.b-c")] {
        assert_eq!(version(text).to_tag().expect("a tag"), tag);
        assert_eq!(SemVer::from_tag(tag).expect("a version"), version(text));
    }
    for tag in ["latest", "1.2.3+1", "1.2.3_a_b", "v1.2.3", ""] {
        assert!(SemVer::from_tag(tag).is_err(), "{tag}");
    }
    let long = version(&format!("1.2.3+{}", "a".repeat(122)));
    assert_eq!(long.to_tag().expect("128 letters").len(), 128);
    let longer = version(&format!("1.2.3+{}", "a".repeat(123)));
    let error = longer.to_tag().expect_err("129 letters").to_string();
    assert!(error.contains("it has 129 letters, and a tag has at most 128"), "{error}");
}
