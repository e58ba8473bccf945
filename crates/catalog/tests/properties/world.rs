//! A small model of an app next to the real one. Each step runs on both, and the predictions of the
//! model are checked.

use std::collections::{BTreeMap, BTreeSet};

use milepost_catalog::{LiveTarget, RollbackInput};
use milepost_model::base::Base;
use milepost_model::change::{Change, UnitAction};
use milepost_model::{ChangeOutcome, Code, UnitKind};

use crate::common::*;
use crate::operations::{Operation, UseKind};
use crate::users::{Triggers, User};

/// Units such as `function f0`, with the number of their version.
pub type Manifest = BTreeMap<String, i64>;

/// The number of active releases that the plan `free` allows.
const BOUND: usize = 3;

pub struct World<'t> {
    pub t: &'t Fixture,
    pub manifest: Manifest,
    /// Every app version by uid, with its units.
    pub app_versions: Vec<(String, Manifest)>,
    /// The content of each version that is listed and selectable.
    pub versions: BTreeMap<String, BTreeMap<i64, u8>>,
    /// Active releases, oldest first, with their app versions.
    pub active: Vec<(String, String)>,
    pub tags: BTreeMap<String, String>,
    pub live: Option<String>,
    pub pinned: bool,
    pub aliases: BTreeMap<(String, String), i64>,
    /// The moves of each alias, and whether a move was a rollback.
    pub alias_moves: BTreeMap<(String, String), Vec<(i64, bool)>>,
    /// Every label that was ever assigned, with its version, deleted or not.
    pub labels: BTreeMap<(String, String), i64>,
    /// Routes and timers such as `timer t`.
    pub triggers: Triggers,
    /// The triggers of each app version.
    pub triggers_of: BTreeMap<String, Triggers>,
    /// Jobs, webhooks and open executions.
    pub users: Vec<User>,
    /// The package version that each function version was built on.
    pub built_on: BTreeMap<(String, i64), (String, i64)>,
    /// The versions that were deleted or swept.
    pub gone: BTreeSet<(String, i64)>,
    /// Every release that was ever made, with its app version.
    pub releases: Vec<(String, String)>,
    /// The app versions that were live on the way to the current one, which is last.
    pub live_path: Vec<String>,
    /// The content of every version that was ever made.
    history: BTreeMap<(String, i64), u8>,
}

pub fn pick<T>(items: &[T], position: u8) -> Option<&T> {
    items.get(usize::from(position) % items.len().max(1))
}

impl<'t> World<'t> {
    pub fn new(t: &'t Fixture) -> Self {
        Self {
            t,
            manifest: Manifest::new(),
            app_versions: Vec::new(),
            versions: BTreeMap::new(),
            active: Vec::new(),
            tags: BTreeMap::new(),
            live: None,
            pinned: false,
            aliases: BTreeMap::new(),
            alias_moves: BTreeMap::new(),
            labels: BTreeMap::new(),
            triggers: Triggers::new(),
            triggers_of: BTreeMap::new(),
            users: Vec::new(),
            built_on: BTreeMap::new(),
            gone: BTreeSet::new(),
            releases: Vec::new(),
            live_path: Vec::new(),
            history: BTreeMap::new(),
        }
    }

