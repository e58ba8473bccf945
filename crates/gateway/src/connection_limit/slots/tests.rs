use std::net::IpAddr;

use proptest::prelude::*;

use super::*;
use crate::activity::Busy;

fn client(number: u8) -> Client {
    Client::from(Some(IpAddr::from([192, 0, 2, number])))
}

/// A connection and the facts that the test tracks about it.
struct Held {
    at: usize,
    client: u8,
    known: Option<u64>,
    pulse: Arc<Pulse>,
    busy: Option<Busy>,
}

impl Held {
    fn known(&self) -> bool {
        self.known.is_some()
    }
}

struct Model {
    room: Room,
    held: Vec<Held>,
}

#[derive(Debug, Clone)]
enum Step {
    Come(u8),
    Begin(usize),
    End(usize),
    Vouch(usize),
    Leave(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..4_u8).prop_map(Step::Come),
        2 => any::<usize>().prop_map(Step::Begin),
        2 => any::<usize>().prop_map(Step::End),
        1 => any::<usize>().prop_map(Step::Vouch),
        1 => any::<usize>().prop_map(Step::Leave),
    ]
}

impl Model {
    fn new(limits: SeatLimits, slow: u64) -> Self {
        let mut room = Room::new(limits);
        room.slow = slow;
        Self { room, held: Vec::new() }
    }

    fn share(&self) -> usize {
        self.room.share(Holder::Stranger(client(0)))
    }

    fn strangers_of(&self, client: u8) -> usize {
        self.held.iter().filter(|held| !held.known() && held.client == client).count()
    }

    fn come(&mut self, who: u8) -> Result<(), TestCaseError> {
        // Room may have to be made twice: first in a full listener, then in a nearly full one.
        for _ in 0..3 {
            let greedy = self.room.is_nearly_full() && self.strangers_of(who) >= self.share();
            let pulse = Arc::new(Pulse::default());
            let verdict = self.room.seat(client(who), &pulse);
            let evicting = self.held.iter().any(|held| held.pulse.is_evicted());
            match verdict {
                Verdict::Seated(_) => prop_assert!(evicting == greedy, "it has a seat for another of its own"),
                Verdict::Evicting => prop_assert!(evicting),
                Verdict::Refused => {
                    let could_go = |held: &&Held| {
                        let may = if greedy { held.client == who && !held.known() } else { !held.known() };
                        may && (held.busy.is_none() || self.room.asks_for_tokens())
                    };
                    prop_assert_eq!(self.held.iter().filter(could_go).count(), 0, "an idle one could have left");
                    prop_assert!(greedy || self.room.slow > 0 || !self.a_holder_has_too_much(who), "a slow one could");
                }
            }
            if evicting {
                self.evicted(who, greedy)?;
            }
            match verdict {
                Verdict::Seated(at) => {
                    self.held.push(Held { at, client: who, known: None, pulse, busy: None });
                    return Ok(());
                }
                Verdict::Refused => return Ok(()),
                Verdict::Evicting => {}
            }
        }
        prop_assert!(false, "there was never a seat");
        Ok(())
    }

    /// How many connections the holder of this one has.
    fn count_of(&self, one: &Held) -> usize {
        let same = |held: &&Held| match one.known {
            Some(name) => held.known == Some(name),
            None => !held.known() && held.client == one.client,
        };
        self.held.iter().filter(same).count()
    }

    /// Whether a holder has more than the new client, and more than an even part of the seats that
    /// are full.
    fn a_holder_has_too_much(&self, who: u8) -> bool {
        let known = self.room.known_fill_the_door();
        let among: Vec<usize> =
            self.held.iter().filter(|held| held.known() == known).map(|held| self.count_of(held)).collect();
        let holders = self.room.held.keys().filter(|holder| holder.is_known() == known).count();
        let most = among.iter().max().copied().unwrap_or(0);
        most > self.strangers_of(who) && most > (among.len() / (holders + 1)).max(1)
    }

