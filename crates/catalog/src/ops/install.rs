//! Installs: the first version and each upgrade. Each is one transaction with the change that it
//! makes, so the install's record always matches the app. The health trial of a version is in
//! `install_trial.rs`.

use std::collections::BTreeSet;

use milepost_model::change::{Change, Declaration, UnitKey};
use milepost_model::channel::{Brakes, ChannelName, Entry, Hold, HoldUntil, PackageName};
use milepost_model::check::CheckState;
use milepost_model::event::EventKind;
use milepost_model::install::{Check, FailedUpgrade, InstallMode, InstallSettings, RollbackHolds};
use milepost_model::pointer::Step;
use milepost_model::refusal::{Field, View};
use milepost_model::release::{LiveMode, Release};
use milepost_model::{AppName, ChangeOutcome, Code, Next, Refusal, Timestamp, UnitKind, UnitName, UnitPut};
use serde_json::{Value, json};

use super::install_lease::{InstallLease, LeasedInstall, held_since, leased};
use super::live::{Target, make_reachable};
use super::release::no_room_by_hand;
use crate::change::{self, ChangeInput};
use crate::db::Ending;
use crate::effects::Written;
use crate::error::Result;
use crate::tables::installs::{self, InstallRow};
use crate::tables::units::{self, Only};
use crate::tables::{app_versions, releases};
use crate::work::Work;
use crate::{Catalog, Checking, checking, releasing};

/// The deployment that owns the units of an installed app.
pub const INSTALL_DEPLOYMENT: &str = "install";

/// An app to install.
#[derive(Debug, Clone)]
pub struct InstallInput {
    pub mode: InstallMode,
    pub package: PackageName,
    pub channel: Option<ChannelName>,
    pub place: String,
    pub settings: InstallSettings,
    /// The install fetches only from hosts that tokens without administration may name.
    pub confined: bool,
    pub serial: u64,
    pub check: Option<Check>,
    pub version: VersionInput,
    /// Who works on the install until it is known to be healthy, and for how long at most.
    pub holder: String,
    pub lease_ms: i64,
}

/// A version to put into an app.
#[derive(Debug, Clone)]
pub struct VersionInput {
    pub entry: Entry,
    /// The artifact's units on top of the app's own configuration, and the secrets that were given.
    pub change: ChangeInput,
    /// The author's configuration, without the installer's overrides.
    pub config: Value,
    /// Secrets that the app must have.
    pub inputs: BTreeSet<UnitName>,
    /// A user requested it despite windows and denies.
    pub forced: bool,
    /// Who loads its functions before users may get them.
    pub checking: Checking,
}

/// The result of putting a version into an app.
#[derive(Debug, Clone)]
pub struct InstallOutcome {
    pub outcome: ChangeOutcome,
    /// The release with the version.
    pub release: Option<Release>,
    /// Whether it is live.
    pub is_live: bool,
    pub install: LeasedInstall,
}

impl VersionInput {
    /// Returns the base of the change that makes an app match the artifact. Units of the previous
    /// version that this one lacks are removed; secrets stay.
    pub fn change(package: &PackageName, entry: &Entry, inputs: &BTreeSet<UnitName>) -> Change {
        let claim = |name: &UnitName| UnitKey { kind: UnitKind::Secret, name: name.clone() };
        Change {
            message: format!("{package} {}", entry.version),
            deployment: Some(Declaration {
                id: INSTALL_DEPLOYMENT.to_owned(),
                name: format!("install {package}"),
                claims: inputs.iter().map(claim).collect(),
                prune_secrets: false,
                allow_conflicts: true,
            }),
            ..Change::default()
        }
    }
}

impl Catalog {
    /// Installs into an app that is still empty.
    pub async fn install_create(&self, app: &AppName, input: InstallInput) -> Result<Written<InstallOutcome>> {
        let actor = input.version.change.actor.clone();
        self.work(app, &actor, Ending::Commit, move |work| Box::pin(async move { create(work, input).await })).await
    }

    /// Puts another version into an installed app. Rejected if the lease has ended, because another
    /// holder may be working on it, or if the install's revision differs from the one that the
    /// decision was based on, because a user changed it since.
    pub async fn install_upgrade(
        &self,
        lease: &InstallLease,
        revision: i64,
        input: VersionInput,
    ) -> Result<Written<InstallOutcome>> {
        let lease = lease.clone();
        let actor = input.change.actor.clone();
        self.work(&lease.app.clone(), &actor, Ending::Commit, move |work| {
            Box::pin(async move { upgrade(work, &lease, revision, input).await })
        })
        .await
    }
}