    pub async fn step(&mut self, operation: &Operation) {
        self.t.clock.advance_ms(1000);
        match *operation {
            Operation::Deploy { function, code, force, label } => {
                let label = label.map(|label| format!("label-{label}"));
                self.deploy(&format!("f{function}"), code, force, label).await;
            }
            Operation::Configure { value, release } => self.configure(value, release).await,
            Operation::Secret { value } => self.secret(value).await,
            Operation::Trigger { timer, function, version } => {
                self.trigger(timer, &format!("f{function}"), version).await;
            }
            Operation::Untrigger { timer } => self.untrigger(timer).await,
            Operation::Use { kind, function, version } => self.start_use(kind, &format!("f{function}"), version).await,
            Operation::EndUse { user } => self.end_use(user).await,
            Operation::Drain => self.drain().await,
            Operation::Fire => self.fire().await,
            Operation::Remove { function } => self.remove(&format!("f{function}")).await,
            Operation::Delete { function, package, version } => {
                let kind = if package { UnitKind::Package } else { UnitKind::Function };
                let name = format!("f{function}");
                let numbers: Vec<i64> = self.numbers(&format!("{kind} {name}"));
                if let Some(number) = pick(&numbers, version) {
                    self.delete(kind, &name, &number.to_string()).await;
                }
            }
            Operation::DeleteAll { function } => self.delete(UnitKind::Function, &format!("f{function}"), "all").await,
            Operation::Alias { function, name, version } => {
                self.alias(&format!("f{function}"), &format!("a{name}"), version).await;
            }
            Operation::AliasBack { function, name } => {
                self.alias_back(&format!("f{function}"), &format!("a{name}")).await;
            }
            Operation::AliasDelete { function, name } => {
                self.alias_delete(&format!("f{function}"), &format!("a{name}")).await;
            }
            Operation::Tag { name, release } => self.tag(&format!("t{name}"), release).await,
            Operation::Untag { name } => self.untag(&format!("t{name}")).await,
            Operation::Pin { release } => self.pin(release).await,
            Operation::Follow => self.follow().await,
            Operation::Rollback => self.rollback().await,
            Operation::Release { app_version } => self.release(app_version).await,
            Operation::Expire { release } => self.expire(release).await,
            Operation::Sweep => self.sweep().await,
            Operation::DeployOnLive { function, code } => self.deploy_on_live(&format!("f{function}"), code).await,
            Operation::ConfigureOnLive { value } => {
                self.on_live(change([config("value", value)]), &[("config config".into(), value)], value).await;
            }
        }
        self.live_went(matches!(operation, Operation::Rollback));
        if let Some((uid, _)) = self.app_versions.last() {
            self.triggers_of.entry(uid.clone()).or_insert_with(|| self.triggers.clone());
        }
    }

    pub fn numbers(&self, unit: &str) -> Vec<i64> {
        self.versions.get(unit).into_iter().flat_map(BTreeMap::keys).copied().collect()
    }

    pub fn content(&self, unit: &str) -> Option<u8> {
        self.versions.get(unit)?.get(self.manifest.get(unit)?).copied()
    }

    pub fn protected(&self, release: &str) -> bool {
        self.tags.values().any(|tagged| tagged == release) || (self.pinned && self.live.as_deref() == Some(release))
    }

    /// Returns the releases that expire for a new one, or `None` if all are protected.
    pub fn making_room(&self) -> Option<Vec<String>> {
        let excess = (self.active.len() + 1).saturating_sub(BOUND);
        let free = self.active.iter().map(|(id, _)| id.clone()).filter(|id| !self.protected(id));
        let going: Vec<String> = free.take(excess).collect();
        (going.len() == excess).then_some(going)
    }

    fn released(&mut self, id: String, app_version: String, expired: &[String]) {
        self.active.retain(|(active, _)| !expired.contains(active));
        self.active.push((id.clone(), app_version.clone()));
        self.releases.push((id.clone(), app_version));
        if !self.pinned {
            self.live = Some(id);
        }
    }

    pub async fn change(&mut self, change: Change, code: u8, expected: bool) {
        let wants_release = change.release;
        let room = self.making_room();
        let result = self.t.send(change).await;
        if expected && wants_release && room.is_none() {
            assert_eq!(refused(result).code, Code::NoRoom);
            return;
        }
        let outcome = result.unwrap();
        assert_eq!(outcome.changed, expected, "{outcome:?}");
        if !expected {
            assert_eq!(outcome.app_version.as_ref(), self.app_versions.last().map(|(uid, _)| uid));
            return;
        }
        assert_eq!(outcome.expired, room.filter(|_| wants_release).unwrap_or_default());
        self.absorb(outcome, code);
    }