    /// Closes the evicted connections, after checking that the right ones were chosen.
    fn evicted(&mut self, who: u8, greedy: bool) -> Result<(), TestCaseError> {
        let share = self.share();
        let above: Vec<bool> =
            self.held.iter().map(|held| !held.known() && self.strangers_of(held.client) >= share).collect();
        let is_evicted = |held: &Held| held.pulse.is_evicted();
        let in_class = |held: &Held| !held.known() && (!greedy || held.client == who);
        let idle_ones = self.held.iter().any(|held| in_class(held) && held.busy.is_none());
        for held in self.held.iter().filter(|held| is_evicted(held) && held.busy.is_some()) {
            let may = if held.known() || !self.room.asks_for_tokens() {
                self.room.slow == 0 && !greedy && self.count_of(held) > self.strangers_of(who)
            } else {
                in_class(held)
            };
            prop_assert!(may && !idle_ones, "at work, and told to leave");
        }
        let newest = self.held.iter().filter(|held| is_evicted(held)).filter_map(|held| held.pulse.idle_from()).max();
        let idle_above = self.held.iter().zip(&above).any(|(held, above)| *above && held.busy.is_none());
        for (held, above) in self.held.iter().zip(&above) {
            if is_evicted(held) {
                prop_assert!(!greedy || held.client == who, "a greedy client gives way itself");
                prop_assert!(greedy || *above || !idle_above, "the greedy go first");
            } else if held.busy.is_none() && !held.known() && (if greedy { held.client == who } else { *above }) {
                prop_assert!(held.pulse.idle_from() >= newest, "the longest idle go first");
            }
        }
        let (gone, stay): (Vec<_>, Vec<_>) = self.held.drain(..).partition(is_evicted);
        self.held = stay;
        gone.iter().for_each(|held| self.room.leave(held.at));
        Ok(())
    }

    fn run(&mut self, step: &Step) -> Result<(), TestCaseError> {
        let count = self.held.len().max(1);
        match step {
            Step::Come(who) => return self.come(*who),
            Step::Begin(at) => {
                if let Some(held) = self.held.get_mut(at % count) {
                    held.busy.get_or_insert_with(|| held.pulse.begin());
                }
            }
            Step::End(at) => {
                if let Some(held) = self.held.get_mut(at % count) {
                    held.busy = None;
                }
            }
            Step::Vouch(at) => {
                if let Some(held) = self.held.get_mut(at % count) {
                    let (name, taken) = ((at % 3) as u64, self.room.taken);
                    let has = self.room.held_by(Holder::Known(name));
                    if self.room.vouch(held.at, name) {
                        held.known = Some(name);
                    } else {
                        prop_assert!(taken + self.room.limits.all / PARTS > self.room.limits.all);
                        prop_assert!(has >= (self.room.limits.all / PARTS).max(1));
                    }
                }
            }
            Step::Leave(at) if !self.held.is_empty() => {
                let held = self.held.swap_remove(at % count);
                self.room.leave(held.at);
            }
            Step::Leave(_) => {}
        }
        Ok(())
    }
}

proptest! {
    #[test]
    fn limits_hold_and_only_idle_or_slow_connections_are_evicted(
        strangers in 1..20_usize,
        more in 0..10_usize,
        slow in prop_oneof![Just(0), Just(u64::MAX)],
        steps in proptest::collection::vec(step(), 0..200),
    ) {
        let limits = SeatLimits { all: strangers + more, strangers };
        let mut model = Model::new(limits, slow);
        for step in &steps {
            model.run(step)?;
            let strangers = model.held.iter().filter(|held| !held.known()).count();
            prop_assert!(model.held.len() <= limits.all && strangers <= limits.strangers);
            prop_assert_eq!((model.room.taken, model.room.strangers), (model.held.len(), strangers));
            for who in 0..4 {
                prop_assert_eq!(model.room.held_by(Holder::Stranger(client(who))), model.strangers_of(who));
            }
            for name in 0..3 {
                let known = model.held.iter().filter(|held| held.known == Some(name)).count();
                prop_assert_eq!(model.room.held_by(Holder::Known(name)), known);
            }
        }
    }
}

#[test]
fn idle_connections_of_one_client_do_not_keep_others_out() {
    let mut model = Model::new(SeatLimits::all(2_000), SLOW);
    for _ in 0..2_400 {
        model.come(1).expect("it has a seat, or gives way to itself");
    }
    assert!(model.held.len() <= 2_000 - 2_000 / PARTS);
    let before = model.held.len();
    for _ in 0..200 {
        model.come(2).expect("it has a seat");
    }
    assert_eq!((model.held.len(), model.strangers_of(2)), (before + 200, 200), "nobody had to leave for it");
}

#[test]
fn clients_with_few_connections_are_never_evicted_for_one_with_many() {
    let mut model = Model::new(SeatLimits::all(64), SLOW);
    model.come(1).expect("a seat");
    model.come(2).expect("a seat");
    for _ in 0..1000 {
        model.come(3).expect("a seat");
    }
    assert_eq!((model.strangers_of(1), model.strangers_of(2)), (1, 1));
}

