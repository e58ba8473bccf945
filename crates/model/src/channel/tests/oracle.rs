//! The rules of upgrades again, in their simplest form: numbers, a clock that advances by a quarter
//! of an hour, and a table of clock changes. Nothing here uses the code under test or its
//! libraries.

/// A quarter of an hour, counted from 1970 in UTC.
pub type Tick = i64;
pub type Version = (u32, u32, u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zone {
    Berlin,
    NewYork,
    LordHowe,
}

/// Year, month and day.
pub type Date = (i64, i64, i64);

/// Weekdays (0 is Monday) and minutes of the day; across midnight if the end is not after the
/// start.
pub type Hours = (&'static [i64], i64, i64);

#[derive(Debug, Clone, Copy)]
pub struct Rules {
    pub zone: Zone,
    /// `i`, `w`, `m` or `n` for patch, minor and major.
    pub policy: [char; 3],
    pub allow: &'static [Hours],
    pub deny: &'static [Hours],
    /// First and last day of each freeze.
    pub frozen: &'static [(Date, Date)],
}

#[derive(Debug, Clone, Default)]
pub struct Channel {
    pub versions: Vec<Version>,
    pub latest: Option<Version>,
}

#[derive(Debug, Clone)]
pub struct Install {
    pub version: Version,
    pub skipped: Vec<Version>,
    /// Held until lifted, or until a version above this one appears that did not exist before.
    pub hold: Option<Option<(Version, Vec<Version>)>>,
    /// Every version that was installed, with the tick.
    pub log: Vec<(Tick, Version)>,
}

/// Days since 1970, by Howard Hinnant's algorithm.
pub fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

pub fn tick(year: i64, month: i64, day: i64, hour: i64, minute: i64) -> Tick {
    days(year, month, day) * 96 + hour * 4 + minute / 15
}

/// Minutes ahead of UTC between July 2026 and July 2027.
fn offset(zone: Zone, now: Tick) -> i64 {
    let (summer, winter, back, forth) = match zone {
        Zone::Berlin => (120, 60, tick(2026, 10, 25, 1, 0), tick(2027, 3, 28, 1, 0)),
        Zone::NewYork => (-240, -300, tick(2026, 11, 1, 6, 0), tick(2027, 3, 14, 7, 0)),
        // Winter in July, summer from October to April.
        Zone::LordHowe => (630, 660, tick(2026, 10, 3, 15, 30), tick(2027, 4, 3, 15, 0)),
    };
    if now < back || now >= forth { summer } else { winter }
}

/// The day and the minute of the day shown by a clock in the zone.
fn shown(zone: Zone, now: Tick) -> (i64, i64) {
    let minutes = now * 15 + offset(zone, now);
    (minutes.div_euclid(1440), minutes.rem_euclid(1440))
}

fn inside((weekdays, from, to): Hours, (day, minute): (i64, i64)) -> bool {
    // 1970-01-01 was a Thursday.
    let begins = |day: i64| weekdays.contains(&(day + 3).rem_euclid(7));
    if from < to {
        begins(day) && (from..to).contains(&minute)
    } else {
        (begins(day) && minute >= from) || (begins(day - 1) && minute < to)
    }
}

impl Rules {
    fn denied(&self, now: Tick) -> bool {
        let shown = shown(self.zone, now);
        let frozen = |((y1, m1, d1), (y2, m2, d2))| (days(y1, m1, d1)..=days(y2, m2, d2)).contains(&shown.0);
        self.deny.iter().any(|hours| inside(*hours, shown)) || self.frozen.iter().any(|range| frozen(*range))
    }

    fn open(&self, now: Tick) -> bool {
        let shown = shown(self.zone, now);
        self.allow.is_empty() || self.allow.iter().any(|hours| inside(*hours, shown))
    }
}

impl Channel {
    pub fn publish(&mut self, version: Version) {
        if self.versions.iter().all(|other| *other < version) {
            self.latest = Some(version);
        }
        self.versions.push(version);
    }

    pub fn unpublish(&mut self, version: Version, promote: bool) {
        self.versions.retain(|other| *other != version);
        if self.latest == Some(version) {
            self.latest = if promote { self.versions.iter().max().copied() } else { None };
        }
    }
}

impl Install {
    pub fn at(version: Version) -> Self {
        Self { version, skipped: Vec::new(), hold: None, log: Vec::new() }
    }

    /// Returns to the previous version, like a manual rollback.
    pub fn roll_back(&mut self, channel: &Channel, now: Tick, stays: bool) -> bool {
        let Some((_, bad)) = self.log.last().copied().filter(|_| self.log.len() > 1) else { return false };
        let before = self.log[self.log.len() - 2].1;
        self.skipped.push(bad);
        self.hold = Some(if stays { None } else { Some((bad, channel.versions.clone())) });
        self.version = before;
        self.log.push((now, before));
        true
    }

    /// Runs one quarter of an hour.
    pub fn step(&mut self, rules: &Rules, channel: &Channel, now: Tick) {
        let lesser = channel.latest.is_some_and(|latest| latest < self.version);
        let held = match &self.hold {
            None => false,
            Some(None) => true,
            Some(Some((bad, known))) => {
                !channel.versions.iter().any(|v| v > bad && !known.contains(v) && !self.skipped.contains(v))
            }
        };
        let nothing_above = channel.versions.iter().all(|version| *version <= self.version);
        if lesser || held || nothing_above || rules.denied(now) {
            return;
        }
        let gone = !channel.versions.contains(&self.version);
        let from = self.version;
        let fits = |to: &&Version| {
            let patch = (to.0, to.1) == (from.0, from.1);
            let minor = !patch && to.0 == from.0 && from.0 > 0;
            let word = rules.policy[if patch {
                0
            } else if minor {
                1
            } else {
                2
            }];
            let when = word == 'i' || (word == 'w' && (rules.open(now) || (patch && gone)));
            **to > from && when && !self.skipped.contains(to)
        };
        if let Some(next) = channel.versions.iter().filter(fits).max().copied() {
            self.version = next;
            self.log.push((now, next));
        }
    }
}