    /// Applies the outcome of a change to the model.
    pub fn absorb(&mut self, outcome: ChangeOutcome, code: u8) {
        for unit in &outcome.versions {
            let key = format!("{} {}", unit.kind, unit.name);
            match (unit.action, unit.number) {
                (UnitAction::Deleted, Some(number)) => {
                    self.versions.entry(key.clone()).or_default().remove(&number);
                    self.gone.insert((key, number));
                }
                (UnitAction::Removed, _) => {
                    self.manifest.remove(&key);
                    self.versions.remove(&key);
                    self.aliases.retain(|(function, _), _| format!("function {function}") != key);
                    self.alias_moves.retain(|(function, _), _| format!("function {function}") != key);
                }
                (action, Some(number)) => {
                    if matches!(action, UnitAction::Created | UnitAction::Updated) {
                        self.versions.entry(key.clone()).or_default().insert(number, code);
                        self.history.insert((key.clone(), number), code);
                    }
                    self.manifest.insert(key, number);
                }
                (_, None) => {}
            }
        }
        for unit in &outcome.versions {
            let made = matches!(unit.action, UnitAction::Created | UnitAction::Updated);
            let package = (format!("package {}", unit.name), self.manifest.get(&format!("package {}", unit.name)));
            if let (UnitKind::Function, true, Some(number), (package, Some(on))) =
                (unit.kind, made, unit.number, package)
            {
                self.built_on.insert((format!("function {}", unit.name), number), (package, *on));
            }
        }
        if let Some(uid) = &outcome.app_version {
            self.app_versions.push((uid.clone(), self.manifest.clone()));
        }
        self.active.retain(|(active, _)| !outcome.expired.contains(active));
        if let Some(release) = outcome.release {
            self.released(release.id, release.app_version, &outcome.expired);
        } else if !self.pinned {
            self.live = self.active.last().map(|(id, _)| id.clone());
        }
    }

    async fn deploy(&mut self, name: &str, code: u8, force: bool, label: Option<String>) {
        let tree = self.t.tree(&format!("code {code}")).await;
        let (package_key, function_key) = (format!("package {name}"), format!("function {name}"));
        let same = self.content(&package_key) == Some(code) && self.content(&function_key) == Some(code);
        let mut function = function_on(name, name);
        function.force = force;
        let Some(label) = label else {
            return self.change(change([package(name, tree), function]), code, !same || force).await;
        };
        let new = self.content(&function_key) != Some(code) || force;
        let change = change([package(name, tree), function.labelled(&label)]);
        if !new {
            // An existing version gets no further label.
            return self.change(change, code, !same).await;
        }
        let key = (function_key.clone(), label);
        if self.labels.contains_key(&key) {
            assert_eq!(refused(self.t.send(change).await).code, Code::LabelTaken);
            return;
        }
        let before = self.app_versions.len();
        self.change(change, code, true).await;
        if self.app_versions.len() > before {
            self.labels.insert(key, self.manifest[&function_key]);
        }
    }

    async fn configure(&mut self, value: u8, release: bool) {
        let same = self.content("config config") == Some(value);
        let change = Change { release, ..change([config("value", value)]) };
        self.change(change, value, !same).await;
    }

    async fn remove(&mut self, name: &str) {
        let kinds = [UnitKind::Function, UnitKind::Package];
        let present = kinds.into_iter().filter(|kind| self.manifest.contains_key(&format!("{kind} {name}")));
        let removes: Vec<_> = present.map(|kind| key(kind, name)).collect();
        if self.is_needed(name) && self.manifest.contains_key(&format!("function {name}")) {
            let refusal = refused(self.t.send(Change { removes, ..Change::default() }).await);
            assert_eq!(refusal.code, Code::StillReferenced);
        } else if !removes.is_empty() {
            self.change(Change { removes, ..Change::default() }, 0, true).await;
        }
    }