/// Connections of one client, all of them busy.
fn busy(room: &mut Room, who: u8, count: usize) -> Vec<(usize, Arc<Pulse>, Busy)> {
    let seated = (0..count).map_while(|_| {
        let pulse = Arc::new(Pulse::default());
        let Verdict::Seated(at) = room.seat(client(who), &pulse) else { return None };
        let busy = pulse.begin();
        Some((at, pulse, busy))
    });
    seated.collect()
}

fn evicted_of(connections: &[(usize, Arc<Pulse>, Busy)]) -> Vec<usize> {
    (0..connections.len()).filter(|at| connections[*at].1.is_evicted()).collect()
}

#[test]
fn evicts_slow_work_of_the_client_with_the_most_connections() {
    let mut room = Room::new(SeatLimits::all(80));
    let most = busy(&mut room, 1, 100);
    let others: Vec<_> = (2..12).map(|who| busy(&mut room, who, 1)).collect();
    assert_eq!((most.len(), room.taken), (70, 80), "it has seven eighths, and the last one is for others");
    let mut seat = |who| room.seat(client(who), &Arc::default());
    assert_eq!(seat(20), Verdict::Refused, "all requests are young");
    room.slow = 0;
    // A reader that stalls is evicted before a slow function.
    most[7].1.hold_up();
    let mut seat = |who| room.seat(client(who), &Arc::default());
    assert_eq!(seat(20), Verdict::Evicting);
    assert_eq!(evicted_of(&most), [7]);
    room.leave(most[7].0);
    let newcomer = busy(&mut room, 20, 1);
    assert_eq!(newcomer.len(), 1);
    assert_eq!(room.seat(client(21), &Arc::default()), Verdict::Evicting);
    assert_eq!(evicted_of(&most), [0, 7], "the longest at work");
    assert!(others.iter().all(|one| evicted_of(one).is_empty()));
}

#[test]
fn a_single_client_keeps_its_busy_connections() {
    // A proxy looks like this to a listener.
    let mut room = Room::new(SeatLimits::all(80));
    room.slow = 0;
    let work = busy(&mut room, 1, 100);
    assert_eq!((work.len(), evicted_of(&work)), (70, vec![]));
    assert_eq!(room.seat(client(1), &Arc::default()), Verdict::Refused);
    // Only connections with a stalled reader give way to more of the same client.
    work[3].1.hold_up();
    assert!(matches!(room.seat(client(1), &Arc::default()), Verdict::Seated(_)));
    assert_eq!(evicted_of(&work), [3]);
}

#[test]
fn one_token_cannot_take_all_seats() {
    let mut room = Room::new(SeatLimits { all: 80, strangers: 20 });
    let mut work = Vec::new();
    for _ in 0..200 {
        let pulse = Arc::new(Pulse::default());
        match room.seat(client(1), &pulse) {
            Verdict::Seated(at) => {
                room.vouch(at, 1);
                let busy = pulse.begin();
                work.push((at, pulse, busy));
            }
            Verdict::Refused => {}
            Verdict::Evicting => {
                let gone = work.iter().position(|(_, pulse, _)| pulse.is_evicted()).expect("one leaves");
                room.leave(work.swap_remove(gone).0);
            }
        }
    }
    assert_eq!(room.held_by(Holder::Known(1)), 70);
    // Another token from the same address gets in at once, and stays.
    for _ in 0..10 {
        let pulse = Arc::new(Pulse::default());
        let at = loop {
            match room.seat(client(1), &pulse) {
                Verdict::Seated(at) => break at,
                Verdict::Refused => panic!("the first token keeps the second out"),
                Verdict::Evicting => {
                    let gone = work.iter().position(|(_, pulse, _)| pulse.is_evicted()).expect("one leaves");
                    room.leave(work.swap_remove(gone).0);
                }
            }
        };
        assert!(room.vouch(at, 2));
        let busy = pulse.begin();
        work.push((at, pulse, busy));
    }
    assert_eq!((room.held_by(Holder::Known(1)), room.held_by(Holder::Known(2))), (70, 10));
}

#[test]
fn refusals_do_not_scan_all_seats_each_time() {
    let mut room = Room::new(SeatLimits::all(10_000));
    let _work: Vec<_> = (0..12).map(|who| busy(&mut room, who, 1_000)).collect();
    let before = room.looks;
    for turn in 0..2_000_u32 {
        assert_eq!(room.seat(client(100 + (turn % 100) as u8), &Arc::default()), Verdict::Refused);
        assert_eq!(room.seat(client(1), &Arc::default()), Verdict::Refused);
    }
    assert!(room.looks - before < 400, "{} looks", room.looks - before);
}
