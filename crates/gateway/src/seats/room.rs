//! Who gets a seat, and who has to leave for it.

use std::collections::HashMap;
use std::sync::Arc;

use super::SeatLimits;
use super::client::Client;
use crate::connection::Pulse;

/// A client's share of the seats, and the part of them that is kept for clients below their share, is one of so many.
const PARTS: usize = 8;
/// One of so many seats is freed at a time. Choosing looks at all of them, and must not happen for each newcomer.
const BATCH: usize = 64;

pub(super) struct Room {
    limits: SeatLimits,
    seats: Vec<Option<Sitter>>,
    free: Vec<usize>,
    taken: usize,
    strangers: usize,
    /// The strangers of each client.
    held: HashMap<Client, usize>,
}

struct Sitter {
    client: Client,
    known: bool,
    pulse: Arc<Pulse>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Seated(usize),
    /// Idle connections were asked to close; a seat will be free.
    Evicting,
    Refused,
}

impl Room {
    pub(super) fn new(limits: SeatLimits) -> Self {
        let (seats, free, held) = (Vec::new(), Vec::new(), HashMap::new());
        Self { limits, seats, free, taken: 0, strangers: 0, held }
    }

    /// How many connections of one client are too many while the door is nearly full.
    fn share(&self) -> usize {
        (self.limits.strangers / PARTS).max(1)
    }

    fn is_nearly_full(&self) -> bool {
        self.strangers >= self.limits.strangers - self.limits.strangers / PARTS
    }

    fn is_full(&self) -> bool {
        self.taken >= self.limits.all || self.strangers >= self.limits.strangers
    }

    fn has_its_share(&self, client: Client) -> bool {
        self.held.get(&client).is_some_and(|held| *held >= self.share())
    }

    /// A client that has its share of a nearly full door gets a seat for one of its own idle connections only.
    pub(super) fn seat(&mut self, client: Client, pulse: &Arc<Pulse>) -> Verdict {
        let (greedy, full) = (self.is_nearly_full() && self.has_its_share(client), self.is_full());
        let evicting = if greedy {
            let own = |sitter: &Sitter| !sitter.known && sitter.client == client;
            self.evict(false, own) || (self.asks_for_tokens() && self.evict(true, own))
        } else {
            full && self.evict_for_another()
        };
        match (greedy || full, full) {
            (true, _) if !evicting => Verdict::Refused,
            (_, true) => Verdict::Evicting,
            (_, false) => Verdict::Seated(self.place(Sitter { client, known: false, pulse: pulse.clone() })),
        }
    }

    pub(super) fn make_room(&self) {
        self.evict_for_another();
    }

    fn evict_for_another(&self) -> bool {
        let stranger = |sitter: &Sitter| !sitter.known;
        self.evict(false, |sitter| stranger(sitter) && self.has_its_share(sitter.client))
            || self.evict(false, stranger)
            // Those with a token go only where it is them who fill the door.
            || (self.strangers < self.limits.strangers && self.evict(false, |_| true))
            || (self.asks_for_tokens() && self.evict(true, stranger))
    }

    fn asks_for_tokens(&self) -> bool {
        self.limits.strangers < self.limits.all
    }

    /// Asks those to leave that have been idle the longest, or, `at_work`, that have not been idle for the longest. False if
    /// there are none.
    fn evict(&self, at_work: bool, may_go: impl Fn(&Sitter) -> bool) -> bool {
        let mut chosen = Vec::new();
        for sitter in self.seats.iter().flatten().filter(|sitter| may_go(sitter)) {
            if sitter.pulse.is_evicted() {
                // One is leaving already.
                return true;
            }
            let from = if at_work { Some(sitter.pulse.last_idle()) } else { sitter.pulse.idle_from() };
            chosen.extend(from.map(|from| (from, &sitter.pulse)));
        }
        let count = if at_work { 1 } else { (self.limits.strangers / BATCH).max(1) };
        if chosen.len() > count {
            chosen.select_nth_unstable_by_key(count, |(from, _)| *from);
            chosen.truncate(count);
        }
        chosen.iter().for_each(|(_, pulse)| pulse.evict(at_work));
        !chosen.is_empty()
    }

    fn place(&mut self, sitter: Sitter) -> usize {
        self.taken += 1;
        self.strangers += 1;
        *self.held.entry(sitter.client).or_default() += 1;
        match self.free.pop() {
            Some(at) => {
                self.seats[at] = Some(sitter);
                at
            }
            None => {
                self.seats.push(Some(sitter));
                self.seats.len() - 1
            }
        }
    }

    pub(super) fn vouch(&mut self, at: usize) {
        let Some(Some(sitter)) = self.seats.get_mut(at) else { return };
        if !std::mem::replace(&mut sitter.known, true) {
            let client = sitter.client;
            self.one_stranger_less(client);
        }
    }

    pub(super) fn leave(&mut self, at: usize) {
        let Some(sitter) = self.seats.get_mut(at).and_then(Option::take) else { return };
        self.free.push(at);
        self.taken -= 1;
        if !sitter.known {
            self.one_stranger_less(sitter.client);
        }
    }

