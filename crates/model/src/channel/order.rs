//! The orders of versions: semver's precedence, and the order of a channel, which has no ties.

use std::cmp::Ordering;

use crate::Timestamp;

use super::semver::{SemVer, is_number};

impl SemVer {
    /// Precedence as in semver 2.0, section 11. Build metadata is ignored, so different versions
    /// can be equal.
    pub fn cmp_precedence(&self, other: &Self) -> Ordering {
        numbers(self.major(), other.major())
            .then_with(|| numbers(self.minor(), other.minor()))
            .then_with(|| numbers(self.patch(), other.patch()))
            .then_with(|| match (self.is_prerelease(), other.is_prerelease()) {
                (true, true) => identifier_lists(self.pre(), other.pre()),
                // A version with a pre-release comes before one without.
                (ours, theirs) => theirs.cmp(&ours),
            })
    }
}

/// The order of a channel: precedence, then build identifiers compared like pre-release identifiers
/// (none first), then the time of publishing, then the text. Equal only for the same text at the
/// same time.
pub fn cmp_channel(a: (&SemVer, Timestamp), b: (&SemVer, Timestamp)) -> Ordering {
    let ((version, published), (other, other_published)) = (a, b);
    version
        .cmp_precedence(other)
        .then_with(|| identifier_lists(version.build(), other.build()))
        .then_with(|| published.cmp(&other_published))
        .then_with(|| version.as_str().cmp(other.as_str()))
}

/// Compares identifier by identifier; if one list is a prefix of the other, the longer one is
/// higher.
fn identifier_lists<'a>(ours: impl Iterator<Item = &'a str>, theirs: impl Iterator<Item = &'a str>) -> Ordering {
    let (mut ours, mut theirs) = (ours, theirs);
    loop {
        let order = match (ours.next(), theirs.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(ours), Some(theirs)) => identifiers(ours, theirs),
        };
        if order.is_ne() {
            return order;
        }
    }
}

fn identifiers(ours: &str, theirs: &str) -> Ordering {
    match (is_number(ours), is_number(theirs)) {
        (true, true) => numbers(ours, theirs),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => ours.cmp(theirs),
    }
}

/// Compares digits of any length by value. Leading zeros occur only in build metadata.
fn numbers(ours: &str, theirs: &str) -> Ordering {
    let (ours, theirs) = (ours.trim_start_matches('0'), theirs.trim_start_matches('0'));
    ours.len().cmp(&theirs.len()).then_with(|| ours.cmp(theirs))
}
