//! Assigns seats, and chooses the connections to evict for them.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use super::SeatLimits;
use super::client::{Client, Holder};
use crate::activity::{Pulse, clock};

/// A holder's share is one in this many seats. The same part of the seats is reserved for holders
/// below their share.
const PARTS: usize = 8;
/// One in this many seats is freed at a time when idle connections are evicted.
const BATCH: usize = 64;
/// A busy connection is evicted for another client only if its current requests, or a stall of its
/// reader, have lasted for this many nanoseconds.
const SLOW: u64 = 5_000_000_000;
/// How many eviction candidates are remembered, because finding them scans all seats.
const CANDIDATES: usize = 64;
/// Nanoseconds per seat for which the result of a scan is reused, so that scanning takes a small
/// part of the time. Up to `FEW` seats are scanned every time.
const REMEMBERED_PER_SEAT: u64 = 1_000;
const FEW: usize = 256;

pub(super) struct Room {
    limits: SeatLimits,
    seats: Vec<Option<Sitter>>,
    free: Vec<usize>,
    taken: usize,
    strangers: usize,
    held: HashMap<Holder, usize>,
    found: Vec<Found>,
    slow: u64,
    #[cfg(test)]
    looks: usize,
}

struct Sitter {
    holder: Holder,
    pulse: Arc<Pulse>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Seated(usize),
    /// Connections were asked to close; a seat will become free.
    Evicting,
    Refused,
}

/// Which connections may be evicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// The new connection's client has its share of a nearly full listener: only its own
    /// connections.
    Own(Client),
    For(Client),
    /// The process is out of file descriptors.
    Descriptors,
}

/// In the order of eviction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    IdleAboveShare,
    Idle,
    IdleKnown,
    /// Busy and without a token, on a listener that requires one.
    Stranger,
    /// The client does not read what is sent.
    Stuck,
    Slow,
}

/// The result of the last scan: busy connections, the next to evict at the end.
struct Found {
    until: u64,
    scope: Scope,
    /// How many connections their holder has, if they are evicted because it has the most.
    most: Option<usize>,
    nobody: bool,
    next: Vec<Arc<Pulse>>,
}

impl Found {
    fn counts_for(&self, scope: Scope, held: usize) -> bool {
        match (self.scope, scope) {
            (Scope::For(_), Scope::For(_)) => self.most.is_none_or(|most| held < most),
            (of, scope) => of == scope,
        }
    }
}

impl Room {
    pub(super) fn new(limits: SeatLimits) -> Self {
        Self {
            limits,
            seats: Vec::new(),
            free: Vec::new(),
            taken: 0,
            strangers: 0,
            held: HashMap::new(),
            found: Vec::new(),
            slow: SLOW,
            #[cfg(test)]
            looks: 0,
        }
    }

    /// How many connections of one holder are too many while the listener is nearly full.
    fn share(&self, holder: Holder) -> usize {
        let seats = if holder.is_known() { self.limits.all } else { self.limits.strangers };
        (seats / PARTS).max(1)
    }

    fn has_its_share(&self, holder: Holder) -> bool {
        self.held_by(holder) >= self.share(holder)
    }

    fn held_by(&self, holder: Holder) -> usize {
        self.held.get(&holder).copied().unwrap_or(0)
    }

    fn is_nearly_full(&self) -> bool {
        self.strangers >= self.limits.strangers - self.limits.strangers / PARTS
    }

    fn is_full(&self) -> bool {
        self.taken >= self.limits.all || self.strangers >= self.limits.strangers
    }

    /// A client that has its share of a nearly full listener gets a seat only in exchange for one
    /// of its own connections.
    pub(super) fn seat(&mut self, client: Client, pulse: &Arc<Pulse>) -> Verdict {
        let holder = Holder::Stranger(client);
        let (greedy, full) = (self.is_nearly_full() && self.has_its_share(holder), self.is_full());
        let scope = if greedy { Scope::Own(client) } else { Scope::For(client) };
        match (greedy || full, full) {
            (true, _) if !self.evict(scope) => Verdict::Refused,
            (_, true) => Verdict::Evicting,
            (_, false) => Verdict::Seated(self.place(Sitter { holder, pulse: pulse.clone() })),
        }
    }

    pub(super) fn make_room(&mut self) {
        self.evict(Scope::Descriptors);
    }

    fn asks_for_tokens(&self) -> bool {
        self.limits.strangers < self.limits.all
    }

    /// Evicts connections of the lowest rank present: the longest idle ones, or a single busy one.
    /// Returns false if there are none.
    fn evict(&mut self, scope: Scope) -> bool {
        let now = clock();
        if let Some(evicted) = self.evict_found(scope, now) {
            return evicted;
        }
        #[cfg(test)]
        {
            self.looks += 1;
        }
        let greediest = self.greediest(scope);
        let mut chosen = Vec::new();
        let mut first = Rank::Slow;
        for sitter in self.seats.iter().flatten() {
            let Some((rank, from)) = self.rank(sitter, scope, greediest, now) else { continue };
            if sitter.pulse.is_evicted() {
                // An eviction is already in progress.
                return true;
            }
            if rank <= first {
                first = rank;
                chosen.push((rank, from, sitter.pulse.clone()));
            }
        }
        chosen.retain(|(rank, ..)| *rank == first);
        let at_work = first > Rank::IdleKnown;
        let count = if at_work { CANDIDATES } else { (self.limits.strangers / BATCH).max(1) };
        if chosen.len() > count {
            chosen.select_nth_unstable_by_key(count, |(_, from, _)| *from);
            chosen.truncate(count);
        }
        chosen.sort_unstable_by_key(|(_, from, _)| std::cmp::Reverse(*from));
        let mut next: Vec<_> = chosen.into_iter().map(|(.., pulse)| pulse).collect();
        let evicted = if at_work {
            next.pop().inspect(|pulse| pulse.evict(true)).is_some()
        } else {
            next.drain(..).inspect(|pulse| pulse.evict(false)).count() > 0
        };
        if self.seats.len() > FEW && (at_work || !evicted) {
            let until = now + REMEMBERED_PER_SEAT * self.seats.len() as u64;
            let most = greediest.filter(|_| first >= Rank::Stuck && evicted).map(|holder| self.held_by(holder));
            self.found.push(Found { until, scope, most, nobody: !evicted, next });
        }
        evicted
    }

