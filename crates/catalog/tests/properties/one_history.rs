//! Interleavings of commits, losses, reads and restarts. A node that reads after a loss serves what
//! a node serves that starts empty, and finds that its history was cut exactly when it had read
//! what was lost. See `docs/decisions/016-one-history.md`.

use std::collections::{BTreeMap, HashMap};

use milepost_catalog::{Catalog, Continuity, Known, Serving};
use milepost_model::event::EventKind;
use proptest::prelude::*;

use crate::common::*;

const NODES: usize = 3;

#[derive(Debug, Clone)]
pub enum Step {
    Configure,
    Deploy,
    Tag(u8),
    Rollback,
    /// Another app takes row ids.
    Other,
    /// A node reads what is new.
    Read(usize),
    Restart(usize),
    /// Keeps a copy of the database.
    Save,
    /// Continues from the newest copy, as after a failover without the tail or a restore.
    Lose,
}

pub fn sequences() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => Just(Step::Configure),
        3 => Just(Step::Deploy),
        2 => any::<u8>().prop_map(Step::Tag),
        2 => Just(Step::Rollback),
        2 => Just(Step::Other),
        8 => (0..NODES).prop_map(Step::Read),
        1 => (0..NODES).prop_map(Step::Restart),
        2 => Just(Step::Save),
        4 => Just(Step::Lose),
    ];
    prop::collection::vec(step, 10..50)
}

/// What a node has in memory, kept as the server keeps it.
#[derive(Default)]
struct Node {
    known: Known,
    members: HashMap<i64, Vec<i64>>,
    versions: HashMap<i64, String>,
}

/// What is served: the content behind each name.
type View = BTreeMap<String, Vec<String>>;

impl Node {
    async fn read(&mut self, catalog: &Catalog, t: &Fixture) -> (View, Continuity) {
        let seen = catalog.serving(&t.app, self.known.clone()).await.unwrap().unwrap();
        if seen.continuity != Continuity::Follows {
            *self = Self::default();
        }
        let continuity = seen.continuity;
        (self.take(seen), continuity)
    }

    fn take(&mut self, seen: Serving) -> View {
        let told = |version: &milepost_catalog::ServingVersion| {
            format!("{} {} {} {}", version.kind, version.name, version.number, version.digest)
        };
        self.versions.extend(seen.versions.iter().map(|(id, version)| (*id, told(version))));
        self.members.extend(seen.members);
        let content = |release: &milepost_catalog::ServingRelease| {
            let mut content: Vec<String> =
                self.members[&release.app_version].iter().map(|id| self.versions[id].clone()).collect();
            content.sort();
            content
        };
        let mut view = View::new();
        for release in &seen.releases {
            let names = release.tags.iter().map(ToString::to_string).chain([release.id.clone()]);
            let pointers = [("live", &seen.live), ("latest", &seen.latest)];
            let pointers = pointers.into_iter().filter(|(_, at)| at.as_deref() == Some(&release.id));
            for name in names.chain(pointers.map(|(name, _)| name.to_owned())) {
                view.insert(name, content(release));
            }
        }
        self.known = Known {
            position: Some(seen.position),
            app_versions: self.members.keys().copied().collect(),
            versions: self.versions.keys().copied().collect(),
            active: seen.releases.iter().map(|release| release.id.clone()).collect(),
            newest_release: seen.newest_release,
        };
        view
    }
}

pub async fn invariant_10_a_node_serves_what_the_ledger_holds(t: &mut Fixture, steps: &[Step]) {
    let mut nodes: [Node; NODES] = Default::default();
    // Events are named by when they happened, so that a number that is given again is another event.
    let mut read: [Option<String>; NODES] = Default::default();
    let other: milepost_model::AppName = format!("{}-other", t.app).parse().unwrap();
    t.catalog.app_create(&other, milepost_model::PlanName::Free, "ann").await.unwrap();
    let mut saved = None;
    let mut value = 0;
    for (number, step) in steps.iter().enumerate() {
        value += 1;
        match step {
            Step::Configure => drop(t.put([config("n", value)]).await),
            Step::Deploy => drop(t.deploy("hello", &format!("code {value}")).await),
            Step::Tag(which) => {
                let active = t.active().await;
                if let Some(release) = active.get(usize::from(*which) % active.len().max(1)) {
                    t.clock.advance_ms(1000);
                    t.tag("good", release).await.unwrap();
                }
            }
            Step::Rollback => {
                t.clock.advance_ms(1000);
                let back = milepost_catalog::RollbackInput { to: None, why: String::new(), dry_run: false };
                // Refused where there is nothing to go back to.
                let _ = t.catalog.rollback(&t.app, "liz", back).await;
            }
            Step::Other => {
                t.clock.advance_ms(1000);
                t.catalog.change(&other, input(change([config("n", value)]))).await.unwrap();
            }
            Step::Read(which) => {
                let events: Vec<String> = t.events().await.iter().map(happened).collect();
                let lost = read[*which].as_ref().is_some_and(|newest| !events.contains(newest));
                let (view, continuity) = nodes[*which].read(&t.catalog, t).await;
                let (fresh, _) = Node::default().read(&t.catalog, t).await;
                assert_eq!(view, fresh, "step {number}");
                let expected = if lost { Continuity::Cut } else { Continuity::Follows };
                assert_eq!(continuity, expected, "step {number}: node {which} had read {:?}", read[*which]);
                read[*which] = events.last().cloned();
            }
            Step::Restart(which) => {
                nodes[*which] = Node::default();
                read[*which] = None;
            }
            Step::Save => saved = Some(t.save().await),
            Step::Lose => {
                if let Some(saved) = &saved {
                    t.lose(saved, number as u64).await;
                }
            }
        }
    }
    for node in &mut nodes {
        let (view, _) = node.read(&t.catalog, t).await;
        assert_eq!(view, Node::default().read(&t.catalog, t).await.0, "at the end");
    }
}

fn happened(event: &milepost_model::event::Event) -> String {
    format!("{} {} {} {:?}", event.id, event.at, event.kind, event.after)
}

pub async fn a_cut_is_recorded_once(t: &mut Fixture) {
    t.put([config("n", 1)]).await;
    let saved = t.save().await;
    t.put([config("n", 2)]).await;
    let mut node = Node::default();
    node.read(&t.catalog, t).await;
    let lost = node.known.position.unwrap();
    t.lose(&saved, 99).await;
    for expected in [true, false] {
        assert_eq!(t.catalog.history_cut(&t.app, lost).await.unwrap(), expected);
    }
    let cut = t.events().await.pop().unwrap();
    assert_eq!((cut.kind.as_str(), cut.subject), (EventKind::HistoryCut.as_str(), format!("event {}", lost.event)));
    assert_eq!(cut.before.unwrap()["digest"], lost.digest.unwrap().to_string());
}
