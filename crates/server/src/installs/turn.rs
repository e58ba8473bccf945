//! The watcher's turn for a due install: end a trial, check the channel, install what may be
//! installed now, and record the result and the time of the next check.

use std::collections::BTreeMap;

use milepost_catalog::{CatalogError, CheckRecord, InstallOutcome, LeasedInstall, WentBack};
use milepost_model::Timestamp;
use milepost_model::channel::{Decision, Entry, Fate};
use milepost_model::install::{Check, CheckResult, Install, InstallMode, UpgradePlan};
use milepost_model::unit_put::SecretPut;

use super::health::{self, Judged};
use super::look::{Seen, look};
use super::problem::Problem;
use super::put::{self, Wanted};
use super::{WATCHER, times};
use crate::cluster::install_lease as lease;
use crate::state::State;

/// Maximum steps of one turn. A step may allow another one, and a channel must not keep the turn
/// running forever.
const MOST_STEPS: usize = 8;

pub(super) async fn turn(state: &State, leased: LeasedInstall) -> Result<(), CatalogError> {
    let kept = lease::keep(&state.catalog, &leased.lease);
    let given_back = leased.lease.clone();
    let mut notes = Notes::of(&leased);
    if let Err(problem) = Box::pin(follow(state, leased, &mut notes)).await {
        tracing::info!(app = %given_back.app, kind = problem.kind, message = problem.message, "an install stays as it is");
        notes.fail(state, &problem);
    }
    drop(kept);
    if !state.catalog.install_give_back(&given_back, notes.record).await? {
        tracing::warn!(app = %given_back.app, "the lease of an install ended before its check did");
    }
    Ok(())
}

/// What will be recorded about a check.
pub(super) struct Notes {
    pub record: CheckRecord,
    before: Install,
    /// Whether a decision to install was made.
    fetching: bool,
}

impl Notes {
    pub(super) fn of(leased: &LeasedInstall) -> Self {
        let record = CheckRecord {
            check: None,
            plan: leased.install.plan.clone(),
            serial: leased.serial,
            next_check_at: leased.install.next_check_at,
            revision: leased.revision,
        };
        Self { record, before: leased.install.clone(), fetching: false }
    }

    /// Updates the notes after an operation on the install.
    pub(super) fn now_at(&mut self, leased: &LeasedInstall) {
        self.before = leased.install.clone();
        self.record.revision = leased.revision;
        self.record.plan = None;
        self.fetching = false;
    }

    pub(super) fn planned(&mut self, state: &State, decision: Decision) {
        let wake = decision.wake_at();
        self.record.plan = Some(decision.into());
        self.usual(state, wake);
    }

    pub(super) fn told(&mut self, at: Timestamp, result: CheckResult, kind: &str, message: String) {
        self.record.check = Some(Check { at, result, kind: kind.to_owned(), message, failures: 0 });
    }

    /// Schedules the next regular check.
    pub(super) fn usual(&mut self, state: &State, wake: Option<Timestamp>) {
        let (now, ids) = (state.catalog.now(), state.catalog.ids());
        // A trial that could not be ended is resumed whatever the install follows.
        let follows = self.before.mode == InstallMode::Channel || self.before.on_trial;
        self.record.next_check_at = follows.then(|| times::usual(now, self.before.settings.poll_s, wake, &**ids));
    }

    pub(super) fn fail(&mut self, state: &State, problem: &Problem) {
        let now = state.catalog.now();
        let retrying = |check: &&Check| check.result == CheckResult::Retrying;
        let failures = self.before.last_check.as_ref().filter(retrying).map_or(0, |check| check.failures);
        let failures = if problem.transient { failures + 1 } else { 0 };
        self.record.check = Some(problem.check(now, failures));
        let planned = self.record.plan.as_ref().and_then(|plan| wake_of(plan, now));
        self.usual(state, planned);
        if problem.transient && self.record.next_check_at.is_some() {
            let retry = times::retry(now, self.before.settings.poll_s, failures, &**state.catalog.ids());
            self.record.next_check_at = Some(planned.map_or(retry, |planned| planned.min(retry)));
        }
        if problem.transient {
            return;
        }
        if self.fetching && self.record.next_check_at.is_some() {
            let later = times::later(now, self.before.settings.poll_s, &**state.catalog.ids());
            self.record.next_check_at = Some(planned.map_or(later, |planned| planned.min(later)));
        } else {
            // The plan is not reliable any more.
            self.record.plan = None;
        }
    }
}

/// The earliest future time in the plan.
fn wake_of(plan: &UpgradePlan, now: Timestamp) -> Option<Timestamp> {
    let at = |fate: &Fate| match fate {
        Fate::At { at } => Some(at.timestamp()),
        _ => None,
    };
    plan.steps.iter().filter_map(|step| at(&step.outlook.fate)).filter(|at| *at > now).min()
}

