//! Requests by users about an installed app: the plan, and manual upgrades.

use bytes::Bytes;
use futures::stream::Stream;
use milepost_catalog::LeasedInstall;
use milepost_model::channel::{Entry, Step as StepKind, Windows};
use milepost_model::install::{CheckResult, Install, InstallMode, Installed, Upgrade, UpgradePlan};
use milepost_model::refusal::View;
use milepost_model::{AppName, Code, Next, Refusal, Timestamp, Warning};

use super::create::{Bundled, listed};
use super::health;
use super::look::{Seen, look};
use super::problem::Problem;
use super::rules::{Named, Offer, at_once, by_hand};
use super::source;
use super::turn::{Notes, Step, Stepped, tell_unhealthy, went_back};
use crate::cluster::install_lease as lease;
use crate::error::ApiResult;
use crate::phrase;
use crate::serving::urls::WithUrls;
use crate::state::State;

/// Returns what the channel offers, and what `upgrade` would install now. Changes nothing.
pub(crate) async fn plan(state: &State, app: &AppName, asked: &Upgrade) -> ApiResult<UpgradePlan> {
    let (install, serial) = state.catalog.install_with_serial(app).await?;
    if install.mode == InstallMode::Bundle || (install.mode == InstallMode::Pinned && asked.to.is_none()) {
        let stays = match install.mode {
            InstallMode::Bundle => "it came from a file, and newer versions come from files",
            _ => "it is pinned",
        };
        let forecast = format!("{} stays: {stays}", install.entry.version);
        let (installed, steps) = (install.entry.version, Vec::new());
        return Ok(UpgradePlan { installed, forecast, steps, asked: None, warnings: Vec::new(), notices: Vec::new() });
    }
    if let (None, Some(version)) = (&install.channel, &asked.to) {
        let entry = source::in_registry(state, &install.package, version, &install.place, install.confined).await?.0;
        let (installed, forecast) = (install.entry.version.clone(), format!("{} is pinned", install.entry.version));
        let notices = warnings(&install, &entry);
        return Ok(UpgradePlan {
            installed,
            forecast,
            steps: Vec::new(),
            asked: Some(entry.version),
            warnings: phrase::warnings(&notices),
            notices,
        });
    }
    let seen = look(state, &install, serial).await?;
    let now = state.catalog.now();
    let mut plan = match install.mode {
        InstallMode::Channel => UpgradePlan::from(seen.decide(&install, now)?),
        _ => UpgradePlan {
            installed: install.entry.version.clone(),
            forecast: format!("{} stays: it is pinned", install.entry.version),
            steps: Vec::new(),
            asked: None,
            warnings: Vec::new(),
            notices: Vec::new(),
        },
    };
    if let Some(next) = choose(&seen, &install, asked, now)? {
        plan.notices = warnings(&install, &next);
        plan.asked = Some(next.version);
    } else if install.mode == InstallMode::Channel && asked.to.is_none() {
        plan.notices.extend(in_the_way(&seen, &install, now)?);
    }
    plan.warnings = phrase::warnings(&plan.notices);
    Ok(plan)
}

/// The version that only a deny or a window keeps from being installed, and how to override it.
fn in_the_way(seen: &Seen, install: &Install, now: Timestamp) -> Result<Option<Warning>, Problem> {
    let Some(next) = choose(seen, install, &Upgrade { now: true, ..Upgrade::default() }, now)? else { return Ok(None) };
    let windows = &install.settings.windows;
    let decision = seen.decide_as(install, &by_hand(&install.settings.policy), windows, now)?;
    let outlook = decision.outlook.iter().find(|outlook| outlook.entry.version == next.version);
    let why = outlook.and_then(milepost_model::channel::Outlook::in_the_way);
    Ok(why.map(|why| Warning::InstallWaits { why }))
}

/// Warnings before a manual upgrade.
fn warnings(install: &Install, next: &Entry) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if install.entry.is_above(next) {
        let (from, to) = (install.entry.version.to_string(), next.version.to_string());
        warnings.push(Warning::Downgrade { from, to });
    } else if StepKind::between(&install.entry.version, &next.version) == StepKind::Major {
        warnings.push(Warning::MajorUpdate { version: next.version.to_string() });
    }
    if !install.changed_by_hand.is_empty() {
        warnings.push(Warning::OverwritesHandEdits { units: install.changed_by_hand.clone() });
    }
    warnings
}

