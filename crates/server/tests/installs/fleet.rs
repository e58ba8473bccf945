//! One author, 20 installs with different policies on one server, and a year of releases: every
//! day, each install has the version that its policy requires. Uses the script and oracle of the
//! model's test, but runs the whole server.

use milepost_client::api::RollBack;
use milepost_model::Timestamp;
use milepost_model::channel::{Policy, Windows};
use milepost_model::install::{InstallChange, InstallSettings, LiftInstall, NewInstall, RollbackHolds};

use crate::author::Author;
use crate::oracle::{Tick, Version, Zone, days};
use crate::script::{Both, FLEET, Member, end, judged, moment, numbers, on_day, releases};
use crate::stage::{Stage, following};

/// Long, so that checks happen only when the script or a plan causes them. Others would only take
/// time.
const POLL_S: u32 = 7 * 24 * 3600;

fn at_tick(tick: Tick) -> Timestamp {
    Timestamp::from_second(tick * 900).unwrap()
}

fn settings(member: &Member) -> InstallSettings {
    let (_, letters, zone, allow, deny, freezes, _) = *member;
    let word = |letter: char| match letter {
        'i' => "immediate",
        'w' => "window",
        'm' => "manual",
        _ => "never",
    };
    let words: Vec<&str> = letters.chars().map(word).collect();
    let policy: Policy = format!("patch={},minor={},major={}", words[0], words[1], words[2]).parse().unwrap();
    let zone = match zone {
        Zone::Berlin => "Europe/Berlin",
        Zone::NewYork => "America/New_York",
        Zone::LordHowe => "Australia/Lord_Howe",
    };
    let texts = |both: Both| both.iter().map(|(text, _)| *text).collect::<Vec<_>>();
    let denied = [texts(deny), freezes.iter().map(|(text, _)| *text).collect()].concat();
    let windows = Windows::new(zone, &texts(allow), &denied).unwrap();
    InstallSettings { policy, windows, poll_s: POLL_S, ..InstallSettings::default() }
}

fn name(number: usize) -> String {
    format!("shop-{number:02}")
}

struct Fleet {
    stage: Stage,
    logs: Vec<Vec<(Tick, Version)>>,
    looks: usize,
}

impl Fleet {
    async fn install(&mut self, number: usize, author: &Author) {
        let app = Some(name(number).parse().unwrap());
        let new = NewInstall { app, ..following(&author.url(), settings(&FLEET[number])) };
        self.stage.install(&new).await;
    }

    /// Processes due installs and records which ones moved.
    async fn look(&mut self) {
        self.looks += self.stage.run_due().await;
        self.note().await;
    }

    async fn note(&mut self) {
        let tick = self.stage.now().as_second() / 900;
        for (number, install) in self.stage.client.install_list(100, None).await.unwrap().items.into_iter().enumerate()
        {
            let version = numbers(install.entry.version.as_str());
            assert_eq!(install.live, Some(install.entry.version), "users get what is installed");
            let log = &mut self.logs[number];
            if log.last().is_none_or(|(_, last)| *last != version) {
                log.push((tick, version));
            }
        }
    }

    /// Advances the clock, stopping for every planned check.
    async fn sleep_until(&mut self, until: Timestamp) {
        while let Some(due) = self.stage.next_due().await.filter(|due| *due < until) {
            self.stage.go_to(due.max(self.stage.now()));
            self.look().await;
        }
        self.stage.go_to(until);
    }

    async fn person(&mut self, number: usize, kind: char) {
        let (client, app) = (&self.stage.client, name(number));
        if kind == 'l' {
            client.install_lift(&app, &LiftInstall::default()).await.unwrap();
            return;
        }
        let holds = if kind == 'R' { RollbackHolds::UntilLifted } else { RollbackHolds::UntilNewer };
        let change = InstallChange { rollback_holds: Some(holds), ..InstallChange::default() };
        client.install_change(&app, &change).await.unwrap();
        client.rollback(&app, &RollBack { to: None, why: "the script".to_owned(), dry_run: false }).await.unwrap();
        self.note().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_installs_follow_their_policies_every_day_of_a_year() {
    let script = releases();
    let first = script[0].0;
    let mut author = Author::new();
    let logs = vec![Vec::new(); FLEET.len()];
    let mut fleet = Fleet { stage: Stage::starting(at_tick(first)).await, logs, looks: 0 };
    let mut persons: Vec<(Tick, usize, char)> = Vec::new();
    for (number, member) in FLEET.iter().enumerate() {
        persons.extend(member.6.iter().map(|(text, kind)| (moment(text), number, *kind)));
    }
    let mut moments: Vec<Tick> =
        script.iter().map(|(tick, ..)| *tick).chain(persons.iter().map(|(tick, ..)| *tick)).collect();
    moments.push(end());
    moments.sort_unstable();
    moments.dedup();
    for now in moments {
        fleet.sleep_until(at_tick(now)).await;
        let mut published = false;
        for (_, kind, text) in script.iter().filter(|(tick, ..)| *tick == now) {
            published = true;
            match kind {
                '+' => author.publish(text, at_tick(now)),
                kind => author.unpublish(text, *kind == '^'),
            }
            if now == first {
                for number in (0..FLEET.len()).filter(|number| FLEET[*number].0 == *text) {
                    fleet.install(number, &author).await;
                }
            }
        }
        if now == first {
            fleet.note().await;
        }
        for (_, number, kind) in persons.iter().filter(|(tick, ..)| *tick == now) {
            fleet.person(*number, *kind).await;
        }
        if published {
            fleet.looks += fleet.stage.poll().await;
        }
        fleet.look().await;
    }
    let mut moves = 0;
    for (number, member) in FLEET.iter().enumerate() {
        let (ours, theirs) = (&fleet.logs[number], judged(member));
        for day in days(2026, 7, 1)..days(2027, 7, 1) {
            let date = at_tick(day * 96);
            assert_eq!(on_day(ours, day), on_day(&theirs, day), "install {number} {} on {date}", member.1);
        }
        assert_eq!(*ours, theirs, "install {number} {}, to the quarter of an hour", member.1);
        moves += ours.len() - 1;
    }
    assert!(moves > 250 && fleet.looks > 1500, "{moves} moves, {} looks", fleet.looks);
}
