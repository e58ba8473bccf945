//! Assigns slots, and chooses the connections to evict for them.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use super::ConnectionLimits;
use super::client::{Client, Holder};
use crate::activity::{Activity, clock};

/// A holder's share is one in this many slots. The same part of the slots is reserved for holders
/// below their share.
const PARTS: usize = 8;
/// One in this many slots is freed at a time when idle connections are evicted.
const BATCH: usize = 64;
/// A busy connection is evicted for another client only if its current requests, or a stall of its
/// reader, have lasted for this many nanoseconds.
const SLOW: u64 = 5_000_000_000;
/// How many eviction candidates are remembered, because finding them scans all slots.
const MAX_CANDIDATES: usize = 64;
/// Nanoseconds per slot for which the result of a scan is reused, so that scanning takes a small
/// part of the time. Up to `FEW` slots are scanned every time.
const REMEMBERED_PER_SLOT: u64 = 1_000;
const FEW: usize = 256;

pub(super) struct Slots {
    limits: ConnectionLimits,
    slots: Vec<Option<Occupant>>,
    free: Vec<usize>,
    taken: usize,
    anonymous: usize,
    held: HashMap<Holder, usize>,
    found: Vec<Candidates>,
    slow: u64,
    #[cfg(test)]
    scans: usize,
}

struct Occupant {
    holder: Holder,
    activity: Arc<Activity>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Admitted(usize),
    /// Connections were asked to close; a slot will become free.
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
    IdleAuthenticated,
    /// Busy and without a token, on a listener that requires one.
    Anonymous,
    /// The client does not read what is sent.
    Stuck,
    Slow,
}

/// The result of the last scan: busy connections, the next to evict at the end.
struct Candidates {
    until: u64,
    scope: Scope,
    /// How many connections their holder has, if they are evicted because it has the most.
    most: Option<usize>,
    nothing: bool,
    next: Vec<Arc<Activity>>,
}

impl Candidates {
    fn counts_for(&self, scope: Scope, held: usize) -> bool {
        match (self.scope, scope) {
            (Scope::For(_), Scope::For(_)) => self.most.is_none_or(|most| held < most),
            (of, scope) => of == scope,
        }
    }
}

impl Slots {
    pub(super) fn new(limits: ConnectionLimits) -> Self {
        Self {
            limits,
            slots: Vec::new(),
            free: Vec::new(),
            taken: 0,
            anonymous: 0,
            held: HashMap::new(),
            found: Vec::new(),
            slow: SLOW,
            #[cfg(test)]
            scans: 0,
        }
    }

    /// How many connections of one holder are too many while the listener is nearly full.
    fn share(&self, holder: Holder) -> usize {
        let slots = if holder.is_authenticated() { self.limits.total } else { self.limits.anonymous };
        (slots / PARTS).max(1)
    }

    fn has_its_share(&self, holder: Holder) -> bool {
        self.held_by(holder) >= self.share(holder)
    }

    fn held_by(&self, holder: Holder) -> usize {
        self.held.get(&holder).copied().unwrap_or(0)
    }

    fn is_nearly_full(&self) -> bool {
        self.anonymous >= self.limits.anonymous - self.limits.anonymous / PARTS
    }

    fn is_full(&self) -> bool {
        self.taken >= self.limits.total || self.anonymous >= self.limits.anonymous
    }

    /// A client that has its share of a nearly full listener gets a slot only in exchange for one
    /// of its own connections.
    pub(super) fn admit(&mut self, client: Client, activity: &Arc<Activity>) -> Verdict {
        let holder = Holder::Anonymous(client);
        let (over_share, full) = (self.is_nearly_full() && self.has_its_share(holder), self.is_full());
        let scope = if over_share { Scope::Own(client) } else { Scope::For(client) };
        match (over_share || full, full) {
            (true, _) if !self.evict(scope) => Verdict::Refused,
            (_, true) => Verdict::Evicting,
            (_, false) => Verdict::Admitted(self.occupy(Occupant { holder, activity: activity.clone() })),
        }
    }

    pub(super) fn evict_idle(&mut self) {
        self.evict(Scope::Descriptors);
    }

