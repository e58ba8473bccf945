//! Failure detection. A node trusts only its own observations and its own clock: a peer is dead if
//! its heartbeat did not change over repeated checks. If the database was unreachable or this node
//! was suspended, old heartbeats mean nothing, so watching starts over.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use milepost_catalog::Node;
use milepost_model::Timestamp;

#[derive(Debug)]
pub(super) struct Watch {
    dead_after: Duration,
    /// If more time passes between two checks, this node was not watching.
    longest_gap: Duration,
    last_look: Option<Instant>,
    /// The last heartbeat of each node, and when it was first seen.
    seen: HashMap<String, (Timestamp, Instant)>,
}

impl Watch {
    pub fn new(dead_after: Duration, longest_gap: Duration) -> Self {
        Self { dead_after, longest_gap, last_look: None, seen: HashMap::new() }
    }

    pub fn forget(&mut self) {
        self.seen.clear();
        self.last_look = None;
    }

    /// Returns the dead nodes among those that hold executions: nodes that left, and nodes without
    /// a new heartbeat for too long.
    pub fn look(&mut self, nodes: Vec<Node>, now: Instant) -> Vec<Node> {
        if self.last_look.is_some_and(|last| now.duration_since(last) > self.longest_gap) {
            self.forget();
        }
        self.last_look = Some(now);
        let mut seen = HashMap::with_capacity(nodes.len());
        let mut dead = Vec::new();
        for node in nodes {
            let Some(beat_at) = node.beat_at else {
                dead.push(node);
                continue;
            };
            let since = match self.seen.get(&node.name) {
                Some((beat, since)) if *beat == beat_at => *since,
                _ => now,
            };
            seen.insert(node.name.clone(), (beat_at, since));
            if now.duration_since(since) >= self.dead_after {
                dead.push(node);
            }
        }
        self.seen = seen;
        dead
    }
}

#[cfg(test)]
mod tests {
    use milepost_model::clock::from_millis;

    use super::*;

    const S: Duration = Duration::from_secs(1);

    fn node(name: &str, beat: i64) -> Node {
        Node { name: name.to_owned(), beat_at: Some(from_millis(beat)) }
    }

    fn dead(watch: &mut Watch, nodes: &[(&str, i64)], now: Instant) -> Vec<String> {
        let nodes = nodes.iter().map(|(name, beat)| node(name, *beat)).collect();
        watch.look(nodes, now).into_iter().map(|node| node.name).collect()
    }

    #[test]
    fn node_is_dead_after_its_heartbeat_stays_unchanged() {
        let (mut watch, began) = (Watch::new(20 * S, 10 * S), Instant::now());
        for second in [0, 5, 10, 15] {
            assert_eq!(dead(&mut watch, &[("a", 1), ("b", second)], began + S * second as u32), [""; 0]);
        }
        assert_eq!(dead(&mut watch, &[("a", 1), ("b", 20)], began + 20 * S), ["a"]);
        assert_eq!(dead(&mut watch, &[("a", 2), ("b", 25)], began + 25 * S), [""; 0], "it lives after all");
    }

    #[test]
    fn clock_skew_does_not_make_nodes_dead() {
        let (mut watch, began) = (Watch::new(20 * S, 10 * S), Instant::now());
        for step in 0..10 {
            // That node's clock is years behind.
            assert_eq!(dead(&mut watch, &[("a", i64::from(step) * 5000)], began + S * (step * 5)), [""; 0]);
        }
    }

    #[test]
    fn watching_starts_over_after_an_outage() {
        let (mut watch, began) = (Watch::new(20 * S, 10 * S), Instant::now());
        for second in [0, 5, 10] {
            assert_eq!(dead(&mut watch, &[("a", 1)], began + S * second), [""; 0]);
        }
        // The database was unreachable for all nodes until now.
        watch.forget();
        assert_eq!(dead(&mut watch, &[("a", 1)], began + 40 * S), [""; 0]);
        // A statement hung instead of failing, or the machine was suspended.
        assert_eq!(dead(&mut watch, &[("a", 1)], began + 100 * S), [""; 0]);
        assert_eq!(dead(&mut watch, &[("a", 1)], began + 105 * S), [""; 0]);
        assert_eq!(dead(&mut watch, &[("a", 2)], began + 110 * S), [""; 0]);
    }

    #[test]
    fn node_that_left_is_dead_at_once() {
        let mut watch = Watch::new(20 * S, 10 * S);
        let gone = Node { name: "a".to_owned(), beat_at: None };
        assert_eq!(watch.look(vec![gone.clone()], Instant::now()), [gone]);
    }
}