    async fn delete(&mut self, kind: UnitKind, name: &str, which: &str) {
        let expected = self.delete_answer(kind, name, which);
        match (self.t.delete(kind, name, which).await, expected) {
            (Ok(outcome), Ok(expiring)) => {
                assert!(outcome.expired.starts_with(&expiring), "{outcome:?} {expiring:?}");
                self.absorb(outcome, 0);
            }
            (result, expected) => assert_eq!(refused(result).code, expected.unwrap_err(), "{kind} {name} {which}"),
        }
    }

    async fn tag(&mut self, tag: &str, release: u8) {
        if let Some((id, _)) = pick(&self.active, release) {
            self.t.tag(tag, id).await.unwrap();
            self.tags.insert(tag.to_owned(), id.clone());
        }
    }

    async fn untag(&mut self, tag: &str) {
        let result = self.t.catalog.tag_delete(&self.t.app, "tim", tag.parse().unwrap()).await;
        assert_eq!(result.is_ok(), self.tags.remove(tag).is_some());
    }

    async fn pin(&mut self, release: u8) {
        if let Some((id, _)) = pick(&self.active, release).cloned() {
            let target = LiveTarget::Release(id.clone());
            self.t.catalog.live_set(&self.t.app, "liz", target, String::new()).await.unwrap();
            (self.pinned, self.live) = (true, Some(id));
        }
    }

    async fn follow(&mut self) {
        self.t.catalog.live_set(&self.t.app, "liz", LiveTarget::Follow, String::new()).await.unwrap();
        (self.pinned, self.live) = (false, self.active.last().map(|(id, _)| id.clone()));
    }

    async fn rollback(&mut self) {
        let input = RollbackInput { to: None, why: String::new(), dry_run: false };
        let expected = self.rollback_answer();
        match (self.t.catalog.rollback(&self.t.app, "liz", input).await, expected) {
            (Ok(done), Ok((app_version, making_room))) => {
                assert_eq!((&done.to.app_version, done.released_again), (&app_version, making_room.is_some()));
                assert_eq!(done.expired, making_room.unwrap_or_default());
                self.pinned = true;
                if done.released_again {
                    self.released(done.to.id.clone(), app_version, &done.expired);
                }
                self.live = Some(done.to.id);
            }
            (result, expected) => assert_eq!(refused(result).code, expected.unwrap_err()),
        }
    }

    async fn release(&mut self, app_version: u8) {
        let Some((uid, _)) = pick(&self.app_versions, app_version).cloned() else { return };
        let expected = self.release_answer(&uid);
        match (self.t.catalog.release_create(&self.t.app, "rob", Some(uid.clone()), String::new()).await, expected) {
            (Ok((release, expired)), Ok(making_room)) => {
                assert_eq!(expired, making_room);
                self.released(release.id, uid, &expired);
            }
            (result, expected) => assert_eq!(refused(result).code, expected.unwrap_err()),
        }
    }

    async fn expire(&mut self, release: u8) {
        let Some((id, _)) = pick(&self.active, release).cloned() else { return };
        let stays = self.protected(&id) || self.live.as_ref() == Some(&id);
        let result = self.t.catalog.release_expire(&self.t.app, "x", id.clone(), String::new()).await;
        match result {
            Ok(_) => assert!(!stays, "{id} expired"),
            Err(error) => assert_eq!((refused::<()>(Err(error)).code, stays), (Code::InUse, true)),
        }
        self.active.retain(|(active, _)| stays || *active != id);
    }

    async fn deploy_on_live(&mut self, name: &str, code: u8) {
        let tree = self.t.tree(&format!("code {code}")).await;
        let units = [(format!("package {name}"), code), (format!("function {name}"), code)];
        self.on_live(change([package(name, tree), function_on(name, name)]), &units, code).await;
    }

