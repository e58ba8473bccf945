//! Random interleavings of deploys, checks, moves and expiry. A function that does not load is
//! never latest, and live only if a user forces it. No release that users get expires for one that
//! may fail.

use std::collections::BTreeSet;

use milepost_catalog::{CheckLease, Checking, LiveTarget, RollbackInput, Settled, VersionsToDelete};
use milepost_model::change::UnitKey;
use milepost_model::check::CheckState;
use milepost_model::release::{LiveMode, Release};
use milepost_model::{Code, UnitKind};
use proptest::prelude::*;

use crate::common::checked::{LONG_MS, by};
use crate::common::*;

/// The number of active releases that the plan `free` allows.
const BOUND: usize = 3;

#[derive(Debug, Clone)]
pub enum Step {
    Deploy {
        function: u8,
        loads: bool,
    },
    Configure {
        asks: bool,
    },
    /// One of two nodes takes all unclaimed checks.
    Take {
        node: bool,
    },
    /// Ends a lease, as when its node dies.
    Lose(u8),
    Settle(u8),
    Release {
        app_version: u8,
        asks: bool,
    },
    Live {
        release: u8,
        force: bool,
    },
    Follow,
    Rollback,
    Tag(u8),
    Untag,
    Expire(u8),
    /// Loads the functions that a delete of one version, or of all of them, would bring to users.
    LoadForDelete {
        function: u8,
        version: Option<u8>,
    },
    /// Deletes what was loaded some steps ago.
    Delete(u8),
}

pub fn sequences() -> impl Strategy<Value = Vec<Step>> {
    let any = || any::<u8>();
    let step = prop_oneof![
        6 => (any(), prop::bool::weighted(0.6)).prop_map(|(function, loads)| Step::Deploy { function: function % 2, loads }),
        2 => prop::bool::ANY.prop_map(|asks| Step::Configure { asks }),
        2 => prop::bool::ANY.prop_map(|node| Step::Take { node }),
        1 => any().prop_map(Step::Lose),
        7 => any().prop_map(Step::Settle),
        1 => (any(), prop::bool::ANY).prop_map(|(app_version, asks)| Step::Release { app_version, asks }),
        2 => (any(), prop::bool::weighted(0.3)).prop_map(|(release, force)| Step::Live { release, force }),
        2 => Just(Step::Follow),
        1 => Just(Step::Rollback),
        1 => any().prop_map(Step::Tag),
        1 => Just(Step::Untag),
        1 => any().prop_map(Step::Expire),
        3 => (any(), prop::option::of(any()))
            .prop_map(|(function, version)| Step::LoadForDelete { function: function % 2, version }),
        3 => any().prop_map(Step::Delete),
    ];
    prop::collection::vec(step, 5..40)
}

#[derive(Default)]
struct Model {
    /// Function versions that do not load.
    bad: BTreeSet<(String, i64)>,
    leases: Vec<CheckLease>,
    holders: u32,
    codes: u32,
    /// Deletes whose functions load, and the versions that were loaded.
    deletes: Vec<(UnitKey, VersionsToDelete, BTreeSet<i64>)>,
}

impl Model {
    fn holder(&mut self) -> String {
        self.holders += 1;
        format!("holder-{}", self.holders)
    }
}

fn pick<T>(items: &[T], position: u8) -> Option<&T> {
    items.get(usize::from(position) % items.len().max(1))
}

pub async fn invariant_12_functions_that_fail_to_load_are_never_latest_or_followed(t: &mut Fixture, steps: &Vec<Step>) {
    let mut model = Model::default();
    let mut before = releases(t).await;
    for step in steps {
        let live = t.live().await.release.map(|release| release.id);
        run(t, &mut model, step).await;
        let now = releases(t).await;
        if matches!(step, Step::Deploy { .. } | Step::Configure { .. })
            && now.first().is_some_and(|newest| newest.check.state == CheckState::Pending)
        {
            let gone = before.iter().find(|old| !now.iter().any(|new| new.id == old.id));
            assert!(gone.is_none(), "{gone:?} expired for a release that may fail");
        }
        check(t, &model, &now, step, live.as_deref()).await;
        before = now;
    }
}

/// Returns the active releases, newest first.
async fn releases(t: &Fixture) -> Vec<Release> {
    t.catalog.release_list(&t.app, true, ALL).await.unwrap().items
}

async fn check(t: &Fixture, model: &Model, active: &[Release], step: &Step, live_before: Option<&str>) {
    let live = t.live().await;
    if matches!(step, Step::Delete(_)) {
        assert!(live_before.is_none() || live.release.is_some(), "nothing is live after {step:?}");
    }
    let newest = active.iter().find(|release| !release.check.state.holds_back());
    let latest = active.iter().find(|release| release.latest);
    assert_eq!(latest.map(|release| &release.id), newest.map(|release| &release.id), "after {step:?}");
    if live.mode == LiveMode::Following {
        let live = live.release.as_ref().map(|release| &release.id);
        assert_eq!(live, latest.map(|release| &release.id), "after {step:?}");
    } else if live.release.as_ref().map(|release| release.id.as_str()) != live_before {
        let by_user = matches!(step, Step::Live { .. } | Step::Rollback);
        assert!(by_user, "{step:?} moved a pinned live");
    }
    if let Some(latest) = latest {
        for (function, number) in t.objects(&latest.app_version).await {
            let Some(function) = function.strip_prefix("function ") else { continue };
            let bad = model.bad.contains(&(function.to_owned(), number));
            assert!(!bad, "latest has {function} {number}, which does not load, after {step:?}");
        }
    }
    let taking_room = active.iter().filter(|release| !release.check.state.holds_back());
    let kept = active.iter().filter(|release| release.check.state == CheckState::Failed && release.tags.is_empty());
    assert!(taking_room.count() <= BOUND + 2, "after {step:?}: {active:?}");
    assert!(kept.count() <= BOUND + 2, "after {step:?}: {active:?}");
}