async fn create(work: &mut Work<'_>, input: InstallInput) -> Result<InstallOutcome> {
    if let Some(row) = installs::lock(work.tx, work.app.id).await? {
        let message = format!("app `{}` is already installed: {} {}", work.app.name, row.package, row.entry.version);
        return Err(Refusal::new(Code::InstallExists, message)
            .next(Next::Upgrade)
            .next(Next::InstallAs { app: None })
            .into());
    }
    if work.app.head_seq > 0 {
        let message = format!("app `{}` has versions that were not installed", work.app.name);
        return Err(Refusal::new(Code::InstallExists, message)
            .next(Next::InstallAs { app: None })
            .correct("delete the app first")
            .into());
    }
    let VersionInput { entry, change, config, inputs, checking, .. } = input.version;
    work.checking = checking;
    check_inputs(work, &change, &inputs).await?;
    let outcome = change::apply(work, &change).await?;
    let at = work.act.at;
    let lease = InstallLease::new(work.app.id, work.app.name.clone(), &input.holder, &change.actor);
    let row = InstallRow {
        app_id: work.app.id,
        mode: input.mode,
        package: input.package,
        channel: input.channel,
        place: input.place,
        app_seq: work.app.head_seq,
        installed_at: at,
        installed_by: change.actor.clone(),
        trial_seq: (input.settings.health.is_some() || outcome.check.state.holds_back()).then_some(0),
        settings: input.settings,
        brakes: Brakes::default(),
        failed: None,
        rollback_pin: false,
        serial: input.serial,
        confined: input.confined,
        last_check: input.check,
        plan: None,
        revision: 1,
        // The lease protects it until it ends. The holder then sets the next time.
        next_check_at: Some(at),
        lease: Some(lease.token().to_owned()),
        lease_until: Some(lease.until(at, input.lease_ms)),
        entry,
    };
    installs::insert(work.tx, &row).await?;
    installs::put_version(work.tx, work.app.id, row.app_seq, &row.entry, Some(&config)).await?;
    let after = json!({ "package": row.package, "channel": row.channel, "mode": row.mode, "place": row.place,
                        "version": row.entry.version, "id": row.entry.id });
    work.event(EventKind::InstallCreated, &subject(&row), None, Some(after));
    finish(work, row, lease, outcome).await
}

async fn upgrade(
    work: &mut Work<'_>,
    lease: &InstallLease,
    revision: i64,
    input: VersionInput,
) -> Result<InstallOutcome> {
    let mut row = held_since(work, lease, revision).await?;
    let VersionInput { entry, change, config, inputs, forced, checking } = input;
    work.checking = checking;
    check_inputs(work, &change, &inputs).await?;
    let live_before = live_seq(work).await?;
    let takes_live = row.rollback_pin || work.app.live_mode == LiveMode::Following;
    // Users keep what they have until the new version has proven healthy.
    let waits = takes_live && row.settings.health.is_some() && live_before.is_some();
    if waits {
        work.app.live_mode = LiveMode::Pinned;
        row.rollback_pin = true;
    } else {
        unpin(work, &mut row);
    }
    // An upgrade cannot do without a release.
    let mut outcome = change::apply(work, &change).await.map_err(|error| no_room_by_hand(&work.app.name, error))?;
    let seq = work.app.head_seq;
    // If users had this very content before, there is nothing new to try, and nothing else to go
    // back to.
    let is_new = outcome.changed || live_before != Some(seq);
    if waits {
        forget_pin(work, &mut outcome).await?;
    }
    if waits && !is_new {
        unpin(work, &mut row);
    }
    if !outcome.changed && takes_live && is_new {
        // The app has had this content since before a rollback: only live has to return to it.
        let why = &change.change.message;
        let (mut release, ..) = make_reachable(work, Target::AppVersion(seq), why).await?;
        if release.check == CheckState::Failed {
            // A repeated request must load it again.
            release =
                releasing::create(work, seq, why).await.map_err(|error| no_room_by_hand(&work.app.name, error))?.0;
        }
        outcome.check = checking::view(work.tx, &release).await?;
        if !waits && !release.check.holds_back() && work.app.live_release_id != Some(release.id) {
            releasing::move_live(work, Some(release.id), Step::Forward, why).await?;
        }
    }
    let before = std::mem::replace(&mut row.entry, entry);
    installs::put_version(work.tx, work.app.id, seq, &row.entry, Some(&config)).await?;
    settle_brakes(&mut row, &before, &work.act.actor, work.act.at);
    row.app_seq = seq;
    row.installed_at = work.act.at;
    row.installed_by.clone_from(&work.act.actor);
    row.plan = None;
    // A version whose functions are still being loaded is on trial too: it is skipped if they do
    // not load.
    let on_trial = row.settings.health.is_some() || outcome.check.state.holds_back();
    row.trial_seq = (is_new && on_trial).then(|| live_before.unwrap_or(0));
    if row.trial_seq.is_none() {
        row.succeeded();
    }
    row.next_check_at = Some(work.act.at);
    installs::save(work.tx, &mut row).await?;
    let version = |entry: &Entry| json!({ "version": entry.version, "id": entry.id });
    work.event(EventKind::InstallUpgraded, &subject(&row), Some(version(&before)), Some(version(&row.entry)));
    if forced {
        let after = json!({ "version": row.entry.version, "windows": row.settings.windows });
        work.event(EventKind::InstallForced, &subject(&row), None, Some(after));
    }
    finish(work, row, lease.clone(), outcome).await
}

