//! Maintenance windows and their syntax: `sun 02:00-04:00`, `mon-fri 22:00-06:00`,
//! `2026-12-20..2027-01-06`.
//!
//! `opening.rs` computes when they are open.

use std::fmt;
use std::str::FromStr;

use jiff::civil::{Date, Weekday};
use jiff::tz::{TimeZone, TimeZoneDatabase};
use serde::{Deserialize, Serialize};

use crate::suggest::{closest, or_list};

use super::semver::{is_number, shorten};

/// The times at which upgrades may start, in one named zone. Deny takes precedence over allow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WindowsText", into = "WindowsText")]
pub struct Windows {
    pub(super) zone: TimeZone,
    pub(super) allow: Vec<Window>,
    pub(super) deny: Vec<Window>,
}

/// Windows in the text form used in files and on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WindowsText {
    /// A name from the time zone database, like `Europe/Berlin`.
    #[serde(default = "utc")]
    pub zone: String,
    #[serde(default)]
    pub allow: Vec<String>,
    #[serde(default)]
    pub deny: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Window {
    /// From one minute of the day to another; if `to` is not after `from`, it is on the next day.
    /// The whole window belongs to the day on which it begins.
    Weekly { days: Days, from: u16, to: u16 },
    /// Whole days, including the last.
    Dates { first: Date, last: Date },
}

/// A set of weekdays, with Monday in the lowest bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Days(u8);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WindowError {
    #[error(
        "`{0}` is not a window; write it like `sun 02:00-04:00`, `mon-fri 22:00-06:00` or `2026-12-20..2027-01-06`"
    )]
    Form(String),
    #[error("`{0}` is not a day; write `mon`, `tue`, `wed`, `thu`, `fri`, `sat`, `sun` or `daily`")]
    Day(String),
    #[error("`{0}` is not a time of day; write it like `02:00`, from `00:00` to `24:00`")]
    Time(String),
    #[error("`{0}` begins and ends at the same time; for whole days write only the days, like `sat-sun`")]
    NoLength(String),
    #[error("`{0}` is not a date; write it like `2026-12-20`")]
    Date(String),
    #[error("`{0}` ends before it begins; write the earlier date first")]
    Backwards(String),
    #[error("`{name}` is not a time zone; {hint}")]
    Zone { name: String, hint: String },
    #[error("there are {0} windows, more than the limit of {MAX_WINDOWS}; combine days, like `mon-fri 22:00-06:00`")]
    TooMany(usize),
}

const DAY: u16 = 24 * 60;
const MAX_WINDOWS: usize = 400;
const NAMES: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

fn utc() -> String {
    "UTC".to_owned()
}

impl Windows {
    pub fn new<T: AsRef<str>>(zone: &str, allow: &[T], deny: &[T]) -> Result<Self, WindowError> {
        if allow.len() + deny.len() > MAX_WINDOWS {
            return Err(WindowError::TooMany(allow.len() + deny.len()));
        }
        let parsed = |list: &[T]| list.iter().map(|text| text.as_ref().parse()).collect::<Result<Vec<_>, _>>();
        Ok(Self { zone: zone_named(zone)?, allow: parsed(allow)?, deny: parsed(deny)? })
    }

    /// No windows: everything is open.
    pub fn none() -> Self {
        Self { zone: TimeZone::UTC, allow: Vec::new(), deny: Vec::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.allow.is_empty() && self.deny.is_empty()
    }

    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    pub fn allow(&self) -> &[Window] {
        &self.allow
    }

    pub fn deny(&self) -> &[Window] {
        &self.deny
    }
}

/// Looks up a zone in the built-in rules, so that two servers of the same build agree. Offsets are
/// rejected, because an offset is wrong for half of the year.
fn zone_named(name: &str) -> Result<TimeZone, WindowError> {
    let zones = TimeZoneDatabase::bundled();
    let found = zones.get(name).ok().filter(|zone| !zone.is_unknown() && zone.iana_name().is_some());
    found.ok_or_else(|| {
        let known: Vec<String> = zones.available().map(|known| known.as_str().to_owned()).collect();
        let hint = match closest(name, known.iter().map(String::as_str)) {
            near if near.is_empty() => "write a name like `Europe/Berlin` or `UTC`".to_owned(),
            near => format!("did you mean {}?", or_list(&near)),
        };
        WindowError::Zone { name: shorten(name), hint }
    })
}

impl TryFrom<WindowsText> for Windows {
    type Error = WindowError;