async fn run(t: &mut Fixture, model: &mut Model, step: &Step) {
    t.clock.advance_ms(1000);
    let ids: Vec<String> = releases(t).await.into_iter().map(|release| release.id).collect();
    match *step {
        Step::Deploy { function, loads } => {
            let (name, holder) = (format!("f{function}"), model.holder());
            model.codes += 1;
            let tree = t.tree(&format!("code {}", model.codes)).await;
            let puts = change([package(&name, tree), function_on(&name, &name)]);
            let Ok(outcome) = t.send_checked(puts, &holder).await else { return };
            let number = outcome.versions.iter().find(|unit| unit.kind == UnitKind::Function).unwrap().number.unwrap();
            if !loads {
                model.bad.insert((name, number));
            }
            let release = outcome.release.unwrap();
            if release.check.state == CheckState::Pending {
                model.leases.push(t.take_check(&release.id, &holder).await.unwrap());
            }
        }
        Step::Configure { asks } => {
            model.codes += 1;
            let puts = change([config("code", i64::from(model.codes))]);
            let checking = if asks { by(&model.holder()) } else { Checking::Unasked };
            let _ = t.catalog.change_checked(&t.app, input(puts), checking).await;
        }
        Step::Take { node } => {
            let holder = format!("{}-{node}", model.holder());
            let taken = t.catalog.checks_take_due(&holder, LONG_MS, 2).await.unwrap();
            model.leases.extend(taken.into_iter().filter(|lease| lease.app == t.app));
        }
        Step::Lose(position) => {
            if let Some(lease) = pick(&model.leases, position) {
                t.catalog.check_renew(lease, -1).await.unwrap();
            }
        }
        Step::Settle(position) => {
            let Some(lease) = pick(&model.leases, position).cloned() else { return };
            let bad = model.bad.clone();
            let settled = t.settle_check(&lease, |name, number| !bad.contains(&(name.to_owned(), number))).await;
            if !matches!(settled, Settled::Again) {
                model.leases.retain(|other| other.release != lease.release);
            }
        }
        Step::Release { app_version, asks } => {
            let versions = t.catalog.app_version_list(&t.app, ALL).await.unwrap().items;
            let Some(version) = pick(&versions, app_version) else { return };
            let checking = if asks { by(&model.holder()) } else { Checking::Unasked };
            let id = Some(version.id.clone());
            let _ = t.catalog.release_create_checked(&t.app, "ann", id, String::new(), checking).await;
        }
        Step::Live { release, force } => {
            let Some(id) = pick(&ids, release).cloned() else { return };
            let target = if force { LiveTarget::Forced(id.clone()) } else { LiveTarget::Release(id.clone()) };
            let held_back = t.release(&id).await;
            let set = t.catalog.live_set(&t.app, "ann", target, String::new()).await;
            assert_eq!(set.is_err(), !force && !held_back.live && held_back.check.state.holds_back());
        }
        Step::Follow => drop(t.catalog.live_set(&t.app, "ann", LiveTarget::Follow, String::new()).await.unwrap()),
        Step::Rollback => {
            let back = RollbackInput { to: None, why: String::new(), dry_run: false };
            let _ = t.catalog.rollback(&t.app, "ann", back).await;
        }
        Step::Tag(position) => {
            if let Some(id) = pick(&ids, position) {
                t.tag("kept", id).await.unwrap();
            }
        }
        Step::Untag => drop(t.catalog.tag_delete(&t.app, "ann", "kept".parse().unwrap()).await),
        Step::Expire(position) => {
            if let Some(id) = pick(&ids, position) {
                let _ = t.catalog.release_expire(&t.app, "ann", id.clone(), String::new()).await;
            }
        }
        Step::LoadForDelete { function, version } => {
            let function = key(UnitKind::Function, &format!("f{function}"));
            let which = match version {
                None => VersionsToDelete::All,
                Some(version) => {
                    let Ok(found) = t.catalog.version_list(&t.app, function.clone(), ALL).await else { return };
                    let Some(version) = pick(&found.items, version) else { return };
                    VersionsToDelete::One(version.number.to_string().parse().unwrap())
                }
            };
            let new = t.catalog.version_delete_functions(&t.app, "ann", function.clone(), which.clone()).await;
            let Ok(new) = new else { return };
            let loads = new.functions.iter().all(|id| {
                let version = &new.versions[id];
                !model.bad.contains(&(version.name.to_string(), version.number))
            });
            if loads {
                model.deletes.push((function, which, new.functions.into_iter().collect()));
            }
        }
        Step::Delete(position) => {
            if model.deletes.is_empty() {
                return;
            }
            let at = usize::from(position) % model.deletes.len();
            let (function, which, loaded) = model.deletes.swap_remove(at);
            let checking = Checking::Loaded(loaded);
            let done = t.catalog.version_delete_checked(&t.app, "ann", function, which, false, checking).await;
            // The app may have changed since its functions were loaded.
            if done.is_err() {
                let codes = [Code::HeadMoved, Code::InUse, Code::UnitNotFound, Code::VersionDeleted, Code::NoRoom];
                let code = refused(done).code;
                assert!(codes.contains(&code), "{code:?}");
            }
        }
    }
}