    /// A change on live that puts these units with this content.
    async fn on_live(&mut self, change: Change, puts: &[(String, u8)], code: u8) {
        let live = self.live.as_ref().and_then(|live| self.active.iter().find(|(id, _)| id == live)).cloned();
        let base = live.as_ref().and_then(|(_, uid)| self.app_versions.iter().find(|(known, _)| known == uid)).cloned();
        let result = self.t.send(Change { on: Base::Live, ..change }).await;
        if base.is_none() && !self.app_versions.is_empty() {
            assert_eq!(refused(result).code, Code::NoRelease);
            return;
        }
        let (base_uid, base) = base.unwrap_or_default();
        let differs = |(unit, code): &(String, u8)| {
            base.get(unit).is_none_or(|number| self.history[&(unit.clone(), *number)] != *code)
        };
        if !puts.iter().any(differs) {
            let outcome = result.unwrap();
            assert_eq!((outcome.changed, outcome.app_version), (false, Some(base_uid)));
            return;
        }
        let leaves = |unit: &String| !base.contains_key(unit) && !puts.iter().any(|(put, _)| put == unit);
        let aliased = self.aliases.keys().map(|(function, _)| function);
        let used = self.users.iter().filter(|user| user.kind != UseKind::Execution).map(|user| &user.function);
        let named = aliased.chain(used).any(|function| {
            let unit = format!("function {function}");
            self.manifest.contains_key(&unit) && leaves(&unit)
        });
        let room = self.making_room();
        if named || room.is_none() {
            let code = refused(result).code;
            assert!(code == if named { Code::StillReferenced } else { Code::NoRoom }, "{code:?}");
            return;
        }
        let outcome = result.unwrap();
        assert_eq!((outcome.changed, Some(&outcome.expired)), (true, room.as_ref()));
        let listed =
            |unit: &String, number: &i64| self.versions.get(unit).is_some_and(|known| known.contains_key(number));
        let back: Vec<String> =
            base.iter().filter(|(unit, number)| !listed(unit, number)).map(|(unit, _)| unit.clone()).collect();
        let gone: Vec<String> = self.manifest.keys().filter(|unit| leaves(unit)).cloned().collect();
        self.versions.retain(|unit, _| !gone.contains(unit));
        self.manifest.clone_from(&base);
        self.triggers = self.triggers_of.get(&base_uid).cloned().unwrap_or_default();
        self.absorb(outcome, code);
        // Restored versions and their pins are selectable again, but no other removed ones.
        for unit in back {
            let (kind, name) = unit.split_once(' ').unwrap();
            let numbers = self.t.numbers(kind.parse().unwrap(), name).await;
            assert!(numbers.contains(&base[&unit]), "{unit}");
            let held = numbers.into_iter().map(|number| (number, self.history[&(unit.clone(), number)])).collect();
            self.versions.insert(unit, held);
        }
        if self.pinned {
            self.live = self.active.last().map(|(id, _)| id.clone());
        }
        // The result is live's content plus the change, and nothing else.
        let (uid, manifest) = self.app_versions.last().unwrap();
        assert_eq!(&self.t.objects(uid).await, manifest);
        for (unit, number) in manifest.iter().filter(|(unit, _)| !unit.starts_with("environment")) {
            match puts.iter().find(|(put, _)| put == unit) {
                Some((_, code)) => assert_eq!(self.history[&(unit.clone(), *number)], *code, "{unit}"),
                None => assert_eq!(Some(number), base.get(unit), "{unit}"),
            }
        }
    }

    async fn sweep(&mut self) {
        self.t.clock.advance_ms(3_600_000);
        self.t.catalog.sweep(1_800_000).await.unwrap();
        for (uid, _) in &self.app_versions {
            let (_, _, gone) = self.t.catalog.app_version_contents(&self.t.app, uid.clone()).await.unwrap();
            for (unit, number) in gone {
                let version = (unit.to_string(), number);
                let listed = self.versions.get(&version.0).is_some_and(|known| known.contains_key(&number));
                assert!(!listed, "{version:?} was swept");
                self.gone.insert(version);
            }
        }
    }
}