    fn try_from(text: WindowsText) -> Result<Self, WindowError> {
        Self::new(&text.zone, &text.allow, &text.deny)
    }
}

impl From<Windows> for WindowsText {
    fn from(windows: Windows) -> Self {
        let zone = windows.zone.iana_name().unwrap_or("UTC").to_owned();
        let texts = |list: Vec<Window>| list.iter().map(ToString::to_string).collect();
        Self { zone, allow: texts(windows.allow), deny: texts(windows.deny) }
    }
}

impl Days {
    const DAILY: Self = Self(0x7f);

    pub fn has(self, day: Weekday) -> bool {
        self.0 & (1 << day.to_monday_zero_offset()) != 0
    }

    /// `sun`, `mon-fri`, `fri-mon`, `sat,sun`, `daily`.
    fn parse(text: &str) -> Result<Self, WindowError> {
        if text == "daily" {
            return Ok(Self::DAILY);
        }
        let mut days = 0;
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (mut day, last) = (day_number(first)?, day_number(last)?);
            days |= 1 << day;
            while day != last {
                day = (day + 1) % 7;
                days |= 1 << day;
            }
        }
        Ok(Self(days))
    }
}

fn day_number(text: &str) -> Result<usize, WindowError> {
    let position = NAMES.iter().position(|name| text == *name || (text.len() == 3 && name.starts_with(text)));
    position.ok_or_else(|| WindowError::Day(shorten(text)))
}

impl FromStr for Window {
    type Err = WindowError;

    fn from_str(text: &str) -> Result<Self, WindowError> {
        let lower = text.trim().to_lowercase();
        if lower.starts_with(|first: char| first.is_ascii_digit()) && !lower.contains(':') {
            return dates(&lower);
        }
        let mut words = lower.split_whitespace();
        let (Some(days), hours, None) = (words.next(), words.next(), words.next()) else {
            return Err(WindowError::Form(shorten(text)));
        };
        if days.contains(':') {
            return Err(WindowError::Form(shorten(text)));
        }
        let days = Days::parse(days)?;
        let Some(hours) = hours else { return Ok(Self::Weekly { days, from: 0, to: DAY }) };
        let (from, to) = hours.split_once('-').ok_or_else(|| WindowError::Form(shorten(text)))?;
        let (from, to) = (minute(from)?, minute(to)?);
        if from == DAY {
            return Err(WindowError::Time("24:00 as a beginning".to_owned()));
        }
        if from == to {
            return Err(WindowError::NoLength(shorten(text)));
        }
        Ok(Self::Weekly { days, from, to: if to == 0 { DAY } else { to } })
    }
}

fn dates(text: &str) -> Result<Window, WindowError> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    let date = |text: &str| match text.trim() {
        // Ten characters, `2026-12-20`: excludes the other forms that the parser accepts.
        trimmed if trimmed.len() == 10 => trimmed.parse::<Date>().map_err(|_| WindowError::Date(shorten(text))),
        _ => Err(WindowError::Date(shorten(text))),
    };
    let (first, last) = (date(first)?, date(last)?);
    if last < first { Err(WindowError::Backwards(shorten(text))) } else { Ok(Window::Dates { first, last }) }
}

fn minute(text: &str) -> Result<u16, WindowError> {
    let wrong = || WindowError::Time(shorten(text));
    let (hour, minute) = text.split_once(':').ok_or_else(wrong)?;
    if !is_number(hour) || hour.len() > 2 || !is_number(minute) || minute.len() != 2 {
        return Err(wrong());
    }
    let (hour, minute) = (hour.parse::<u16>().map_err(|_| wrong())?, minute.parse::<u16>().map_err(|_| wrong())?);
    if minute < 60 && hour * 60 + minute <= DAY { Ok(hour * 60 + minute) } else { Err(wrong()) }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dates { first, last } if first == last => write!(f, "{first}"),
            Self::Dates { first, last } => write!(f, "{first}..{last}"),
            Self::Weekly { days, from: 0, to: DAY } => write!(f, "{days}"),
            Self::Weekly { days, from, to } => {
                write!(f, "{days} {:02}:{:02}-{:02}:{:02}", from / 60, from % 60, to / 60, to % 60)
            }
        }
    }
}

impl fmt::Display for Days {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::DAILY {
            return f.write_str("daily");
        }
        let mut first = 0;
        let mut separator = "";
        while first < 7 {
            if self.0 & (1 << first) == 0 {
                first += 1;
                continue;
            }
            let last = (first..7).take_while(|day| self.0 & (1 << day) != 0).last().unwrap_or(first);
            write!(f, "{separator}{}", &NAMES[first][..3])?;
            if last > first {
                write!(f, "-{}", &NAMES[last][..3])?;
            }
            separator = ",";
            first = last + 1;
        }
        Ok(())
    }
}
