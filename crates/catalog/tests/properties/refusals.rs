//! Which refusal an operation must meet. The model decides before the real app is asked, so that an
//! app which refuses too much fails as one that refuses too little.

use std::collections::BTreeSet;

use milepost_model::{Code, UnitKind};

use crate::operations::UseKind;
use crate::users::Triggers;
use crate::world::World;

/// A unit such as `function f0`, and the number of a version.
type Numbered = (String, i64);

impl World<'_> {
    /// Returns what a delete must answer: the releases that expire, oldest first, or the refusal.
    pub fn delete_answer(&self, kind: UnitKind, name: &str, which: &str) -> Result<Vec<String>, Code> {
        let unit = format!("{kind} {name}");
        if !self.manifest.contains_key(&unit) {
            return Err(Code::UnitNotFound);
        }
        let targets = self.targets(&unit, which);
        let holders = self.active.iter().filter(|(_, uid)| targets.iter().any(|target| self.holds(uid, target)));
        let expiring: Vec<String> = holders.map(|(release, _)| release.clone()).collect();
        let held = expiring.iter().any(|release| self.protected(release));
        if held
            || targets.iter().any(|target| self.is_aliased(target) || self.is_triggered(target) || self.is_used(target))
        {
            return Err(Code::InUse);
        }
        let current = |(unit, number): &Numbered| self.manifest.get(unit) == Some(number);
        if !targets.iter().any(current) && !self.active.is_empty() && expiring.len() == self.active.len() {
            // Nothing would be live, and the head does not change, so there is no new release.
            return Err(Code::InUse);
        }
        let leaves = |function: &str| {
            let unit = format!("function {function}");
            self.manifest.contains_key(&unit)
                && self.numbers(&unit).iter().all(|number| targets.contains(&(unit.clone(), *number)))
        };
        let triggered = self.triggers.values().map(|(function, _)| function);
        let started = self.users.iter().filter(|user| user.kind != UseKind::Execution).map(|user| &user.function);
        if triggered.chain(started).any(|function| leaves(function)) {
            return Err(Code::StillReferenced);
        }
        Ok(expiring)
    }

    /// The named versions, and the function versions built on them.
    fn targets(&self, unit: &str, which: &str) -> BTreeSet<Numbered> {
        let named = match which.parse() {
            Ok(number) => vec![number],
            Err(_) => self.numbers(unit),
        };
        let named: BTreeSet<Numbered> = named.into_iter().map(|number| (unit.to_owned(), number)).collect();
        let listed =
            |(unit, number): &Numbered| self.versions.get(unit).is_some_and(|known| known.contains_key(number));
        let built_on = self.built_on.iter().filter(|(function, package)| named.contains(package) && listed(function));
        let built_on: Vec<Numbered> = built_on.map(|(function, _)| function.clone()).collect();
        named.into_iter().chain(built_on).collect()
    }

    fn is_aliased(&self, (unit, number): &Numbered) -> bool {
        self.aliases.iter().any(|((function, _), at)| at == number && format!("function {function}") == *unit)
    }

    fn is_triggered(&self, target: &Numbered) -> bool {
        pins(&self.triggers).any(|pin| pin == *target)
    }

    /// Whether a job or webhook is pinned to the version, or an execution of it has not ended.
    fn is_used(&self, (unit, number): &Numbered) -> bool {
        self.users.iter().any(|user| user.version == Some(*number) && format!("function {}", user.function) == *unit)
    }

    /// Whether a trigger, a job or a webhook needs the function.
    pub fn is_needed(&self, function: &str) -> bool {
        self.triggers.values().any(|(target, _)| target == function)
            || self.users.iter().any(|user| user.kind != UseKind::Execution && user.function == function)
    }

    /// Whether an app version holds the version: as its own unit, or because a function of it is
    /// built on it, or a trigger of it is pinned to it.
    fn holds(&self, app_version: &str, target: &Numbered) -> bool {
        let manifest = self.app_versions.iter().find(|(uid, _)| uid == app_version).map(|(_, manifest)| manifest);
        let members = manifest.into_iter().flatten().map(|(unit, number)| (unit.clone(), *number));
        let triggers = self.triggers_of.get(app_version);
        triggers.is_some_and(|triggers| pins(triggers).any(|pin| pin == *target))
            || members.into_iter().any(|member| member == *target || self.built_on.get(&member) == Some(target))
    }

    /// Whether a version that the app version needs was deleted.
    fn is_incomplete(&self, app_version: &str) -> bool {
        self.gone.iter().any(|gone| self.holds(app_version, gone))
    }

    /// Returns what releasing an app version by hand must answer: the releases that make room, or
    /// the refusal.
    pub fn release_answer(&self, app_version: &str) -> Result<Vec<String>, Code> {
        if self.is_incomplete(app_version) {
            return Err(Code::VersionDeleted);
        }
        self.making_room().ok_or(Code::NoRoom)
    }

    /// Returns the app version that a rollback leads to, and the releases that make room if it must
    /// be released again, or the refusal. Live is pinned where it is before anything makes room.
    pub fn rollback_answer(&mut self) -> Result<(String, Option<Vec<String>>), Code> {
        let Some(target) = self.live_path.iter().rev().nth(1).cloned() else { return Err(Code::NothingToRollBackTo) };
        if self.active.iter().any(|(_, uid)| *uid == target) {
            return Ok((target, None));
        }
        let pinned = std::mem::replace(&mut self.pinned, true);
        let answer = self.release_answer(&target);
        self.pinned = pinned;
        Ok((target, Some(answer?)))
    }

    /// Follows where live went, for the next rollback. A move back forgets what was live in between.
    pub fn live_went(&mut self, back: bool) {
        let Some(live) = &self.live else { return };
        let Some((_, place)) = self.releases.iter().find(|(release, _)| release == live).cloned() else { return };
        match self.live_path.iter().rposition(|earlier| *earlier == place) {
            Some(at) if back => self.live_path.truncate(at + 1),
            _ if self.live_path.last() == Some(&place) => {}
            _ => self.live_path.push(place),
        }
    }
}

/// The function versions that triggers are pinned to.
fn pins(triggers: &Triggers) -> impl Iterator<Item = Numbered> {
    triggers.values().filter_map(|(function, number)| Some((format!("function {function}"), (*number)?)))
}
