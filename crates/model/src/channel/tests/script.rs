//! The year of the fleet: the author's releases, the installs with their policies, the operators'
//! actions, and the oracle's results. The tests of the pure functions and those of a whole server
//! both use it.

use super::oracle::{Channel, Date, Hours, Install, Rules, Tick, Version, Zone, tick};

/// `+` publishes, `-` unpublishes and leaves no latest, `^` unpublishes and promotes the previous
/// version.
pub const YEAR: &str = "
07-01 00:00 +0.9.0|07-01 00:00 +0.9.1|07-01 00:00 +1.0.0|07-06 09:00 +1.0.1|07-14 16:30 +1.0.2|07-20 08:15 +0.9.2
07-27 11:00 +1.1.0|08-03 10:00 +1.1.1|08-05 22:45 +1.0.3|08-10 07:00 +1.1.2|08-11 06:00 ^1.1.1|08-18 13:00 +0.10.0
08-24 09:30 +1.2.0|08-26 12:00 -1.2.0|08-27 15:00 +1.2.1|09-01 08:00 +1.1.3|09-07 17:00 +1.2.2|09-15 10:15 +0.10.1
09-21 09:00 +1.2.3|09-28 14:00 ^1.2.3|09-29 09:00 +1.2.4|10-03 15:45 +1.2.5|10-05 10:00 +1.3.0|10-12 09:00 +1.3.1
10-19 12:00 +1.1.4|10-24 23:00 +1.3.2|10-25 00:15 +1.4.0|10-25 01:30 +1.4.1|11-01 05:30 +1.4.2|11-01 06:15 +1.4.3
11-09 09:00 +2.0.0|11-16 10:00 +2.0.1|11-17 08:00 -2.0.0|11-23 09:00 +1.4.4|11-30 11:00 +2.1.0|12-07 09:00 +2.1.1
12-14 16:00 +0.9.3|12-18 09:00 +2.1.2|12-21 10:00 +2.2.0|12-24 18:00 +2.2.1|12-25 02:00 ^2.1.2|12-28 09:00 +1.4.5
01-04 09:00 +2.2.2|01-11 10:30 +2.3.0|01-18 09:00 +2.3.1|01-25 12:00 +1.3.3|02-01 09:00 +2.3.2|02-08 14:00 -2.3.2
02-10 09:00 +2.3.3|02-22 10:00 +2.4.0|03-01 09:00 +0.11.0|03-08 11:00 +2.4.1|03-13 23:00 +2.4.2|03-14 06:45 +2.5.0
03-27 22:00 +2.5.1|03-28 00:30 +2.6.0|04-03 14:45 +2.6.1|04-12 09:00 +3.0.0|04-19 10:00 +3.0.1|04-26 09:00 +2.6.2
05-03 12:00 +3.1.0|05-10 09:00 ^3.0.1|05-17 15:15 +3.1.1|05-31 09:00 +3.2.0|06-07 10:00 -3.2.0|06-14 09:00 +3.2.1
06-21 11:45 +4.0.0|06-28 09:00 +4.0.1";

/// When an operator rolls an install back (`r`, or `R` to hold until lifted) or lifts the hold
/// (`l`).
pub type Person = (&'static str, char);

/// Start, policy, zone, allow, deny and freezes, each as text and in the oracle's form, and the
/// operator's actions.
pub type Member = (&'static str, &'static str, Zone, Both, Both, Freezes, &'static [Person]);
pub type Both = &'static [(&'static str, Hours)];
pub type Freezes = &'static [(&'static str, (Date, Date))];

pub const SUNDAY: Both = &[("sun 02:00-04:00", (&[6], 120, 240))];
pub const LOST: Both = &[("sun 02:00-03:00", (&[6], 120, 180))];
pub const NIGHTS: Both = &[("mon-fri 22:00-06:00", (&[0, 1, 2, 3, 4], 1320, 360))];
pub const HALF: Both = &[("sun 01:30-02:15", (&[6], 90, 135)), ("wed 12:00-12:15", (&[2], 720, 735))];
pub const WEEKEND: Both = &[("sat-sun", (&[5, 6], 0, 1440))];
pub const OFFICE: Both = &[("mon-fri 08:00-18:00", (&[0, 1, 2, 3, 4], 480, 1080))];
pub const EARLY: Both = &[("sun 02:30-03:30", (&[6], 150, 210))];
pub const XMAS: Freezes = &[("2026-12-20..2027-01-06", ((2026, 12, 20), (2027, 1, 6)))];
pub const LONG: Freezes = &[
    ("2026-10-24..2026-10-25", ((2026, 10, 24), (2026, 10, 25))),
    ("2026-12-01..2027-03-14", ((2026, 12, 1), (2027, 3, 14))),
];

