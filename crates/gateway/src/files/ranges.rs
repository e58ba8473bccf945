//! The `Range` header (RFC 9110, section 14).

use std::ops::Range;

/// Legitimate clients do not request more parts than this.
const MOST_PARTS: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ranges {
    /// The whole file: no range was requested, or one that may be ignored.
    Whole,
    One(Range<u64>),
    Several(Vec<Range<u64>>),
    Unsatisfiable,
}

/// Parses a header for a file of `size` bytes. Malformed, excessive and non-byte ranges are
/// ignored.
pub(crate) fn parse(header: &[u8], size: u64) -> Ranges {
    let Some(specs) = std::str::from_utf8(header).ok().and_then(strip_unit) else { return Ranges::Whole };
    let mut found = Vec::new();
    let mut count = 0;
    for spec in specs.split(',').map(|spec| spec.trim_matches([' ', '\t'])).filter(|spec| !spec.is_empty()) {
        count += 1;
        if count > MOST_PARTS {
            return Ranges::Whole;
        }
        match one(spec, size) {
            Spec::Malformed => return Ranges::Whole,
            Spec::Outside => {}
            Spec::Inside(range) => found.push(range),
        }
    }
    // A suffix range of an empty file is satisfiable, but cannot be expressed as a range.
    if found.iter().any(|range| range.is_empty()) {
        return Ranges::Whole;
    }
    match found.len() {
        _ if count == 0 => Ranges::Whole,
        0 => Ranges::Unsatisfiable,
        1 => Ranges::One(found.swap_remove(0)),
        _ if found.iter().map(|range| range.end - range.start).sum::<u64>() > size => Ranges::Whole,
        _ => Ranges::Several(found),
    }
}

fn strip_unit(text: &str) -> Option<&str> {
    let (unit, specs) = text.split_once('=')?;
    unit.trim().eq_ignore_ascii_case("bytes").then_some(specs)
}

enum Spec {
    Malformed,
    Outside,
    Inside(Range<u64>),
}

fn one(spec: &str, size: u64) -> Spec {
    let Some((first, last)) = spec.split_once('-') else { return Spec::Malformed };
    match (number(first), number(last)) {
        (Some(first), None) if last.is_empty() && first < size => Spec::Inside(first..size),
        (Some(_), None) if last.is_empty() => Spec::Outside,
        (Some(first), Some(last)) if first > last => Spec::Malformed,
        (Some(first), Some(last)) if first < size => Spec::Inside(first..last.saturating_add(1).min(size)),
        (Some(_), Some(_)) => Spec::Outside,
        (None, Some(0)) if first.is_empty() => Spec::Outside,
        (None, Some(length)) if first.is_empty() => Spec::Inside(size.saturating_sub(length)..size),
        _ => Spec::Malformed,
    }
}

/// Accepts digits only. A number that overflows is a position beyond every file.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parses_ranges_per_rfc_9110() {
        let one = |range| Ranges::One(range);
        for (header, size, expected) in [
            ("bytes=0-9", 100, one(0..10)),
            ("Bytes = 0-9", 100, one(0..10)),
            ("bytes=90-", 100, one(90..100)),
            ("bytes=-10", 100, one(90..100)),
            ("bytes=-1000", 100, one(0..100)),
            ("bytes=0-1000", 100, one(0..100)),
            ("bytes=99-99", 100, one(99..100)),
            ("bytes=100-", 100, Ranges::Unsatisfiable),
            ("bytes=100-200", 100, Ranges::Unsatisfiable),
            ("bytes=-0", 100, Ranges::Unsatisfiable),
            ("bytes=0-", 0, Ranges::Unsatisfiable),
            ("bytes=-5", 0, Ranges::Whole),
            ("bytes=99999999999999999999-", 100, Ranges::Unsatisfiable),
            ("bytes=0-99999999999999999999", 100, one(0..100)),
            ("bytes=5-4", 100, Ranges::Whole),
            ("bytes=", 100, Ranges::Whole),
            ("bytes=,", 100, Ranges::Whole),
            ("bytes=a-b", 100, Ranges::Whole),
            ("bytes=-", 100, Ranges::Whole),
            ("bytes=1", 100, Ranges::Whole),
            ("bytes=+1-2", 100, Ranges::Whole),
            ("bytes=0-0,x", 100, Ranges::Whole),
            ("lines=0-9", 100, Ranges::Whole),
            ("0-9", 100, Ranges::Whole),
            ("bytes=0-0, 5-6 ,-1", 100, Ranges::Several(vec![0..1, 5..7, 99..100])),
            ("bytes=0-0,200-300", 100, one(0..1)),
            ("bytes=200-,300-", 100, Ranges::Unsatisfiable),
            ("bytes=0-,0-", 100, Ranges::Whole),
            ("bytes=0-49,50-99", 100, Ranges::Several(vec![0..50, 50..100])),
        ] {
            assert_eq!(parse(header.as_bytes(), size), expected, "{header} of {size}");
        }
        let many = format!("bytes={}", vec!["0-0"; 17].join(","));
        assert_eq!(parse(many.as_bytes(), 100), Ranges::Whole);
    }

    proptest! {
        #[test]
        fn ranges_stay_within_the_file(header in "bytes=[0-9,-]{0,20}", size in 0_u64..200) {
            let ranges = match parse(header.as_bytes(), size) {
                Ranges::Whole | Ranges::Unsatisfiable => Vec::new(),
                Ranges::One(range) => vec![range],
                Ranges::Several(ranges) => ranges,
            };
            prop_assert!(ranges.iter().all(|range| range.start < range.end && range.end <= size));
            prop_assert!(ranges.iter().map(|range| range.end - range.start).sum::<u64>() <= size);
        }

        #[test]
        fn arbitrary_bytes_never_panic(header in proptest::collection::vec(any::<u8>(), 0..40), size in any::<u64>()) {
            parse(&header, size);
        }
    }
}
