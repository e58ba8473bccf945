use std::net::IpAddr;

use proptest::prelude::*;

use super::*;
use crate::activity::InFlight;

fn client(number: u8) -> Client {
    Client::from(Some(IpAddr::from([192, 0, 2, number])))
}

/// A connection and the facts that the test tracks about it.
struct Held {
    at: usize,
    client: u8,
    known: Option<u64>,
    activity: Arc<Activity>,
    busy: Option<InFlight>,
}

impl Held {
    fn known(&self) -> bool {
        self.known.is_some()
    }
}

struct Model {
    slots: Slots,
    held: Vec<Held>,
}

#[derive(Debug, Clone)]
enum Step {
    Come(u8),
    Begin(usize),
    End(usize),
    Authenticate(usize),
    Leave(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..4_u8).prop_map(Step::Come),
        2 => any::<usize>().prop_map(Step::Begin),
        2 => any::<usize>().prop_map(Step::End),
        1 => any::<usize>().prop_map(Step::Authenticate),
        1 => any::<usize>().prop_map(Step::Leave),
    ]
}

impl Model {
    fn new(limits: ConnectionLimits, slow: u64) -> Self {
        let mut slots = Slots::new(limits);
        slots.slow = slow;
        Self { slots, held: Vec::new() }
    }

    fn share(&self) -> usize {
        self.slots.share(Holder::Anonymous(client(0)))
    }

    fn anonymous_of(&self, client: u8) -> usize {
        self.held.iter().filter(|held| !held.known() && held.client == client).count()
    }

