//! What a person asks of an installed app: what would happen, and an upgrade.

use bytes::Bytes;
use futures::stream::Stream;
use milepost_catalog::LeasedInstall;
use milepost_model::channel::{Entry, Policy, Step as StepKind, When, Windows};
use milepost_model::install::{CheckResult, Install, InstallMode, Installed, Upgrade, UpgradePlan};
use milepost_model::{AppName, Code, Refusal, Timestamp};

use super::create::{Bundled, check_admitted, listed};
use super::lease;
use super::look::{Seen, look};
use super::problem::Problem;
use super::source;
use super::turn::{Notes, Step, Stepped, tell_unhealthy, went_back};
use crate::error::ApiResult;
use crate::state::State;
use crate::urls::WithUrls;

/// How far ahead the end of a deny or the next window is looked for.
const HORIZON_MS: i64 = milepost_model::channel::decide::HORIZON_DAYS * 24 * 3_600_000;

/// What the channel offers, and what `upgrade` would install now. Nothing is changed.
pub(crate) async fn plan(state: &State, app: &AppName, asked: &Upgrade) -> ApiResult<UpgradePlan> {
    let (install, serial) = state.catalog.install_with_serial(app).await?;
    if install.mode == InstallMode::Bundle || (install.mode == InstallMode::Pinned && asked.to.is_none()) {
        let stays = match install.mode {
            InstallMode::Bundle => "it came from a file, and newer versions come from files",
            _ => "it is pinned",
        };
        let forecast = format!("{} stays: {stays}", install.entry.version);
        let (installed, steps) = (install.entry.version, Vec::new());
        return Ok(UpgradePlan { installed, forecast, steps, asked: None, warnings: Vec::new() });
    }
    if let (None, Some(version)) = (&install.channel, &asked.to) {
        let entry = source::in_registry(state, &install.package, version, &install.place).await?.0;
        let (installed, forecast) = (install.entry.version.clone(), format!("{} is pinned", install.entry.version));
        let warnings = warnings(&install, &entry);
        return Ok(UpgradePlan { installed, forecast, steps: Vec::new(), asked: Some(entry.version), warnings });
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
        },
    };
    if let Some(next) = choose(&seen, &install, asked, now)? {
        plan.warnings = warnings(&install, &next);
        plan.asked = Some(next.version);
    }
    Ok(plan)
}

/// What to know before a version is installed by hand.
fn warnings(install: &Install, next: &Entry) -> Vec<String> {
    let mut warnings = Vec::new();
    if install.entry.is_above(next) {
        warnings.push(format!(
            "{} is below {}: data that the newer version wrote may not be readable; upgrades are held afterwards",
            next.version, install.entry.version
        ));
    } else if StepKind::between(&install.entry.version, &next.version) == StepKind::Major {
        let version = &next.version;
        warnings.push(format!("{version} is a major update: it may change or remove what others rely on"));
    }
    if !install.changed_by_hand.is_empty() {
        warnings.push(format!("changed by hand and overwritten: {}", install.changed_by_hand.join(", ")));
    }
    warnings
}

pub(crate) async fn upgrade(state: &State, app: &AppName, actor: &str, asked: Upgrade) -> ApiResult<Installed> {
    let leased = lease::take(state, app, actor).await?;
    let kept = lease::keep(state, &leased.lease);
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

/// From a file that the client has read: the artifact follows the request.
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
    let leased = lease::take(state, app, actor).await?;
    let kept = lease::keep(state, &leased.lease);
    let mut notes = Notes::of(&leased);
    let (lease, before) = (leased.lease.clone(), leased.install.clone());
    let done = async {
        check_bundle(&before, &leased, &bundled, asked.to.is_some())?;
        let Bundled { entry, serial, artifact, .. } = bundled;
        if entry.version == before.entry.version {
            return Ok(None);
        }
        let artifact = super::put::stage(state, app, artifact, &entry).await?;
        notes.record.serial = serial.max(notes.record.serial);
        let step = Step { entry: &entry, secrets: &asked.secrets, actor, forced: false };
        let stepped = step.put(state, leased, &artifact).await?;
        conclude(state, &stepped, &entry, None, &mut notes);
        Ok(Some(stepped))
    };
    let done: Result<Option<Stepped>, Problem> = done.await;
    drop(kept);
    state.catalog.install_give_back(&lease, notes.record).await?;
    answered(state, app, &before, done?).await
}

fn check_bundle<S>(
    install: &Install,
    leased: &LeasedInstall,
    bundled: &Bundled<S>,
    named: bool,
) -> Result<(), Refusal> {
    check_admitted(&bundled.channel, &bundled.entry)?;
    if bundled.package != install.package {
        let message =
            format!("The bundle has `{}`, and app `{}` is `{}`.", bundled.package, install.app, install.package);
        return Err(Refusal::new(Code::UpgradeRefused, message).hint("choose the bundle of the same package"));
    }
    if bundled.serial < leased.serial {
        let message = format!(
            "The bundle has serial {}, and {} was already seen: it is an old copy.",
            bundled.serial, leased.serial
        );
        return Err(Refusal::new(Code::ChannelRefused, message).hint("ask for a newer bundle"));
    }
    if install.entry.is_above(&bundled.entry) && !named {
        let message = format!(
            "The bundle is of a lesser version: it has `{}` and `{}` is installed, so nothing was changed.",
            bundled.entry.version, install.entry.version
        );
        let hint = format!("to go down, name it with `--to {}`", bundled.entry.version);
        return Err(Refusal::new(Code::ChannelRefused, message).hint(hint));
    }
    Ok(())
}

