//! Who is dead. A node judges by what it saw itself and by its own clock: a peer whose beat did not change while this node
//! looked at it again and again. A database that nobody could reach, or a node that stood still, leaves old beats behind
//! that say nothing; then watching begins anew.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use milepost_catalog::Node;
use milepost_model::Timestamp;

#[derive(Debug)]
pub(super) struct Watch {
    dead_after: Duration,
    /// With more time between two looks this node was not watching.
    longest_gap: Duration,
    last_look: Option<Instant>,
    /// The beat of each node, and since when it has been this one.
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

    /// The dead ones of the nodes that run something: those that have left, and those without a new beat for too long.
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
    fn a_node_is_dead_when_its_beat_was_seen_unchanged_for_long_enough() {
        let (mut watch, began) = (Watch::new(20 * S, 10 * S), Instant::now());
        for second in [0, 5, 10, 15] {
            assert_eq!(dead(&mut watch, &[("a", 1), ("b", second)], began + S * second as u32), [""; 0]);
        }
        assert_eq!(dead(&mut watch, &[("a", 1), ("b", 20)], began + 20 * S), ["a"]);
        assert_eq!(dead(&mut watch, &[("a", 2), ("b", 25)], began + 25 * S), [""; 0], "it lives after all");
    }

    #[test]
    fn clocks_that_differ_kill_nobody() {
        let (mut watch, began) = (Watch::new(20 * S, 10 * S), Instant::now());
        for step in 0..10 {
            // The clock of that machine is years behind.
            assert_eq!(dead(&mut watch, &[("a", i64::from(step) * 5000)], began + S * (step * 5)), [""; 0]);
        }
    }

    #[test]
    fn after_an_outage_everybody_has_time_to_beat_again() {
        let (mut watch, began) = (Watch::new(20 * S, 10 * S), Instant::now());
        for second in [0, 5, 10] {
            assert_eq!(dead(&mut watch, &[("a", 1)], began + S * second), [""; 0]);
        }
        // The database was away for everybody, until just now.
        watch.forget();
        assert_eq!(dead(&mut watch, &[("a", 1)], began + 40 * S), [""; 0]);
        // A statement that hung instead of failing, or a machine that slept.
        assert_eq!(dead(&mut watch, &[("a", 1)], began + 100 * S), [""; 0]);
        assert_eq!(dead(&mut watch, &[("a", 1)], began + 105 * S), [""; 0]);
        assert_eq!(dead(&mut watch, &[("a", 2)], began + 110 * S), [""; 0]);
    }

    #[test]
    fn one_that_has_left_is_gone_at_once() {
        let mut watch = Watch::new(20 * S, 10 * S);
        let gone = Node { name: "a".to_owned(), beat_at: None };
        assert_eq!(watch.look(vec![gone.clone()], Instant::now()), [gone]);
    }
}
