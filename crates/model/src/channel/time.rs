//! Parses times of a channel: ISO 8601 in UTC or with an offset, and the seed's own
//! `2019-09-2T4:39:04Z`.

use crate::Timestamp;

use super::semver::is_number;

/// Month, day, hour, minute and second may lack their leading zero, as in the seed. Otherwise the
/// text must be ISO 8601 with a four-digit year and an offset.
pub(super) fn parse(text: &str) -> Option<Timestamp> {
    if text.len() > 64 || !text.is_ascii() {
        return None;
    }
    let (date, rest) = text.split_once(['T', 't'])?;
    let zone_at = rest.find(['Z', 'z', '+', '-'])?;
    let (clock, zone) = rest.split_at(zone_at);
    let (clock, fraction) = match clock.split_once('.') {
        Some((clock, fraction)) if is_number(fraction) => (clock, format!(".{fraction}")),
        Some(_) => return None,
        None => (clock, String::new()),
    };
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(clock, ':')?;
    // A named zone after the offset could contradict it.
    let plain_zone = zone[1..].bytes().all(|byte| byte.is_ascii_digit() || byte == b':');
    if year.len() != 4 || !plain_zone {
        return None;
    }
    let padded = format!("{year}-{month:0>2}-{day:0>2}T{hour:0>2}:{minute:0>2}:{second:0>2}{fraction}{zone}");
    padded.parse().ok()
}

fn numbers(text: &str, separator: char) -> Option<[&str; 3]> {
    let mut parts = text.split(separator);
    let numbers = [parts.next()?, parts.next()?, parts.next()?];
    (parts.next().is_none() && numbers.iter().all(|number| is_number(number))).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_iso_8601_and_the_seeds_times() {
        for (text, meant) in [
            ("2019-09-12T17:39:04Z", "2019-09-12T17:39:04Z"),
            ("2019-09-2T4:39:04Z", "2019-09-02T04:39:04Z"),
            ("2019-09-1T23:39:04Z", "2019-09-01T23:39:04Z"),
            ("2026-11-16T02:37:00.125Z", "2026-11-16T02:37:00.125Z"),
            ("2026-11-16T02:37:00+01:00", "2026-11-16T01:37:00Z"),
            ("2026-11-16t2:7:0z", "2026-11-16T02:07:00Z"),
        ] {
            assert_eq!(parse(text).expect(text).to_string(), meant, "{text}");
        }
    }

    #[test]
    fn rejects_texts_that_are_not_an_exact_time() {
        for text in [
            "",
            "yesterday",
            "2019-09-12",
            "2019-09-12T17:39:04",
            "2019-09-12 17:39:04Z",
            "19-09-12T17:39:04Z",
            "2019-13-12T17:39:04Z",
            "2019-02-30T17:39:04Z",
            "2019-09-12T25:39:04Z",
            "2019-09-12T17:39Z",
            "2019-09-12T17:39:04.Z",
            "2019-09-12T17:39:04Zulu",
            "2019-09-012T17:39:04Z",
            "-2019-09-12T17:39:04Z",
            "2019-09-12T17:39:04Z[Europe/Berlin]",
            "２019-09-12T17:39:04Z",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