async fn run(
    state: &State,
    leased: LeasedInstall,
    asked: &Upgrade,
    actor: &str,
    notes: &mut Notes,
) -> Result<Option<Stepped>, Problem> {
    let install = leased.install.clone();
    if install.mode == InstallMode::Bundle {
        let message = format!("App `{}` came from a file.", install.app);
        return Err(Refusal::new(Code::UpgradeRefused, message).hint("run `milepost upgrade --bundle FILE`").into());
    }
    if install.mode == InstallMode::Pinned && asked.to.is_none() {
        let message = format!("App `{}` is pinned to {}.", install.app, install.entry.version);
        return Err(Refusal::new(Code::UpgradeRefused, message).hint("name a version with `--to VERSION`").into());
    }
    if let (None, Some(version)) = (&install.channel, &asked.to) {
        let (entry, source) = source::in_registry(state, &install.package, version, &install.place).await?;
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

/// Writes down what was done, and what comes next.
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
    let install = state.catalog.install_get(app).await?;
    let from = Some(before.entry.version.clone());
    let Some(stepped) = done else {
        return Ok(Installed { from, to: None, release: None, went_back: None, warnings: Vec::new(), install });
    };
    let went_back = stepped
        .judged
        .unhealthy
        .as_ref()
        .map(|(why, back)| went_back(&stepped.judged.install.install, why, back.as_ref()));
    let mut warnings = stepped.outcome.outcome.warnings;
    if !stepped.outcome.is_live && went_back.is_none() {
        warnings.push(
            "live is pinned elsewhere, so users do not get it yet; `milepost release live --follow` changes that"
                .to_owned(),
        );
    }
    Ok(Installed {
        from,
        to: Some(stepped.outcome.install.install.entry.version),
        release: stepped.outcome.release.with_urls(&state.urls, app),
        went_back,
        warnings,
        install,
    })
}

/// The version to install: the one that was named, or the newest that policy and person allow.
fn choose(seen: &Seen, install: &Install, asked: &Upgrade, now: Timestamp) -> Result<Option<Entry>, Problem> {
    let Some(version) = &asked.to else {
        let policy = by_hand(&install.settings.policy);
        let windows = &install.settings.windows;
        // Nothing but windows and denies gives way.
        let (policy, windows) = if asked.now { (at_once(&policy), Windows::none()) } else { (policy, windows.clone()) };
        let decision = seen.decide_as(install, &policy, &windows, now)?;
        return Ok(decision.now().map(|outlook| outlook.entry.clone()));
    };
    let entry = listed(&seen.all, version)?;
    if entry.version == install.entry.version {
        return Ok(None);
    }
    if entry.id.digest().is_none() {
        return Err(milepost_channels::ChannelError::NoDigest(version.clone()).into());
    }
    check_named(seen, install, &entry, asked.now, now)?;
    Ok(Some(entry))
}

/// A person is there to decide.
fn by_hand(policy: &Policy) -> Policy {
    let by_hand = |when: When| if when == When::Manual { When::Immediate } else { when };
    Policy { patch: by_hand(policy.patch), minor: by_hand(policy.minor), major: by_hand(policy.major) }
}

fn at_once(policy: &Policy) -> Policy {
    let at_once = |when: When| if when == When::Window { When::Immediate } else { when };
    Policy { patch: at_once(policy.patch), minor: at_once(policy.minor), major: at_once(policy.major) }
}

/// Whether a version that was named may be installed now. Going down is a person's word against all holds.
fn check_named(seen: &Seen, install: &Install, entry: &Entry, force: bool, now: Timestamp) -> Result<(), Refusal> {
    let (app, version, settings) = (&install.app, &entry.version, &install.settings);
    let refuse = |message: String, hint: String| Err(Refusal::new(Code::UpgradeRefused, message).hint(hint));
    let pinned = install.mode == InstallMode::Pinned;
    let down = install.entry.is_above(entry);
    let when = settings.policy.when(StepKind::between(&install.entry.version, version));
    if !down && !pinned {
        if install.brakes.skipped.contains(version) {
            let hint = format!("`milepost install lift --version {version} --app {app}` allows it again");
            return refuse(format!("`{version}` was rolled back, so it is skipped."), hint);
        }
        if let Some(hold) = install.brakes.active_hold(&seen.all) {
            return refuse(
                format!("For app `{app}`, {hold}."),
                format!("lift it with `milepost install lift --app {app}`"),
            );
        }
        if when == When::Never {
            let step = StepKind::between(&install.entry.version, version);
            return refuse(
                format!("The policy of app `{app}` never takes {step} updates, and `{version}` is one."),
                format!("change it with `milepost install policy --app {app} --policy {step}=manual`"),
            );
        }
    }
    if force || pinned {
        return Ok(());
    }
    let until = milepost_model::clock::from_millis(now.as_millisecond().saturating_add(HORIZON_MS));
    // The version that is installed was taken back: its replacement waits for no window.
    let urgent = seen.all.get(&install.entry.version).is_none()
        && StepKind::between(&install.entry.version, version) == StepKind::Patch;
    let waits = when == When::Window && !down && !urgent && !settings.windows.is_open(now);
    let next = if waits {
        settings.windows.next_open(now, until)
    } else if settings.windows.is_denied(now) {
        settings.windows.next_undenied(now, until)
    } else {
        return Ok(());
    };
    let why = if waits { "waits for a window" } else { "is denied now" };
    let next = next.map_or_else(
        || "none opens within a year".to_owned(),
        |at| format!("the next one opens on {}", at.strftime("%A %Y-%m-%d %H:%M %Q")),
    );
    refuse(format!("`{version}` {why}; {next}."), "wait for it, or give `--now`, which is written down".to_owned())
}