pub(crate) async fn upgrade(state: &State, app: &AppName, actor: &str, asked: Upgrade) -> ApiResult<Installed> {
    let leased = lease::take(state, app, actor).await?;
    let kept = lease::keep(&state.catalog, &leased.lease);
    let mut notes = Notes::of(&leased);
    let (lease, before) = (leased.lease.clone(), leased.install.clone());
    let done = Box::pin(run(state, leased, &asked, actor, &mut notes)).await;
    if let Err(problem) = &done
        && before.mode == InstallMode::Channel
        && problem.is_channels()
    {
        notes.fail(state, problem);
    }
    drop(kept);
    state.catalog.install_give_back(&lease, notes.record).await?;
    answered(state, app, &before, done?).await
}

/// Upgrades from a bundle that the client has read: the artifact follows the request.
pub(crate) async fn upgrade_from_bundle<S, E>(
    state: &State,
    app: &AppName,
    actor: &str,
    asked: Upgrade,
    bundled: Bundled<S>,
) -> ApiResult<Installed>
where
    S: Stream<Item = Result<Bytes, E>> + Send,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let Bundled { package, channel, entry, serial, artifact } = bundled;
    let offer = Offer { package, channel, entry, serial };
    let (install, seen) = state.catalog.install_with_serial(app).await?;
    offer.check(&install, seen, &asked, state.catalog.now())?;
    if offer.entry.version == install.entry.version {
        return answered(state, app, &install, None).await;
    }
    // Staged without a lease, because the client may send slowly. The state is read again
    // afterwards.
    let artifact = super::put::stage(state, app, artifact, &offer.entry).await?;
    let leased = lease::take(state, app, actor).await?;
    let kept = lease::keep(&state.catalog, &leased.lease);
    let mut notes = Notes::of(&leased);
    let (lease, before) = (leased.lease.clone(), leased.install.clone());
    let done = async {
        let leased = tried(state, leased, &mut notes).await?;
        let entry = &offer.entry;
        offer.check(&leased.install, leased.serial, &asked, state.catalog.now())?;
        if entry.version == leased.install.entry.version {
            return Ok(None);
        }
        notes.record.serial = offer.serial.max(notes.record.serial);
        let step = Step { entry, secrets: &asked.secrets, actor, forced: asked.now };
        let stepped = step.put(state, leased, &artifact).await?;
        conclude(state, &stepped, entry, None, &mut notes);
        Ok(Some(stepped))
    };
    let done: Result<Option<Stepped>, Problem> = done.await;
    drop(kept);
    state.catalog.install_give_back(&lease, notes.record).await?;
    answered(state, app, &before, done?).await
}

/// Ends an interrupted trial first, as the watcher does. The next install would overwrite its
/// result.
async fn tried(state: &State, leased: LeasedInstall, notes: &mut Notes) -> Result<LeasedInstall, Problem> {
    if !leased.install.on_trial {
        return Ok(leased);
    }
    let judged = health::judge(state, leased).await?;
    if tell_unhealthy(state, &judged, notes)
        && let Some((why, went)) = &judged.unhealthy
    {
        let message = format!("nothing was upgraded: {}", went_back(&judged.install.install, why, went));
        return Err(Refusal::new(Code::UpgradeRefused, message).see(View::InstallStatus).into());
    }
    notes.now_at(&judged.install);
    notes.record.plan.clone_from(&judged.install.install.plan);
    Ok(judged.install)
}