async fn follow(state: &State, leased: LeasedInstall, notes: &mut Notes) -> Result<(), Problem> {
    let judged = health::judge(state, leased).await?;
    if tell_unhealthy(state, &judged, notes) {
        return Ok(());
    }
    let mut leased = judged.install;
    notes.now_at(&leased);
    if leased.install.mode != InstallMode::Channel {
        notes.usual(state, None);
        return Ok(());
    }
    notes.record.plan.clone_from(&leased.install.plan);
    let seen = look(state, &leased.install, leased.serial).await?;
    notes.record.serial = seen.serial;
    let mut installed: Vec<String> = Vec::new();
    for _ in 0..MOST_STEPS {
        let now = state.catalog.now();
        let decision = seen.decide(&leased.install, now)?;
        let Some(next) = decision.now().map(|outlook| outlook.entry.clone()) else {
            let plan = UpgradePlan::from(decision.clone());
            notes.planned(state, decision);
            tell_done(notes, now, &installed, &plan);
            return Ok(());
        };
        // The plan to show during the fetch, and if it fails.
        notes.record.plan = Some(decision.into());
        notes.fetching = true;
        let upgrade = Step { entry: &next, secrets: &BTreeMap::new(), actor: WATCHER, forced: false };
        let judged = upgrade.run(state, leased, &seen).await?.judged;
        notes.now_at(&judged.install);
        if tell_unhealthy(state, &judged, notes) {
            return Ok(());
        }
        leased = judged.install;
        installed.push(next.version.to_string());
    }
    notes.usual(state, None);
    Ok(())
}

fn tell_done(notes: &mut Notes, now: Timestamp, installed: &[String], plan: &UpgradePlan) {
    let (kind, message) = match installed {
        [] if plan.steps.is_empty() => ("current", plan.forecast.clone()),
        [] => ("planned", plan.forecast.clone()),
        versions => ("upgraded", format!("{} was installed", versions.join(", then "))),
    };
    notes.told(now, CheckResult::Ok, kind, message);
}

/// Records that a version was unhealthy. Returns whether it was.
pub(super) fn tell_unhealthy(state: &State, judged: &Judged, notes: &mut Notes) -> bool {
    let Some((why, went)) = &judged.unhealthy else { return false };
    notes.now_at(&judged.install);
    let message = went_back(&judged.install.install, why, went);
    if *went == WentBack::NoLongerOnTrial {
        // The operation that ended the trial scheduled the next check.
        notes.told(state.catalog.now(), CheckResult::Ok, "no_longer_on_trial", message);
        notes.record.next_check_at = judged.install.install.next_check_at;
        return true;
    }
    notes.told(state.catalog.now(), CheckResult::Refused, "unhealthy", message);
    notes.usual(state, None);
    true
}

pub(super) fn went_back(install: &Install, why: &str, went: &WentBack) -> String {
    match went {
        WentBack::To(back) => {
            let bad = install.brakes.skipped.last().map_or_else(String::new, ToString::to_string);
            format!("{bad} was not healthy, so live went back to {}: {why}", back.version)
        }
        WentBack::Stayed(at) => {
            let bad = install.brakes.skipped.last().map_or_else(String::new, ToString::to_string);
            format!("{bad} was not healthy, so live stayed at {}: {why}", at.version)
        }
        WentBack::Nowhere => {
            format!("{} is not healthy, and there is nothing to go back to: {why}", install.entry.version)
        }
        WentBack::NoLongerOnTrial => format!(
            "what was tried is no longer on trial: live was moved by hand meanwhile, and {} is installed",
            install.entry.version
        ),
    }
}

/// A version to put into an installed app.
pub(super) struct Step<'a> {
    pub entry: &'a Entry,
    pub secrets: &'a BTreeMap<milepost_model::UnitName, SecretPut>,
    pub actor: &'a str,
    pub forced: bool,
}

pub(super) struct Stepped {
    pub outcome: InstallOutcome,
    pub judged: Judged,
}

impl Step<'_> {
    /// Fetches, installs and judges the version. On an error, either nothing was changed, or
    /// everything was and the trial continues later.
    pub(super) async fn run(&self, state: &State, leased: LeasedInstall, seen: &Seen) -> Result<Stepped, Problem> {
        let artifact = put::fetch(state, &leased.lease.app, &seen.source, self.entry).await?;
        self.put(state, leased, &artifact).await
    }

    pub(super) async fn put(
        &self,
        state: &State,
        leased: LeasedInstall,
        artifact: &milepost_model::channel::Artifact,
    ) -> Result<Stepped, Problem> {
        let install = &leased.install;
        let wanted = Wanted {
            app: &leased.lease.app,
            package: &install.package,
            entry: self.entry,
            overrides: &install.settings.overrides,
            health: install.settings.health.as_ref(),
            secrets: self.secrets,
            actor: self.actor,
            forced: self.forced,
        };
        let version = put::version(state, artifact, wanted).await?;
        let upgraded = state.catalog.install_upgrade(&leased.lease, leased.revision, version).await?;
        let mut outcome = state.apply(upgraded).await;
        state.metrics.changes.inc();
        tracing::info!(app = %leased.lease.app, version = %self.entry.version, actor = self.actor, "a version was installed");
        let judged = health::judge(state, outcome.install.clone()).await?;
        if outcome.install.install.on_trial
            && let Some(release) = &outcome.release
        {
            // Live has moved by now if the version was healthy. Everything is recorded already, so
            // failing to update the displayed release is harmless.
            outcome.is_live = judged.install.install.live.as_ref() == Some(&self.entry.version);
            if let Ok(release) = state.catalog.release_get(&leased.lease.app, release.id.clone()).await {
                outcome.release = Some(release);
            }
        }
        Ok(Stepped { outcome, judged })
    }
}
