//! Settings of an installed app: policy, windows, holds, and detaching it from its channel.

use milepost_model::channel::{Hold, HoldUntil};
use milepost_model::event::EventKind;
use milepost_model::install::{
    Health, HoldInstall, Install, InstallChange, LiftInstall, SettingsError, no_health_function,
};
use milepost_model::refusal::{Field, View};
use milepost_model::{AppName, Code, Next, Refusal, UnitKind, Warning};
use serde_json::json;

use super::install::{INSTALL_DEPLOYMENT, looked_at, not_installed, subject};
use super::install_overrides::override_now;
use crate::db::Ending;
use crate::effects::Written;
use crate::error::Result;
use crate::read::install_view;
use crate::tables::deployments;
use crate::tables::installs::{self, InstallRow};
use crate::tables::units::{self, Only};
use crate::work::Work;
use crate::{Catalog, CatalogError};

impl Catalog {
    /// Changes settings, and returns warnings for the user.
    pub async fn install_change(
        &self,
        app: &AppName,
        actor: &str,
        change: InstallChange,
    ) -> Result<Written<(Install, Vec<Warning>)>> {
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let mut row = locked(work).await?;
                let before = json!(row.settings);
                let (key, health) = (row.settings.key.clone(), row.settings.health.clone());
                let overrides = row.settings.overrides.clone();
                let mut notices = Vec::new();
                row.settings = row.settings.changed(&change).map_err(|error| wrong(&error))?;
                if row.settings.key != key {
                    check_key(&row)?;
                    // Serials belong to the key that signed them.
                    row.serial = 0;
                }
                if row.settings.health != health {
                    check_health(work, &row).await?;
                }
                if let Some(patch) = &change.overrides {
                    notices = override_now(work, &mut row, &overrides, patch).await?;
                }
                if before != json!(row.settings) {
                    row.plan = None;
                    row.next_check_at = looked_at(&row, work.act.at);
                    installs::save(work.tx, &mut row).await?;
                    let after = Some(json!(row.settings));
                    work.event(EventKind::InstallChanged, &subject(&row), Some(before), after);
                }
                Ok((install_view(work.tx, &work.app, row).await?, notices))
            })
        })
        .await
    }

    /// Stops upgrades. Replaces an existing hold.
    pub async fn install_hold(&self, app: &AppName, actor: &str, hold: HoldInstall) -> Result<Written<Install>> {
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let mut row = locked(work).await?;
                let before = row.clone();
                let until = hold.until_above.map_or(HoldUntil::Lifted, HoldUntil::Above);
                let reason = if hold.reason.is_empty() { format!("by {}", work.act.actor) } else { hold.reason };
                row.brakes.hold = Some(Hold { until, reason, since: None });
                brake(work, row, EventKind::InstallHeld, before).await
            })
        })
        .await
    }

    /// Resumes upgrades: removes the hold, and all skipped versions or only the named one.
    pub async fn install_lift(&self, app: &AppName, actor: &str, lift: LiftInstall) -> Result<Written<Install>> {
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let mut row = locked(work).await?;
                let before = row.clone();
                match &lift.version {
                    Some(version) if !row.brakes.skipped.contains(version) => {
                        let message = format!("app `{}` does not skip version `{version}`", work.app.name);
                        return Err(Refusal::new(Code::InvalidRequest, message).see(View::InstallStatus).into());
                    }
                    Some(version) => {
                        row.brakes.skipped.retain(|skipped| skipped != version);
                        // Also removes the hold that the rollback of this version left.
                        let about = |hold: &Hold| matches!(&hold.until, HoldUntil::Above(bad) if bad == version);
                        row.brakes.hold = row.brakes.hold.take().filter(|hold| !about(hold));
                        row.failed = row.failed.take().filter(|failed| failed.version != *version);
                    }
                    None => {
                        row.brakes = milepost_model::channel::Brakes::default();
                        row.failed = None;
                    }
                }
                brake(work, row, EventKind::InstallLifted, before).await
            })
        })
        .await
    }

    /// Detaches the app from its channel and leaves it as it is. Rejected while live waits for a
    /// version on trial: the trial would never end, and live would stay pinned.
    pub async fn install_detach(&self, app: &AppName, actor: &str) -> Result<Written<Install>> {
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let row = locked(work).await?;
                if row.waits_for_live() {
                    return Err(on_trial(&work.app.name, &row).into());
                }
                installs::delete(work.tx, work.app.id).await?;
                deployments::free_units(work.tx, work.app.id, INSTALL_DEPLOYMENT).await?;
                let before = json!({ "package": row.package, "version": row.entry.version, "place": row.place });
                work.event(EventKind::InstallDetached, &subject(&row), Some(before), None);
                install_view(work.tx, &work.app, row).await
            })
        })
        .await
    }
}

fn wrong(error: &SettingsError) -> CatalogError {
    Refusal::new(Code::InvalidRequest, error.to_string()).see(View::PolicyForms).into()
}

fn on_trial(app: &AppName, row: &InstallRow) -> Refusal {
    let message = format!("{} is on trial in app `{app}`, and live stays until the trial ends", row.entry.version);
    Refusal::new(Code::InstallBusy, message)
        .next(Next::Wait)
        .see(View::InstallStatus)
        .next(Next::FollowLatest)
        .next(Next::KeepLive)
}

/// An install straight from a registry has no index that could be signed.
fn check_key(row: &InstallRow) -> Result<()> {
    if row.channel.is_some() || row.settings.key.is_none() {
        return Ok(());
    }
    let message = "a public key has no use for an app that comes straight from a registry: nothing is signed there";
    Err(Refusal::new(Code::InvalidRequest, message)
        .next(Next::LeaveOut { field: Field::Key })
        .next(Next::InstallFromChannel)
        .into())
}

async fn locked(work: &mut Work<'_>) -> Result<InstallRow> {
    let row = installs::lock(work.tx, work.app.id).await?;
    row.ok_or_else(|| not_installed(&work.app.name).into())
}

async fn brake(work: &mut Work<'_>, mut row: InstallRow, kind: EventKind, before: InstallRow) -> Result<Install> {
    if before.brakes != row.brakes {
        row.plan = None;
        row.next_check_at = looked_at(&row, work.act.at);
        work.event(kind, &subject(&row), Some(json!(before.brakes)), Some(json!(row.brakes)));
    }
    if before.brakes != row.brakes || before.failed != row.failed {
        installs::save(work.tx, &mut row).await?;
    }
    install_view(work.tx, &work.app, row).await
}

/// A missing function could never become healthy, which would show only at the next upgrade.
async fn check_health(work: &mut Work<'_>, row: &InstallRow) -> Result<()> {
    let Some(Health::Function(name)) = &row.settings.health else { return Ok(()) };
    let only = Only { kind: Some(UnitKind::Function), ..Only::default() };
    let present = units::list_present(work.tx, work.app.id, only, None, i64::MAX).await?;
    let names: Vec<String> = present.iter().map(|unit| unit.name.to_string()).collect();
    if names.iter().any(|present| present == name.as_str()) {
        return Ok(());
    }
    Err(no_health_function(&format!("App `{}`", work.app.name), name, &names).into())
}