async fn run(
    state: &State,
    leased: LeasedInstall,
    asked: &Upgrade,
    actor: &str,
    notes: &mut Notes,
) -> Result<Option<Stepped>, Problem> {
    let leased = tried(state, leased, notes).await?;
    let install = leased.install.clone();
    if install.mode == InstallMode::Bundle {
        let message = format!("app `{}` was installed from a bundle", install.app);
        return Err(Refusal::new(Code::UpgradeRefused, message).next(Next::UpgradeFromBundle).into());
    }
    if install.mode == InstallMode::Pinned && asked.to.is_none() {
        let message = format!("app `{}` is pinned to {}", install.app, install.entry.version);
        return Err(Refusal::new(Code::UpgradeRefused, message).next(Next::UpgradeTo).into());
    }
    if let (None, Some(version)) = (&install.channel, &asked.to) {
        let (entry, source) =
            source::in_registry(state, &install.package, version, &install.place, install.confined).await?;
        if entry.version == install.entry.version {
            return Ok(None);
        }
        let artifact = super::put::fetch(state, &install.app, &source, &entry).await?;
        let step = Step { entry: &entry, secrets: &asked.secrets, actor, forced: false };
        let stepped = step.put(state, leased, &artifact).await?;
        conclude(state, &stepped, &entry, None, notes);
        return Ok(Some(stepped));
    }
    let seen = look(state, &install, leased.serial).await?;
    notes.record.serial = seen.serial;
    let now = state.catalog.now();
    let chosen = choose(&seen, &install, asked, now)?;
    let Some(entry) = chosen else {
        if install.mode == InstallMode::Channel {
            let decision = seen.decide(&install, now)?;
            let plan = UpgradePlan::from(decision.clone());
            let kind = if plan.steps.is_empty() { "current" } else { "planned" };
            notes.planned(state, decision);
            notes.told(now, CheckResult::Ok, kind, plan.forecast);
        }
        return Ok(None);
    };
    let step = Step { entry: &entry, secrets: &asked.secrets, actor, forced: asked.now };
    let stepped = step.run(state, leased, &seen).await?;
    conclude(state, &stepped, &entry, Some(&seen), notes);
    Ok(Some(stepped))
}

/// Records the result and the time of the next check.
fn conclude(state: &State, stepped: &Stepped, entry: &Entry, seen: Option<&Seen>, notes: &mut Notes) {
    notes.now_at(&stepped.judged.install);
    if tell_unhealthy(state, &stepped.judged, notes) {
        return;
    }
    let now = state.catalog.now();
    notes.told(now, CheckResult::Ok, "upgraded", format!("{} was installed", entry.version));
    let install = &stepped.judged.install.install;
    match seen.filter(|_| install.mode == InstallMode::Channel).map(|seen| seen.decide(install, now)) {
        Some(Ok(decision)) => notes.planned(state, decision),
        _ => notes.usual(state, None),
    }
}

async fn answered(state: &State, app: &AppName, before: &Install, done: Option<Stepped>) -> ApiResult<Installed> {
    let from = Some(before.entry.version.clone());
    let Some(stepped) = done else {
        let install = state.catalog.install_get(app).await?;
        return Ok(Installed {
            from,
            to: None,
            release: None,
            went_back: None,
            warnings: Vec::new(),
            notices: Vec::new(),
            install,
        });
    };
    // The upgrade is made, so a failed read must not deny that.
    let install = state.catalog.install_get(app).await;
    let install = install.unwrap_or_else(|_| stepped.judged.install.install.clone());
    let went_back =
        stepped.judged.unhealthy.as_ref().map(|(why, went)| went_back(&stepped.judged.install.install, why, went));
    let mut notices = stepped.outcome.outcome.notices;
    if !stepped.outcome.is_live && went_back.is_none() {
        notices.push(Warning::InstalledNotLive);
    }
    Ok(Installed {
        from,
        to: Some(stepped.outcome.install.install.entry.version),
        release: stepped.outcome.release.with_urls(&state.urls, app),
        went_back,
        warnings: phrase::warnings(&notices),
        notices,
        install,
    })
}

/// The version to install: the requested one, or the newest that the policy and the request allow.
fn choose(seen: &Seen, install: &Install, asked: &Upgrade, now: Timestamp) -> Result<Option<Entry>, Problem> {
    let Some(version) = &asked.to else {
        let policy = by_hand(&install.settings.policy);
        let windows = &install.settings.windows;
        // `now` overrides only windows and denies.
        let (policy, windows) = if asked.now { (at_once(&policy), Windows::none()) } else { (policy, windows.clone()) };
        let decision = seen.decide_as(install, &policy, &windows, now)?;
        return Ok(decision.now().map(|outlook| outlook.entry.clone()));
    };
    let entry = listed(seen.all(), version)?;
    if entry.version == install.entry.version {
        return Ok(None);
    }
    if entry.id.digest().is_none() {
        return Err(milepost_channels::ChannelError::NoDigest(version.clone()).into());
    }
    let hold = install.brakes.active_hold(seen.all());
    let taken_back = seen.all().get(&install.entry.version).is_none();
    Named { entry: &entry, hold, taken_back, force: asked.now }.check(install, now)?;
    Ok(Some(entry))
}