    fn come(&mut self, who: u8) -> Result<(), TestCaseError> {
        // Two evictions may be necessary: first in a full listener, then in a nearly full one.
        for _ in 0..3 {
            let over_share = self.slots.is_nearly_full() && self.anonymous_of(who) >= self.share();
            let activity = Arc::new(Activity::default());
            let verdict = self.slots.admit(client(who), &activity);
            let evicting = self.held.iter().any(|held| held.activity.is_evicted());
            match verdict {
                Verdict::Admitted(_) => prop_assert!(evicting == over_share, "it has a slot for another of its own"),
                Verdict::Evicting => prop_assert!(evicting),
                Verdict::Refused => {
                    let could_go = |held: &&Held| {
                        let may = if over_share { held.client == who && !held.known() } else { !held.known() };
                        may && (held.busy.is_none() || self.slots.requires_tokens())
                    };
                    prop_assert_eq!(self.held.iter().filter(could_go).count(), 0, "an idle one could have left");
                    prop_assert!(
                        over_share || self.slots.slow > 0 || !self.a_holder_has_too_much(who),
                        "a slow one could"
                    );
                }
            }
            if evicting {
                self.evicted(who, over_share)?;
            }
            match verdict {
                Verdict::Admitted(at) => {
                    self.held.push(Held { at, client: who, known: None, activity, busy: None });
                    return Ok(());
                }
                Verdict::Refused => return Ok(()),
                Verdict::Evicting => {}
            }
        }
        prop_assert!(false, "there was never a slot");
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

    /// Whether a holder has more than the new client, and more than an even part of the slots that
    /// are full.
    fn a_holder_has_too_much(&self, who: u8) -> bool {
        let known = self.slots.authenticated_fill_it();
        let among: Vec<usize> =
            self.held.iter().filter(|held| held.known() == known).map(|held| self.count_of(held)).collect();
        let holders = self.slots.held.keys().filter(|holder| holder.is_authenticated() == known).count();
        let most = among.iter().max().copied().unwrap_or(0);
        most > self.anonymous_of(who) && most > (among.len() / (holders + 1)).max(1)
    }

    /// Closes the evicted connections, after checking that the right ones were chosen.
    fn evicted(&mut self, who: u8, over_share: bool) -> Result<(), TestCaseError> {
        let share = self.share();
        let above: Vec<bool> =
            self.held.iter().map(|held| !held.known() && self.anonymous_of(held.client) >= share).collect();
        let is_evicted = |held: &Held| held.activity.is_evicted();
        let in_class = |held: &Held| !held.known() && (!over_share || held.client == who);
        let idle_ones = self.held.iter().any(|held| in_class(held) && held.busy.is_none());
        for held in self.held.iter().filter(|held| is_evicted(held) && held.busy.is_some()) {
            let may = if held.known() || !self.slots.requires_tokens() {
                self.slots.slow == 0 && !over_share && self.count_of(held) > self.anonymous_of(who)
            } else {
                in_class(held)
            };
            prop_assert!(may && !idle_ones, "asked to close during a request");
        }
        let newest =
            self.held.iter().filter(|held| is_evicted(held)).filter_map(|held| held.activity.idle_since()).max();
        let idle_above = self.held.iter().zip(&above).any(|(held, above)| *above && held.busy.is_none());
        for (held, above) in self.held.iter().zip(&above) {
            if is_evicted(held) {
                prop_assert!(!over_share || held.client == who, "a client over its share gives way itself");
                prop_assert!(over_share || *above || !idle_above, "clients over their share go first");
            } else if held.busy.is_none() && !held.known() && (if over_share { held.client == who } else { *above }) {
                prop_assert!(held.activity.idle_since() >= newest, "the longest idle go first");
            }
        }
        let (gone, stay): (Vec<_>, Vec<_>) = self.held.drain(..).partition(is_evicted);
        self.held = stay;
        gone.iter().for_each(|held| self.slots.release(held.at));
        Ok(())
    }

    fn run(&mut self, step: &Step) -> Result<(), TestCaseError> {
        let count = self.held.len().max(1);
        match step {
            Step::Come(who) => return self.come(*who),
            Step::Begin(at) => {
                if let Some(held) = self.held.get_mut(at % count) {
                    held.busy.get_or_insert_with(|| held.activity.begin());
                }
            }
            Step::End(at) => {
                if let Some(held) = self.held.get_mut(at % count) {
                    held.busy = None;
                }
            }
            Step::Authenticate(at) => {
                if let Some(held) = self.held.get_mut(at % count) {
                    let (name, taken) = ((at % 3) as u64, self.slots.taken);
                    let has = self.slots.held_by(Holder::Authenticated(name));
                    if self.slots.authenticate(held.at, name) {
                        held.known = Some(name);
                    } else {
                        prop_assert!(taken + self.slots.limits.total / PARTS > self.slots.limits.total);
                        prop_assert!(has >= (self.slots.limits.total / PARTS).max(1));
                    }
                }
            }
            Step::Leave(at) if !self.held.is_empty() => {
                let held = self.held.swap_remove(at % count);
                self.slots.release(held.at);
            }
            Step::Leave(_) => {}
        }
        Ok(())
    }
}

proptest! {
    #[test]
    fn limits_hold_and_only_idle_or_slow_connections_are_evicted(
        anonymous in 1..20_usize,
        more in 0..10_usize,
        slow in prop_oneof![Just(0), Just(u64::MAX)],
        steps in proptest::collection::vec(step(), 0..200),
    ) {
        let limits = ConnectionLimits { total: anonymous + more, anonymous };
        let mut model = Model::new(limits, slow);
        for step in &steps {
            model.run(step)?;
            let anonymous = model.held.iter().filter(|held| !held.known()).count();
            prop_assert!(model.held.len() <= limits.total && anonymous <= limits.anonymous);
            prop_assert_eq!((model.slots.taken, model.slots.anonymous), (model.held.len(), anonymous));
            for who in 0..4 {
                prop_assert_eq!(model.slots.held_by(Holder::Anonymous(client(who))), model.anonymous_of(who));
            }
            for name in 0..3 {
                let known = model.held.iter().filter(|held| held.known == Some(name)).count();
                prop_assert_eq!(model.slots.held_by(Holder::Authenticated(name)), known);
            }
        }
    }
}

#[test]
fn idle_connections_of_one_client_do_not_keep_others_out() {
    let mut model = Model::new(ConnectionLimits::all(2_000), SLOW);
    for _ in 0..2_400 {
        model.come(1).expect("it has a slot, or gives way to itself");
    }
    assert!(model.held.len() <= 2_000 - 2_000 / PARTS);
    let before = model.held.len();
    for _ in 0..200 {
        model.come(2).expect("it has a slot");
    }
    assert_eq!((model.held.len(), model.anonymous_of(2)), (before + 200, 200), "nothing had to leave for it");
}

#[test]
fn clients_with_few_connections_are_never_evicted_for_one_with_many() {
    let mut model = Model::new(ConnectionLimits::all(64), SLOW);
    model.come(1).expect("a slot");
    model.come(2).expect("a slot");
    for _ in 0..1000 {
        model.come(3).expect("a slot");
    }
    assert_eq!((model.anonymous_of(1), model.anonymous_of(2)), (1, 1));
}

/// Connections of one client, all of them busy.
fn busy(slots: &mut Slots, who: u8, count: usize) -> Vec<(usize, Arc<Activity>, InFlight)> {
    let seated = (0..count).map_while(|_| {
        let activity = Arc::new(Activity::default());
        let Verdict::Admitted(at) = slots.admit(client(who), &activity) else { return None };
        let busy = activity.begin();
        Some((at, activity, busy))
    });
    seated.collect()
}

fn evicted_of(connections: &[(usize, Arc<Activity>, InFlight)]) -> Vec<usize> {
    (0..connections.len()).filter(|at| connections[*at].1.is_evicted()).collect()
}

#[test]
fn evicts_slow_work_of_the_client_with_the_most_connections() {
    let mut slots = Slots::new(ConnectionLimits::all(80));
    let most = busy(&mut slots, 1, 100);
    let others: Vec<_> = (2..12).map(|who| busy(&mut slots, who, 1)).collect();
    assert_eq!((most.len(), slots.taken), (70, 80), "it has seven eighths, and the last one is for others");
    let mut slot = |who| slots.admit(client(who), &Arc::default());
    assert_eq!(slot(20), Verdict::Refused, "all requests are young");
    slots.slow = 0;
    // A reader that stalls is evicted before a slow function.
    most[7].1.record_blocked_write();
    let mut slot = |who| slots.admit(client(who), &Arc::default());
    assert_eq!(slot(20), Verdict::Evicting);
    assert_eq!(evicted_of(&most), [7]);
    slots.release(most[7].0);
    let newcomer = busy(&mut slots, 20, 1);
    assert_eq!(newcomer.len(), 1);
    assert_eq!(slots.admit(client(21), &Arc::default()), Verdict::Evicting);
    assert_eq!(evicted_of(&most), [0, 7], "the longest at work");
    assert!(others.iter().all(|one| evicted_of(one).is_empty()));
}

#[test]
fn a_single_client_keeps_its_busy_connections() {
    // A proxy looks like this to a listener.
    let mut slots = Slots::new(ConnectionLimits::all(80));
    slots.slow = 0;
    let work = busy(&mut slots, 1, 100);
    assert_eq!((work.len(), evicted_of(&work)), (70, vec![]));
    assert_eq!(slots.admit(client(1), &Arc::default()), Verdict::Refused);
    // Only connections with a stalled reader give way to more of the same client.
    work[3].1.record_blocked_write();
    assert!(matches!(slots.admit(client(1), &Arc::default()), Verdict::Admitted(_)));
    assert_eq!(evicted_of(&work), [3]);
}

#[test]
fn one_token_cannot_take_all_slots() {
    let mut slots = Slots::new(ConnectionLimits { total: 80, anonymous: 20 });
    let mut work = Vec::new();
    for _ in 0..200 {
        let activity = Arc::new(Activity::default());
        match slots.admit(client(1), &activity) {
            Verdict::Admitted(at) => {
                slots.authenticate(at, 1);
                let busy = activity.begin();
                work.push((at, activity, busy));
            }
            Verdict::Refused => {}
            Verdict::Evicting => {
                let gone = work.iter().position(|(_, activity, _)| activity.is_evicted()).expect("one leaves");
                slots.release(work.swap_remove(gone).0);
            }
        }
    }
    assert_eq!(slots.held_by(Holder::Authenticated(1)), 70);
    // Another token from the same address gets in at once, and stays.
    for _ in 0..10 {
        let activity = Arc::new(Activity::default());
        let at = loop {
            match slots.admit(client(1), &activity) {
                Verdict::Admitted(at) => break at,
                Verdict::Refused => panic!("the first token keeps the second out"),
                Verdict::Evicting => {
                    let gone = work.iter().position(|(_, activity, _)| activity.is_evicted()).expect("one leaves");
                    slots.release(work.swap_remove(gone).0);
                }
            }
        };
        assert!(slots.authenticate(at, 2));
        let busy = activity.begin();
        work.push((at, activity, busy));
    }
    assert_eq!((slots.held_by(Holder::Authenticated(1)), slots.held_by(Holder::Authenticated(2))), (70, 10));
}

#[test]
fn refusals_do_not_scan_all_seats_each_time() {
    let mut slots = Slots::new(ConnectionLimits::all(10_000));
    let _work: Vec<_> = (0..12).map(|who| busy(&mut slots, who, 1_000)).collect();
    let before = slots.scans;
    for turn in 0..2_000_u32 {
        assert_eq!(slots.admit(client(100 + (turn % 100) as u8), &Arc::default()), Verdict::Refused);
        assert_eq!(slots.admit(client(1), &Arc::default()), Verdict::Refused);
    }
    assert!(slots.scans - before < 400, "{} scans", slots.scans - before);
}
