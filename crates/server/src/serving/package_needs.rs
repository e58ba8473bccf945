//! Tracks which packages this node's views need, and which of those still need a note.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use milepost_model::{AppName, Digest};
use tokio::time::Instant;

/// Delay before retrying failed notes. Asking more often does not make a slow store faster.
const AGAIN_AFTER: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(super) struct Needs {
    apps: HashMap<AppName, HashSet<Digest>>,
    /// How many apps need each package.
    needed: HashMap<Digest, usize>,
    /// Needed packages without a note, and whether writing one was tried.
    missing: HashMap<Digest, bool>,
    /// Packages whose notes are to be removed, unless they are needed again by then.
    left: Vec<Digest>,
    /// Whether a task is processing. Only one runs at a time, so that a note is not removed while
    /// it is being written.
    at_work: bool,
    /// When the first of the current failures happened.
    failing_since: Option<Instant>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    pub(super) remove: Vec<Digest>,
    pub(super) note: Vec<Digest>,
}

impl Needs {
    /// Sets the packages that an app's view needs. Returns whether the caller must start a task.
    pub(super) fn set(&mut self, app: &AppName, packages: HashSet<Digest>) -> bool {
        for package in &packages {
            let apps = self.needed.entry(*package).or_default();
            if *apps == 0 {
                self.missing.insert(*package, false);
            }
            *apps += 1;
        }
        // Releases the previous packages last, so that the count of those that stay never reaches
        // 0.
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

    /// Returns whether the caller must start a task to retry failed notes.
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

    /// Returns `None` when nothing is left to do. The task must stop then.
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

    /// Marks the task as stopped. All notes that are still missing have failed.
    pub(super) fn stop(&mut self) {
        self.at_work = false;
        // Keeps the time of the first failure, so that new packages do not delay the retry of
        // others.
        if !self.missing.is_empty() {
            self.failing_since.get_or_insert_with(Instant::now);
        }
    }

    pub(super) fn noted(&mut self, package: Digest) {
        // A package that was released and is needed again is processed once more, because its note
        // may be about to be removed.
        if self.missing.get(&package) == Some(&true) {
            self.missing.remove(&package);
        }
        self.forget_failures();
    }

    /// Resets the time when no failure is left, so that the next failure starts a new delay.
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
    async fn writes_a_note_once_and_removes_it_with_its_last_app() {
        let mut needs = Needs::default();
        assert!(needs.set(&app("one"), packages(&["shared"])), "there is work");
        assert!(!needs.set(&app("two"), packages(&["shared"])), "another task has the turn");
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
    async fn package_needed_again_while_noted_is_noted_again() {
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
    async fn package_released_while_noted_loses_its_note() {
        let mut needs = Needs::default();
        assert!(needs.set(&app("shop"), packages(&["cold"])));
        assert_eq!(needs.next(), note(&["cold"]));
        needs.set(&app("shop"), packages(&[]));
        needs.noted(package("cold"));
        assert_eq!(needs.next(), remove(&["cold"]));
        assert_eq!(needs.next(), None);
    }

    #[tokio::test]
    async fn retries_failed_notes_after_a_delay() {
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
    async fn delay_restarts_when_earlier_failures_are_gone() {
        let mut needs = Needs::default();
        let fail = |needs: &mut Needs, name: &str| {
            assert!(needs.set(&app("shop"), packages(&[name])));
            while needs.next().is_some() {}
        };
        fail(&mut needs, "gone");
        needs.failing_since = Instant::now().checked_sub(AGAIN_AFTER);
        fail(&mut needs, "other");
        assert!(!needs.again(), "the time of the one before does not count");
        // The same if they are released while the task is processing others.
        needs.failing_since = Instant::now().checked_sub(AGAIN_AFTER);
        assert!(needs.set(&app("two"), packages(&["sound"])));
        assert_eq!(needs.next(), note(&["sound"]));
        needs.set(&app("shop"), packages(&[]));
        needs.noted(package("sound"));
        assert_eq!(needs.next(), remove(&["other"]));
        assert_eq!((needs.next(), needs.failing_since), (None, None));
    }
}