    fn requires_tokens(&self) -> bool {
        self.limits.anonymous < self.limits.total
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
            self.scans += 1;
        }
        let largest = self.largest(scope);
        let mut chosen = Vec::new();
        let mut first = Rank::Slow;
        for occupant in self.slots.iter().flatten() {
            let Some((rank, from)) = self.rank(occupant, scope, largest, now) else { continue };
            if occupant.activity.is_evicted() {
                // An eviction is already in progress.
                return true;
            }
            if rank <= first {
                first = rank;
                chosen.push((rank, from, occupant.activity.clone()));
            }
        }
        chosen.retain(|(rank, ..)| *rank == first);
        let in_flight = first > Rank::IdleAuthenticated;
        let count = if in_flight { MAX_CANDIDATES } else { (self.limits.anonymous / BATCH).max(1) };
        if chosen.len() > count {
            chosen.select_nth_unstable_by_key(count, |(_, from, _)| *from);
            chosen.truncate(count);
        }
        chosen.sort_unstable_by_key(|(_, from, _)| std::cmp::Reverse(*from));
        let mut next: Vec<_> = chosen.into_iter().map(|(.., activity)| activity).collect();
        let evicted = if in_flight {
            next.pop().inspect(|activity| activity.evict(true)).is_some()
        } else {
            next.drain(..).inspect(|activity| activity.evict(false)).count() > 0
        };
        if self.slots.len() > FEW && (in_flight || !evicted) {
            let until = now + REMEMBERED_PER_SLOT * self.slots.len() as u64;
            let most = largest.filter(|_| first >= Rank::Stuck && evicted).map(|holder| self.held_by(holder));
            self.found.push(Candidates { until, scope, most, nothing: !evicted, next });
        }
        evicted
    }

    /// Evicts by the result of a recent scan. `None` if there is no usable result.
    fn evict_found(&mut self, scope: Scope, now: u64) -> Option<bool> {
        self.found.retain(|found| found.until > now);
        let held = if let Scope::For(client) = scope { self.held_by(Holder::Anonymous(client)) } else { 0 };
        let at = self.found.iter().position(|found| found.counts_for(scope, held))?;
        if self.found[at].nothing {
            return Some(false);
        }
        while let Some(activity) = self.found[at].next.pop() {
            if !activity.is_evicted() && activity.begun_if_idle().is_none() {
                activity.evict(true);
                return Some(true);
            }
        }
        self.found.swap_remove(at);
        None
    }

    /// Returns the eviction rank of a connection, and since when it has been in this state. `None`
    /// if it may not be evicted.
    fn rank(&self, occupant: &Occupant, scope: Scope, largest: Option<Holder>, now: u64) -> Option<(Rank, u64)> {
        let known = occupant.holder.is_authenticated();
        let own = match scope {
            Scope::Own(client) => occupant.holder == Holder::Anonymous(client),
            Scope::For(_) | Scope::Descriptors => false,
        };
        if matches!(scope, Scope::Own(_)) && !own {
            return None;
        }
        if let Some(from) = occupant.activity.idle_since() {
            let rank = match known {
                false if own || self.has_its_share(occupant.holder) => Rank::IdleAboveShare,
                false => Rank::Idle,
                true => Rank::IdleAuthenticated,
            };
            // Connections with a token are evicted only if it is them that fill the listener.
            return (!known || self.authenticated_fill_it()).then_some((rank, from));
        }
        let busy_since = occupant.activity.busy_since();
        if self.requires_tokens() && !known {
            return Some((Rank::Anonymous, busy_since));
        }
        let is_largest = largest == Some(occupant.holder);
        let is_slow = |from: &u64| now.saturating_sub(*from) >= self.slow;
        let stuck = occupant.activity.blocked_since().filter(is_slow);
        match stuck {
            Some(from) if own || is_largest => Some((Rank::Stuck, from)),
            None if is_largest && is_slow(&busy_since) => Some((Rank::Slow, busy_since)),
            _ => None,
        }
    }

    fn authenticated_fill_it(&self) -> bool {
        self.anonymous < self.limits.anonymous
    }

    /// Returns the holder with the most connections of the kind that fills the listener, if it has
    /// more than a fair part of them and more than the new client.
    fn largest(&self, scope: Scope) -> Option<Holder> {
        let Scope::For(client) = scope else { return None };
        let known = self.authenticated_fill_it();
        let among = || self.held.iter().filter(|(holder, _)| holder.is_authenticated() == known);
        let (holder, most) = among().max_by_key(|(_, held)| **held)?;
        let slots: usize = among().map(|(_, held)| *held).sum();
        let fair = (slots / (among().count() + 1)).max(1);
        (*most > fair && *most > self.held_by(Holder::Anonymous(client))).then_some(*holder)
    }

    fn occupy(&mut self, occupant: Occupant) -> usize {
        self.taken += 1;
        self.count(occupant.holder);
        match self.free.pop() {
            Some(at) => {
                self.slots[at] = Some(occupant);
                at
            }
            None => {
                self.slots.push(Some(occupant));
                self.slots.len() - 1
            }
        }
    }

    /// Counts a connection to an authenticated holder. Returns false if that holder has its share
    /// of a nearly full listener: the connection then stays unauthenticated and may be evicted.
    pub(super) fn authenticate(&mut self, at: usize, who: u64) -> bool {
        let holder = Holder::Authenticated(who);
        let nearly_full = self.taken > self.limits.total - self.limits.total / PARTS;
        let over_share = nearly_full && self.has_its_share(holder);
        let Some(Some(occupant)) = self.slots.get_mut(at) else { return false };
        if occupant.holder == holder {
            return true;
        }
        if over_share {
            return false;
        }
        let before = std::mem::replace(&mut occupant.holder, holder);
        self.discount(before);
        self.count(holder);
        true
    }

    pub(super) fn release(&mut self, at: usize) {
        let Some(occupant) = self.slots.get_mut(at).and_then(Option::take) else { return };
        // Marks the connection as evicted, because it may be among the remembered candidates.
        occupant.activity.evict(true);
        self.free.push(at);
        self.taken -= 1;
        self.discount(occupant.holder);
    }

    fn count(&mut self, holder: Holder) {
        self.anonymous += usize::from(!holder.is_authenticated());
        *self.held.entry(holder).or_default() += 1;
    }

    fn discount(&mut self, holder: Holder) {
        self.anonymous -= usize::from(!holder.is_authenticated());
        if let Some(held) = self.held.get_mut(&holder) {
            *held -= 1;
            if *held == 0 {
                self.held.remove(&holder);
            }
        }
    }
}