/// Unpins live, if no user pinned it: a version above a hold may undo a rollback.
pub(super) fn unpin(work: &mut Work<'_>, row: &mut InstallRow) {
    if row.rollback_pin {
        work.app.live_mode = LiveMode::Following;
        row.rollback_pin = false;
    }
}

/// Removes the warnings about a pinned live: Milepost pinned it, and the pin ends by itself.
async fn forget_pin(work: &mut Work<'_>, outcome: &mut ChangeOutcome) -> Result<()> {
    let told = match &outcome.release {
        Some(release) if outcome.changed => Some(change::pinned_warning(work, &release.id, false).await?),
        _ => change::not_live_warning(work).await?,
    };
    outcome.notices.retain(|warning| Some(warning) != told.as_ref());
    Ok(())
}

/// Ends the hold if the version is above it. A manual downgrade is a rollback, which the watcher
/// must not undo.
fn settle_brakes(row: &mut InstallRow, before: &Entry, actor: &str, at: Timestamp) {
    if before.is_above(&row.entry) {
        let stays = row.settings.rollback_holds == RollbackHolds::UntilLifted;
        let reason = format!("{actor} went down to {}", row.entry.version);
        row.failed = Some(FailedUpgrade { version: before.version.clone(), at, reason: reason.clone() });
        row.brakes.roll_back(before.version.clone(), stays, reason, at);
    } else if let Some(Hold { until: HoldUntil::Above(bad), .. }) = &row.brakes.hold
        && row.entry.version != *bad
        && milepost_model::channel::cmp_channel(
            (&row.entry.version, row.entry.create_time),
            (bad, row.entry.create_time),
        )
        .is_gt()
    {
        row.brakes.hold = None;
    }
}

async fn finish(
    work: &mut Work<'_>,
    row: InstallRow,
    lease: InstallLease,
    outcome: ChangeOutcome,
) -> Result<InstallOutcome> {
    let release = releases::of_app_version(work.tx, work.app.id, row.app_seq).await?;
    let is_live = release.as_ref().is_some_and(|release| work.app.live_release_id == Some(release.id));
    let release = match release {
        Some(release) => Some(releasing::view(work.tx, &work.app, &release).await?),
        None => None,
    };
    let install = leased(work.tx, &work.app, row, lease).await?;
    Ok(InstallOutcome { outcome, release, is_live, install })
}

/// Checks that every secret that the artifact requires is in the app or in the change.
async fn check_inputs(work: &mut Work<'_>, input: &ChangeInput, inputs: &BTreeSet<UnitName>) -> Result<()> {
    let only = Only { kind: Some(UnitKind::Secret), ..Only::default() };
    let present = units::list_present(work.tx, work.app.id, only, None, i64::MAX).await?;
    let given = |name: &UnitName| {
        input.change.puts.iter().any(|put| matches!(put.unit, UnitPut::Secret(_)) && put.name == *name)
    };
    let missing: Vec<String> = inputs
        .iter()
        .filter(|name| !given(name) && !present.iter().any(|unit| unit.name == **name))
        .map(ToString::to_string)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let what = if missing.len() == 1 { "a secret that is" } else { "secrets that are" };
    let message = format!("{} needs {what} not set", input.change.message);
    Err(Refusal::new(Code::MissingInputs, message).next(Next::Give { field: Field::Secrets }).missing(missing).into())
}

/// Returns the app version that is live.
pub(super) async fn live_seq(work: &mut Work<'_>) -> Result<Option<i64>> {
    match work.app.live_release_id {
        Some(id) => Ok(Some(releases::get(work.tx, id).await?.app_seq)),
        None => Ok(None),
    }
}

/// Schedules a check soon, because something changed that the plan depends on.
pub(super) fn looked_at(row: &InstallRow, at: milepost_model::Timestamp) -> Option<milepost_model::Timestamp> {
    (row.mode == InstallMode::Channel || row.trial_seq.is_some()).then_some(at)
}

pub(super) fn subject(row: &InstallRow) -> String {
    format!("install {}", row.package)
}

pub(crate) fn not_installed(app: &AppName) -> Refusal {
    Refusal::new(Code::InstallNotFound, format!("app `{app}` is not an installed app"))
        .see(View::Installs)
        .next(Next::InstallFromChannel)
}

/// Returns the uid of the app version that holds what is installed.
pub(crate) async fn app_version_uid(tx: &mut crate::db::Tx, app_id: i64, seq: i64) -> Result<String> {
    Ok(app_versions::get(tx, app_id, seq).await?.uid)
}
