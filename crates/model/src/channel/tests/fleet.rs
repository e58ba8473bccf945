//! A year of releases and 20 installs with different policies: every day, each is at the version
//! that its policy requires.
//!
//! The installs sleep until the channel changes or their own forecast wakes them, while the oracle
//! checks everything every quarter of an hour. A forecast that is a minute off, or a missed
//! wake-up, makes them differ.

use jiff::Timestamp;

use super::super::{All, Brakes, Entry, Policy, Publishing, Situation, Windows, decide, publish, unpublish};
use super::oracle::{Tick, Version, Zone, days};
use super::script::{Both, FLEET, Member, end, judged, moment, numbers, on_day, releases};
use super::{channel, version};
use crate::Digest;

fn at_tick(tick: Tick) -> Timestamp {
    Timestamp::from_second(tick * 900).expect("in range")
}

/// The channel after each change, written and read back every time.
fn channels() -> Vec<(Tick, All)> {
    let mut all = channel("stable");
    let mut states: Vec<(Tick, All)> = Vec::new();
    for (tick, kind, text) in releases() {
        all = if kind == '+' {
            let entry = Entry::new(version(text), Digest::of(text.as_bytes()), at_tick(tick));
            publish(&all, Publishing { entry, manifest: &version(text), stable: None }).expect(text)
        } else {
            unpublish(&all, &version(text), kind == '^', &[]).expect(text).all
        };
        all = All::read(&all.write()).expect("readable");
        match states.last_mut() {
            Some((last, state)) if *last == tick => *state = all.clone(),
            _ => states.push((tick, all.clone())),
        }
    }
    states
}

struct Watched {
    installed: Entry,
    brakes: Brakes,
    log: Vec<(Tick, Version)>,
}

impl Watched {
    /// Installs what is due and returns when to look again.
    fn look(&mut self, all: &All, policy: &Policy, windows: &Windows, now: Timestamp) -> Option<Timestamp> {
        loop {
            let situation = Situation { installed: &self.installed, all, policy, windows, brakes: &self.brakes, now };
            let Ok(decision) = decide(&situation) else { return None };
            let Some(next) = decision.now() else { return decision.wake_at() };
            assert!(next.entry.is_above(&self.installed), "never down");
            self.installed = next.entry.clone();
            self.log.push((now.as_second() / 900, numbers(self.installed.version.as_str())));
        }
    }

    fn person(&mut self, all: &All, kind: char, now: Tick) {
        if kind == 'l' {
            self.brakes = Brakes::default();
            return;
        }
        let Some((_, before)) = self.log.len().checked_sub(2).and_then(|at| self.log.get(at)).copied() else { return };
        self.brakes.roll_back(self.installed.version.clone(), kind == 'R', "the script", at_tick(now));
        let text = format!("{}.{}.{}", before.0, before.1, before.2);
        let unlisted = || Entry::new(version(&text), Digest::of(text.as_bytes()), at_tick(now));
        self.installed = all.get(&version(&text)).cloned().unwrap_or_else(unlisted);
        self.log.push((now, before));
    }
}

fn watched(member: &Member, states: &[(Tick, All)]) -> Vec<(Tick, Version)> {
    let (start, letters, zone, allow, deny, freezes, persons) = *member;
    let word = |letter: char| match letter {
        'i' => "immediate",
        'w' => "window",
        'm' => "manual",
        _ => "never",
    };
    let words: Vec<&str> = letters.chars().map(word).collect();
    let policy: Policy = format!("patch={},minor={},major={}", words[0], words[1], words[2]).parse().expect("a policy");
    let name = match zone {
        Zone::Berlin => "Europe/Berlin",
        Zone::NewYork => "America/New_York",
        Zone::LordHowe => "Australia/Lord_Howe",
    };
    let texts = |both: Both| both.iter().map(|(text, _)| *text).collect::<Vec<_>>();
    let denied = [texts(deny), freezes.iter().map(|(text, _)| *text).collect()].concat();
    let windows = Windows::new(name, &texts(allow), &denied).expect("windows");

    let first = states[0].0;
    let installed = states[0].1.get(&version(start)).expect("published at the start").clone();
    let mut install = Watched { installed, brakes: Brakes::default(), log: vec![(first, numbers(start))] };
    let mut moments: Vec<Tick> = states.iter().map(|(tick, _)| *tick).collect();
    moments.extend(persons.iter().map(|(text, _)| moment(text)));
    moments.push(end());
    moments.sort_unstable();
    moments.dedup();
    for pair in moments.windows(2) {
        let (now, next) = (pair[0], pair[1]);
        let all = &states.iter().rfind(|(tick, _)| *tick <= now).expect("a state").1;
        if let Some((_, kind)) = persons.iter().find(|(text, _)| moment(text) == now) {
            install.person(all, *kind, now);
        }
        let mut wake = install.look(all, &policy, &windows, at_tick(now));
        while let Some(at) = wake.filter(|at| *at < at_tick(next)) {
            let before = install.log.len();
            wake = install.look(all, &policy, &windows, at);
            assert!(install.log.len() > before, "it woke up for nothing at {at}");
        }
    }
    install.log
}

#[test]
fn every_install_follows_its_policy_every_day() {
    let states = channels();
    assert!(releases().len() > 60 && states.len() > 60);
    let mut moves = 0;
    for (number, member) in FLEET.iter().enumerate() {
        let (ours, theirs) = (watched(member, &states), judged(member));
        for day in days(2026, 7, 1)..days(2027, 7, 1) {
            let date = at_tick(day * 96);
            assert_eq!(on_day(&ours, day), on_day(&theirs, day), "install {number} {} on {date}", member.1);
        }
        assert_eq!(ours, theirs, "install {number} {}, to the quarter of an hour", member.1);
        moves += ours.len() - 1;
    }
    // The script must cause enough moves, or the test would prove nothing.
    assert!(moves > 250, "{moves}");
}