    fn one_stranger_less(&mut self, client: Client) {
        self.strangers -= 1;
        if let Some(held) = self.held.get_mut(&client) {
            *held -= 1;
            if *held == 0 {
                self.held.remove(&client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use proptest::prelude::*;

    use super::*;
    use crate::connection::Busy;

    fn client(number: u8) -> Client {
        Client::from(Some(IpAddr::from([192, 0, 2, number])))
    }

    /// A connection, as the one who holds it sees it.
    struct Held {
        at: usize,
        client: u8,
        known: bool,
        pulse: Arc<Pulse>,
        busy: Option<Busy>,
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
        fn new(limits: SeatLimits) -> Self {
            Self { room: Room::new(limits), held: Vec::new() }
        }

        fn strangers_of(&self, client: u8) -> usize {
            self.held.iter().filter(|held| !held.known && held.client == client).count()
        }

        fn come(&mut self, who: u8) -> Result<(), TestCaseError> {
            // Room may have to be made twice: in a full door, and then in one that is nearly full.
            for _ in 0..3 {
                let greedy = self.room.is_nearly_full() && self.strangers_of(who) >= self.room.share();
                let pulse = Arc::new(Pulse::default());
                let verdict = self.room.seat(client(who), &pulse);
                let told = self.held.iter().any(|held| held.pulse.is_evicted());
                match verdict {
                    Verdict::Seated(_) => prop_assert!(told == greedy, "it has a seat for another of its own"),
                    Verdict::Evicting => prop_assert!(told),
                    Verdict::Refused => {
                        let could_go = |held: &&Held| {
                            let may = if greedy { held.client == who && !held.known } else { !held.known };
                            may && (held.busy.is_none() || self.room.asks_for_tokens())
                        };
                        prop_assert_eq!(self.held.iter().filter(could_go).count(), 0, "an idle one could have left");
                    }
                }
                if told {
                    self.evicted(who, greedy)?;
                }
                match verdict {
                    Verdict::Seated(at) => {
                        self.held.push(Held { at, client: who, known: false, pulse, busy: None });
                        return Ok(());
                    }
                    Verdict::Refused => return Ok(()),
                    Verdict::Evicting => {}
                }
            }
            prop_assert!(false, "there was never a seat");
            Ok(())
        }

        /// Those who were asked to leave do so.
        fn evicted(&mut self, who: u8, greedy: bool) -> Result<(), TestCaseError> {
            let share = self.room.share();
            let above: Vec<bool> =
                self.held.iter().map(|held| !held.known && self.strangers_of(held.client) >= share).collect();
            let told = |held: &Held| held.pulse.is_evicted();
            let in_class = |held: &Held| !held.known && (!greedy || held.client == who);
            let idle_ones = self.held.iter().any(|held| in_class(held) && held.busy.is_none());
            for held in self.held.iter().filter(|held| told(held) && held.busy.is_some()) {
                let may = self.room.asks_for_tokens() && in_class(held) && !idle_ones;
                prop_assert!(may, "at work, and told to leave");
            }
            let newest = self.held.iter().filter(|held| told(held)).filter_map(|held| held.pulse.idle_from()).max();
            let idle_above = self.held.iter().zip(&above).any(|(held, above)| *above && held.busy.is_none());
            for (held, above) in self.held.iter().zip(&above) {
                if told(held) {
                    prop_assert!(!greedy || held.client == who, "a greedy client gives way itself");
                    prop_assert!(greedy || *above || !idle_above, "the greedy go first");
                } else if held.busy.is_none() && !held.known && (if greedy { held.client == who } else { *above }) {
                    prop_assert!(held.pulse.idle_from() >= newest, "the longest idle go first");
                }
            }
            let (gone, stay): (Vec<_>, Vec<_>) = self.held.drain(..).partition(told);
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
                        held.known = true;
                        self.room.vouch(held.at);
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
        fn limits_hold_and_only_the_idle_give_way(
            strangers in 1..20_usize,
            more in 0..10_usize,
            steps in proptest::collection::vec(step(), 0..200),
        ) {
            let limits = SeatLimits { all: strangers + more, strangers };
            let mut model = Model::new(limits);
            for step in &steps {
                model.run(step)?;
                let strangers = model.held.iter().filter(|held| !held.known).count();
                prop_assert!(model.held.len() <= limits.all && strangers <= limits.strangers);
                prop_assert_eq!((model.room.taken, model.room.strangers), (model.held.len(), strangers));
                for who in 0..4 {
                    let held = model.room.held.get(&client(who)).copied().unwrap_or(0);
                    prop_assert_eq!(held, model.strangers_of(who));
                }
            }
        }
    }

    #[test]
    fn ten_thousand_idle_connections_of_one_client_keep_no_other_out() {
        let mut model = Model::new(SeatLimits::all(10_000));
        for _ in 0..12_000 {
            model.come(1).expect("it has a seat, or gives way to itself");
        }
        assert!(model.held.len() <= 10_000 - 10_000 / PARTS);
        let before = model.held.len();
        for _ in 0..1000 {
            model.come(2).expect("it has a seat");
        }
        assert_eq!((model.held.len(), model.strangers_of(2)), (before + 1000, 1000), "nobody had to leave for it");
    }

    #[test]
    fn clients_with_few_connections_are_never_evicted_for_one_with_many() {
        let mut model = Model::new(SeatLimits::all(64));
        model.come(1).expect("a seat");
        model.come(2).expect("a seat");
        for _ in 0..1000 {
            model.come(3).expect("a seat");
        }
        assert_eq!((model.strangers_of(1), model.strangers_of(2)), (1, 1));
    }
}