    /// Evicts by the result of a recent scan. `None` if there is no usable result.
    fn evict_found(&mut self, scope: Scope, now: u64) -> Option<bool> {
        self.found.retain(|found| found.until > now);
        let held = if let Scope::For(client) = scope { self.held_by(Holder::Stranger(client)) } else { 0 };
        let at = self.found.iter().position(|found| found.counts_for(scope, held))?;
        if self.found[at].nobody {
            return Some(false);
        }
        while let Some(pulse) = self.found[at].next.pop() {
            if !pulse.is_evicted() && pulse.resting_since().is_none() {
                pulse.evict(true);
                return Some(true);
            }
        }
        self.found.swap_remove(at);
        None
    }

    /// Returns the eviction rank of a connection, and since when it has been in this state. `None`
    /// if it may not be evicted.
    fn rank(&self, sitter: &Sitter, scope: Scope, greediest: Option<Holder>, now: u64) -> Option<(Rank, u64)> {
        let known = sitter.holder.is_known();
        let own = match scope {
            Scope::Own(client) => sitter.holder == Holder::Stranger(client),
            Scope::For(_) | Scope::Descriptors => false,
        };
        if matches!(scope, Scope::Own(_)) && !own {
            return None;
        }
        if let Some(from) = sitter.pulse.idle_from() {
            let rank = match known {
                false if own || self.has_its_share(sitter.holder) => Rank::IdleAboveShare,
                false => Rank::Idle,
                true => Rank::IdleKnown,
            };
            // Connections with a token are evicted only if it is them that fill the listener.
            return (!known || self.known_fill_the_door()).then_some((rank, from));
        }
        let busy_from = sitter.pulse.busy_from();
        if self.asks_for_tokens() && !known {
            return Some((Rank::Stranger, busy_from));
        }
        let is_greediest = greediest == Some(sitter.holder);
        let is_slow = |from: &u64| now.saturating_sub(*from) >= self.slow;
        let stuck = sitter.pulse.held_up_from().filter(is_slow);
        match stuck {
            Some(from) if own || is_greediest => Some((Rank::Stuck, from)),
            None if is_greediest && is_slow(&busy_from) => Some((Rank::Slow, busy_from)),
            _ => None,
        }
    }

    fn known_fill_the_door(&self) -> bool {
        self.strangers < self.limits.strangers
    }

    /// Returns the holder with the most connections of the kind that fills the listener, if it has
    /// more than a fair part of them and more than the new client.
    fn greediest(&self, scope: Scope) -> Option<Holder> {
        let Scope::For(client) = scope else { return None };
        let known = self.known_fill_the_door();
        let among = || self.held.iter().filter(|(holder, _)| holder.is_known() == known);
        let (holder, most) = among().max_by_key(|(_, held)| **held)?;
        let seats: usize = among().map(|(_, held)| *held).sum();
        let fair = (seats / (among().count() + 1)).max(1);
        (*most > fair && *most > self.held_by(Holder::Stranger(client))).then_some(*holder)
    }

    fn place(&mut self, sitter: Sitter) -> usize {
        self.taken += 1;
        self.count(sitter.holder);
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

    /// Counts a connection to an authenticated holder. Returns false if that holder has its share
    /// of a nearly full listener: the connection then stays unauthenticated and may be evicted.
    pub(super) fn vouch(&mut self, at: usize, who: u64) -> bool {
        let holder = Holder::Known(who);
        let nearly_full = self.taken > self.limits.all - self.limits.all / PARTS;
        let greedy = nearly_full && self.has_its_share(holder);
        let Some(Some(sitter)) = self.seats.get_mut(at) else { return false };
        if sitter.holder == holder {
            return true;
        }
        if greedy {
            return false;
        }
        let before = std::mem::replace(&mut sitter.holder, holder);
        self.discount(before);
        self.count(holder);
        true
    }

    pub(super) fn leave(&mut self, at: usize) {
        let Some(sitter) = self.seats.get_mut(at).and_then(Option::take) else { return };
        // Marks the connection as evicted, because it may be among the remembered candidates.
        sitter.pulse.evict(true);
        self.free.push(at);
        self.taken -= 1;
        self.discount(sitter.holder);
    }

    fn count(&mut self, holder: Holder) {
        self.strangers += usize::from(!holder.is_known());
        *self.held.entry(holder).or_default() += 1;
    }

    fn discount(&mut self, holder: Holder) {
        self.strangers -= usize::from(!holder.is_known());
        if let Some(held) = self.held.get_mut(&holder) {
            *held -= 1;
            if *held == 0 {
                self.held.remove(&holder);
            }
        }
    }
}
