//! Which packages the views of this node lead to, and which of those are still to be noted.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use milepost_model::{AppName, Digest};
use tokio::time::Instant;

/// How long those that could not be noted are left alone: what is slow is not made faster by asking.
const AGAIN_AFTER: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(super) struct Needs {
    apps: HashMap<AppName, HashSet<Digest>>,
    /// How many apps need each.
    needed: HashMap<Digest, usize>,
    /// Needed and not noted, each with whether that was tried.
    missing: HashMap<Digest, bool>,
    /// Their notes are to be removed, unless they are needed again by then.
    left: Vec<Digest>,
    /// Somebody is at it: one at a time, so that a note is not removed while it is written.
    at_work: bool,
    /// Since when there are some that could not be noted.
    failing_since: Option<Instant>,
}

/// What is to be done next.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    pub(super) remove: Vec<Digest>,
    pub(super) note: Vec<Digest>,
}

impl Needs {
    /// The app's view leads to these, and to no others any more. Whether somebody must go to work.
    pub(super) fn set(&mut self, app: &AppName, packages: HashSet<Digest>) -> bool {
        for package in &packages {
            let apps = self.needed.entry(*package).or_default();
            if *apps == 0 {
                self.missing.insert(*package, false);
            }
            *apps += 1;
        }
        // Those of before go last, so that what stays is at no time left.
        let before = if packages.is_empty() { self.apps.remove(app) } else { self.apps.insert(app.clone(), packages) };
        for package in before.into_iter().flatten() {
            let Some(apps) = self.needed.get_mut(&package) else { continue };
            *apps -= 1;
            if *apps == 0 {
                self.needed.remove(&package);
                self.missing.remove(&package);
                self.left.push(package);
            }
        }
        self.forget_failures();
        self.begin()
    }

    /// Whether what could not be noted should be tried again by now.
    pub(super) fn again(&mut self) -> bool {
        if self.at_work || self.failing_since.is_none_or(|since| since.elapsed() < AGAIN_AFTER) {
            return false;
        }
        self.failing_since = None;
        self.missing.values_mut().for_each(|tried| *tried = false);
        self.begin()
    }

    fn begin(&mut self) -> bool {
        let begins = !self.at_work && (!self.left.is_empty() || self.missing.values().any(|tried| !tried));
        self.at_work |= begins;
        begins
    }

    /// `None` when all is done for now: whoever is at work stops.
    pub(super) fn next(&mut self) -> Option<Work> {
        let mut remove = std::mem::take(&mut self.left);
        remove.retain(|package| !self.needed.contains_key(package));
        let untried = self.missing.iter_mut().filter(|(_, tried)| !**tried);
        let note: Vec<Digest> = untried
            .map(|(package, tried)| {
                *tried = true;
                *package
            })
            .collect();
        if remove.is_empty() && note.is_empty() {
            self.stop();
            return None;
        }
        Some(Work { remove, note })
    }

    /// Nobody is at work any more. What is missing now could not be noted.
    pub(super) fn stop(&mut self) {
        self.at_work = false;
        // The time of the first that failed counts: new packages do not put off the others.
        if !self.missing.is_empty() {
            self.failing_since.get_or_insert_with(Instant::now);
        }
    }

    pub(super) fn noted(&mut self, package: Digest) {
        // One that was left and is needed again since then is looked at once more: its note may be about to go.
        if self.missing.get(&package) == Some(&true) {
            self.missing.remove(&package);
        }
        self.forget_failures();
    }

    /// When none of those that failed is left, the next that fails is the first.
    fn forget_failures(&mut self) {
        if self.failing_since.is_some() && !self.missing.values().any(|tried| *tried) {
            self.failing_since = None;
        }
    }

