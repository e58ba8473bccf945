//! Parses schedules, with errors that name the invalid field.

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::SignedDuration;
use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::fields::Fields;
use super::{Rhythm, Schedule};
use crate::unit_put::SpecError;

/// Longer intervals are probably mistakes: an event rarer than once a year has a date.
const LONGEST_EVERY: SignedDuration = SignedDuration::from_hours(366 * 24);
const LONGEST_TEXT: usize = 255;
const NICKNAMES: [(&str, &str); 7] = [
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
];
const MONTHS: [&str; 12] = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// For each field, the name of one value and a hint with the accepted syntax.
const FIELDS: [(&str, &str); 6] = [
    ("a second", "seconds are 0 to 59, as in `0`, `0,30` or `*/10`"),
    ("a minute", "minutes are 0 to 59, as in `0`, `0,30`, `10-20` or `*/15`"),
    ("an hour", "hours are 0 to 23, as in `3`, `8,20`, `8-18` or `*/2`"),
    (
        "a day of the month",
        "days are 1 to 31, as in `1`, `1,15`, `L` for the last or `15W` for the working day nearest to the 15th",
    ),
    ("a month", "months are 1 to 12 or JAN to DEC, as in `1`, `JAN,JUL` or `*/3`"),
    (
        "a weekday",
        "weekdays are SUN to SAT or 0 to 7, as in `MON`, `MON-FRI`, `MON#2` for the second or `FRIL` for the last",
    ),
];
const DAY: usize = 3;
const MONTH: usize = 4;
const WEEKDAY: usize = 5;

impl Schedule {
    /// `zone` is a name from the time zone database; empty means UTC. The error names the field
    /// `cron` or `zone`.
    pub fn parse(text: &str, zone: &str) -> Result<Self, SpecError> {
        let rhythm = rhythm(text.trim()).map_err(|(problem, hint)| SpecError::new("cron", problem, hint))?;
        Ok(Self { rhythm, zone: find_zone(zone)? })
    }
}

fn find_zone(name: &str) -> Result<TimeZone, SpecError> {
    if name.is_empty() {
        return Ok(TimeZone::UTC);
    }
    let found = TimeZoneDatabase::bundled().get(name).ok().filter(|zone| !zone.is_unknown());
    found.ok_or_else(|| SpecError::new("zone", format!("`{name}` is not a time zone"), "write it like `Europe/Berlin`"))
}

/// A problem and its hint.
type Wrong = (String, String);

fn wrong<T>(problem: String, hint: &str) -> Result<T, Wrong> {
    Err((problem, hint.to_owned()))
}

fn rhythm(text: &str) -> Result<Rhythm, Wrong> {
    let five_fields = "write five fields like `0 3 * * *`";
    if text.is_empty() || text.len() > LONGEST_TEXT {
        return wrong(format!("a schedule has 1 to {LONGEST_TEXT} characters"), five_fields);
    }
    if let Some(nickname) = text.strip_prefix('@') {
        return match nickname.split_once(char::is_whitespace) {
            Some((every, length)) if every.eq_ignore_ascii_case("every") => parse_every(length.trim()),
            _ => match NICKNAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)) {
                Some((_, fields)) => rhythm(fields),
                None => wrong(
                    format!("`{text}` is not a schedule"),
                    "write `@every 5m`, `@hourly`, `@daily`, `@weekly`, `@monthly` or `@yearly`",
                ),
            },
        };
    }
    if text.starts_with("TZ=") || text.starts_with("CRON_TZ=") {
        return wrong(format!("`{text}` has a time zone in front"), "give the time zone as `zone`");
    }
    let given: Vec<String> = text.split_whitespace().map(str::to_ascii_uppercase).collect();
    if !(5..=6).contains(&given.len()) {
        let count = given.len();
        let fields = if count == 1 { "field" } else { "fields" };
        return wrong(format!("`{text}` is not a schedule: it has {count} {fields}, not five or six"), five_fields);
    }
    let mut fields = vec!["0".to_owned(); FIELDS.len() - given.len()];
    fields.extend(given);
    let cron = parse_fields(&fields).map_err(|guilty| {
        let (name, hint) = FIELDS[guilty];
        let field = fields[guilty].to_ascii_lowercase();
        (format!("`{text}` is not a schedule: `{field}` is not {name}"), hint.to_owned())
    })?;
    let fields = Fields::new(cron);
    if fields.never_come() {
        return wrong(format!("`{text}` never comes: there is no such day"), "check the day and the month");
    }
    Ok(Rhythm::Calendar(Box::new(fields)))
}

fn parse_every(text: &str) -> Result<Rhythm, Wrong> {
    match text.parse::<SignedDuration>() {
        Ok(length) if length.subsec_nanos() == 0 && length.as_secs() >= 1 && length <= LONGEST_EVERY => {
            Ok(Rhythm::Every(length.as_secs()))
        }
        _ => wrong(format!("`{text}` is not a length of whole seconds, from one to a year"), "write `@every 5m`"),
    }
}

/// The error is the index of the invalid field.
fn parse_fields(fields: &[String]) -> Result<Cron, usize> {
    if let Some(guilty) = (0..fields.len()).find(|index| !is_spelled(*index, &fields[*index])) {
        return Err(guilty);
    }
    let mut fields = fields.to_vec();
    // The parser accepts 7 for Sunday everywhere except in `7L`.
    let weekdays = fields[WEEKDAY].split(',').map(|part| if part == "7L" { "0L" } else { part });
    fields[WEEKDAY] = weekdays.collect::<Vec<_>>().join(",");
    // Quartz and Go's cron accept steps from a number, like `10/15`.
    let parser = CronParser::builder().seconds(Seconds::Required).year(Year::Disallowed).sloppy_ranges(true).build();
    parser.parse(&fields.join(" ")).map_err(|_| {
        let alone = |index: usize| {
            let mut others = vec!["*"; fields.len()];
            others[index] = &fields[index];
            parser.parse(&others.join(" ")).is_ok()
        };
        (0..fields.len()).find(|index| !alone(*index)).unwrap_or(0)
    })
}

/// Whether a field contains only tokens that are valid there. The parser is too lenient: it accepts
/// `MON` for January in the month field, `15W3` for `15W`, and an empty item between two commas.
fn is_spelled(index: usize, field: &str) -> bool {
    let field = if index == WEEKDAY { field.strip_prefix('+').unwrap_or(field) } else { field };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_weekday = |text: &str| is_number(text) || WEEKDAYS.contains(&text);
    field.split([',', '-', '/', '#']).all(|part| match index {
        _ if is_number(part) || part == "*" => true,
        DAY => ["?", "L", "LW"].contains(&part) || part.strip_suffix('W').is_some_and(is_number),
        MONTH => MONTHS.contains(&part),
        WEEKDAY => part == "?" || is_weekday(part) || part.strip_suffix('L').is_some_and(is_weekday),
        _ => false,
    })
}