pub const FLEET: [Member; 20] = [
    ("1.0.0", "iii", Zone::Berlin, &[], &[], &[], &[]),
    ("1.0.0", "iwm", Zone::Berlin, SUNDAY, &[], &[], &[]),
    ("1.0.0", "iwm", Zone::Berlin, LOST, &[], XMAS, &[]),
    ("1.0.0", "www", Zone::Berlin, SUNDAY, EARLY, XMAS, &[]),
    ("1.0.0", "wwm", Zone::NewYork, SUNDAY, &[], &[], &[]),
    ("1.0.0", "iiw", Zone::NewYork, NIGHTS, &[], XMAS, &[]),
    ("1.0.0", "www", Zone::NewYork, HALF, &[], &[], &[]),
    ("1.0.0", "www", Zone::LordHowe, HALF, &[], &[], &[]),
    ("1.0.0", "iww", Zone::LordHowe, EARLY, &[], LONG, &[]),
    ("1.0.0", "inn", Zone::Berlin, &[], &[], &[], &[]),
    ("1.0.0", "nin", Zone::Berlin, &[], &[], &[], &[]),
    ("1.0.0", "nni", Zone::Berlin, &[], OFFICE, &[], &[]),
    ("1.0.0", "mmm", Zone::Berlin, &[], &[], &[], &[]),
    ("1.0.0", "wnw", Zone::LordHowe, WEEKEND, NIGHTS, &[], &[]),
    ("0.9.0", "iin", Zone::Berlin, &[], &[], &[], &[]),
    ("0.9.0", "iwi", Zone::NewYork, NIGHTS, &[], LONG, &[]),
    ("0.9.0", "win", Zone::Berlin, SUNDAY, &[], XMAS, &[]),
    ("1.0.0", "iii", Zone::Berlin, &[], &[], &[], &[("08-25 00:00", 'r'), ("11-10 00:00", 'R'), ("01-12 00:00", 'l')]),
    (
        "1.0.0",
        "iwi",
        Zone::Berlin,
        SUNDAY,
        OFFICE,
        XMAS,
        &[("09-14 10:00", 'r'), ("02-23 09:15", 'r'), ("05-18 00:00", 'R')],
    ),
    (
        "1.0.0",
        "iiw",
        Zone::NewYork,
        WEEKEND,
        &[],
        &[],
        &[("11-09 12:00", 'r'), ("12-26 08:00", 'R'), ("04-20 00:00", 'l')],
    ),
];

/// Parses `07-06 09:00` in the year that begins in July 2026.
pub fn moment(text: &str) -> Tick {
    let number = |range: std::ops::Range<usize>| text[range].parse::<i64>().expect("a number");
    let month = number(0..2);
    tick(if month >= 7 { 2026 } else { 2027 }, month, number(3..5), number(6..8), number(9..11))
}

pub fn numbers(text: &str) -> Version {
    let parts: Vec<u32> = text.split('.').map(|part| part.parse().expect("a number")).collect();
    (parts[0], parts[1], parts[2])
}

pub fn releases() -> Vec<(Tick, char, &'static str)> {
    let lines = YEAR.split(['\n', '|']).filter(|line| !line.is_empty());
    lines.map(|line| (moment(line), line.as_bytes()[12] as char, &line[13..])).collect()
}

pub fn end() -> Tick {
    tick(2027, 7, 1, 0, 0)
}

pub fn judged(member: &Member) -> Vec<(Tick, Version)> {
    let (start, letters, zone, allow, deny, freezes, persons) = *member;
    let letters: Vec<char> = letters.chars().collect();
    let hours = |both: Both| -> &'static [Hours] { both.iter().map(|(_, hours)| *hours).collect::<Vec<_>>().leak() };
    let frozen = freezes.iter().map(|(_, range)| *range).collect::<Vec<_>>().leak();
    let policy = [letters[0], letters[1], letters[2]];
    let rules = Rules { zone, policy, allow: hours(allow), deny: hours(deny), frozen };
    let (releases, mut channel, mut install) = (releases(), Channel::default(), Install::at(numbers(start)));
    install.log.push((releases[0].0, install.version));
    let persons: Vec<(Tick, char)> = persons.iter().map(|(text, kind)| (moment(text), *kind)).collect();
    let mut coming = releases.iter().peekable();
    for now in releases[0].0..end() {
        while let Some((_, kind, text)) = coming.next_if(|(tick, ..)| *tick == now) {
            match kind {
                '+' => channel.publish(numbers(text)),
                kind => channel.unpublish(numbers(text), *kind == '^'),
            }
        }
        match persons.iter().find(|(tick, _)| *tick == now) {
            Some((_, 'l')) => (install.hold, install.skipped) = (None, Vec::new()),
            Some((_, kind)) => assert!(install.roll_back(&channel, now, *kind == 'R'), "nothing to roll back at {now}"),
            None => {}
        }
        install.step(&rules, &channel, now);
    }
    assert!(coming.next().is_none(), "the script is in order");
    install.log
}

pub fn on_day(log: &[(Tick, Version)], day: i64) -> Option<Version> {
    log.iter().rfind(|(tick, _)| *tick < (day + 1) * 96).map(|(_, version)| *version)
}