    pub(super) fn is_needed(&self, package: Digest) -> bool {
        self.needed.contains_key(&package)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app(name: &str) -> AppName {
        name.parse().expect("a name")
    }

    fn package(name: &str) -> Digest {
        Digest::of(name.as_bytes())
    }

    fn packages(names: &[&str]) -> HashSet<Digest> {
        names.iter().map(|name| package(name)).collect()
    }

    fn note(names: &[&str]) -> Option<Work> {
        Some(Work { note: names.iter().map(|name| package(name)).collect(), ..Work::default() })
    }

    fn remove(names: &[&str]) -> Option<Work> {
        Some(Work { remove: names.iter().map(|name| package(name)).collect(), ..Work::default() })
    }

    #[tokio::test]
    async fn a_note_is_written_once_and_goes_with_the_last_app_that_needs_it() {
        let mut needs = Needs::default();
        assert!(needs.set(&app("one"), packages(&["shared"])), "there is work");
        assert!(!needs.set(&app("two"), packages(&["shared"])), "somebody is at it");
        assert_eq!(needs.next(), note(&["shared"]));
        needs.noted(package("shared"));
        assert_eq!(needs.next(), None);
        assert!(!needs.set(&app("one"), packages(&[])), "the other one needs it");
        assert!(!needs.set(&app("two"), packages(&["shared"])), "nothing is new");
        assert!(needs.set(&app("two"), packages(&["other"])), "it is left, and there is another one");
        let both = Work { remove: vec![package("shared")], note: vec![package("other")] };
        assert_eq!(needs.next(), Some(both));
        needs.noted(package("other"));
        assert_eq!(needs.next(), None);
        assert!(needs.set(&app("two"), packages(&[])));
        assert_eq!(needs.next(), remove(&["other"]));
        assert_eq!(needs.next(), None);
        assert!(needs.apps.is_empty() && needs.needed.is_empty() && needs.missing.is_empty(), "nothing is kept");
    }

    #[tokio::test]
    async fn a_package_that_is_left_and_needed_again_while_it_is_noted_is_looked_at_once_more() {
        let mut needs = Needs::default();
        assert!(needs.set(&app("shop"), packages(&["cold"])));
        assert_eq!(needs.next(), note(&["cold"]));
        needs.set(&app("shop"), packages(&[]));
        needs.set(&app("shop"), packages(&["cold"]));
        needs.noted(package("cold"));
        assert_eq!(needs.next(), note(&["cold"]), "and its note is not removed");
        needs.noted(package("cold"));
        assert_eq!(needs.next(), None);
    }

    #[tokio::test]
    async fn a_package_that_is_left_while_it_is_noted_loses_the_note_afterwards() {
        let mut needs = Needs::default();
        assert!(needs.set(&app("shop"), packages(&["cold"])));
        assert_eq!(needs.next(), note(&["cold"]));
        needs.set(&app("shop"), packages(&[]));
        needs.noted(package("cold"));
        assert_eq!(needs.next(), remove(&["cold"]));
        assert_eq!(needs.next(), None);
    }

    #[tokio::test]
    async fn what_could_not_be_noted_is_left_alone_for_a_while_and_then_tried_again() {
        let mut needs = Needs::default();
        assert!(needs.set(&app("shop"), packages(&["gone"])));
        assert_eq!(needs.next(), note(&["gone"]));
        assert_eq!(needs.next(), None, "it is tried once");
        assert!(!needs.set(&app("shop"), packages(&["gone"])), "and not with every view");
        assert!(!needs.again(), "it is too soon");
        needs.failing_since = Instant::now().checked_sub(AGAIN_AFTER);
        assert!(needs.again());
        assert_eq!(needs.next(), note(&["gone"]));
    }

    #[tokio::test]
    async fn one_that_fails_when_those_of_before_are_gone_is_left_alone_for_as_long_as_they_were() {
        let mut needs = Needs::default();
        let fail = |needs: &mut Needs, name: &str| {
            assert!(needs.set(&app("shop"), packages(&[name])));
            while needs.next().is_some() {}
        };
        fail(&mut needs, "gone");
        needs.failing_since = Instant::now().checked_sub(AGAIN_AFTER);
        fail(&mut needs, "other");
        assert!(!needs.again(), "the time of the one before does not count");
        // The same when they go while somebody is at work on others.
        needs.failing_since = Instant::now().checked_sub(AGAIN_AFTER);
        assert!(needs.set(&app("two"), packages(&["sound"])));
        assert_eq!(needs.next(), note(&["sound"]));
        needs.set(&app("shop"), packages(&[]));
        needs.noted(package("sound"));
        assert_eq!(needs.next(), remove(&["other"]));
        assert_eq!((needs.next(), needs.failing_since), (None, None));
    }
}
