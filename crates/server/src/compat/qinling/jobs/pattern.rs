//! Job patterns in croniter's syntax: five fields in UTC, an optional sixth **at the end** for
//! seconds, and nicknames such as `@hourly`. The catalog puts the seconds first.

use milepost_model::schedule::Schedule;

use crate::compat::qinling::fault::{Fault, V1Result};

/// Converts a pattern to the catalog's syntax, and parses its schedule.
pub(super) fn read(pattern: &str) -> V1Result<(String, Schedule)> {
    let invalid = || Fault::bad(format!("The specified pattern is not valid: {pattern}"));
    let ours = rotate(pattern, Seconds::ToFront).ok_or_else(invalid)?;
    let schedule = Schedule::parse(&ours, "").map_err(|_| invalid())?;
    Ok((ours, schedule))
}

/// Converts a pattern of the catalog to the v1 syntax.
pub(super) fn show(cron: &str) -> String {
    rotate(cron, Seconds::ToBack).unwrap_or_else(|| cron.to_owned())
}

enum Seconds {
    ToFront,
    ToBack,
}

/// Returns `None` for a pattern that croniter does not support.
fn rotate(pattern: &str, seconds: Seconds) -> Option<String> {
    let mut fields: Vec<&str> = pattern.split_whitespace().collect();
    match fields.len() {
        1 if fields[0].starts_with('@') => {}
        5 => {}
        6 => match seconds {
            Seconds::ToFront => fields.rotate_right(1),
            Seconds::ToBack => fields.rotate_left(1),
        },
        _ => return None,
    }
    Some(fields.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_the_last_field() {
        let (cron, schedule) = read("*/10 3 * * * 30").expect("a pattern");
        assert_eq!((cron.as_str(), show(&cron).as_str()), ("30 */10 3 * * *", "*/10 3 * * * 30"));
        let first = schedule.next_after("2026-11-18T03:11:00Z".parse().expect("a time"));
        assert_eq!(first, "2026-11-18T03:20:30Z".parse().ok());
        assert!(read("@hourly").is_ok() && read("@Midnight").is_ok() && read(" 0  3 * * * ").is_ok());
        for wrong in ["", "@every 5m", "@reboot", "* * * *", "* * * * * * *", "0 0 31 2 *", "* * * * * 61"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
