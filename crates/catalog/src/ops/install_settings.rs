//! What people say about an installed app: policy and windows, holds, and that it is their own from now on.

use milepost_model::change::Change;
use milepost_model::channel::{Hold, HoldUntil, artifact};
use milepost_model::event::EventKind;
use milepost_model::install::{HoldInstall, Install, InstallChange, LiftInstall, SettingsError};
use milepost_model::unit_put::{ConfigPut, Put};
use milepost_model::{AppName, Code, Refusal, UnitKind, UnitName, UnitPut, UnitSpec};
use serde_json::{Map, Value, json};

use super::install::{INSTALL_DEPLOYMENT, looked_at, not_installed, subject};
use crate::change::{self, ChangeInput};
use crate::db::Ending;
use crate::error::Result;
use crate::read::{changed_by_hand, install_view};
use crate::tables::installs::{self, InstallRow};
use crate::tables::{contents, deployments, units, versions};
use crate::work::Work;
use crate::{Catalog, CatalogError};

impl Catalog {
    /// Changes settings, and answers with what a person should know about it.
    pub async fn install_change(
        &self,
        app: &AppName,
        actor: &str,
        change: InstallChange,
    ) -> Result<(Install, Vec<String>)> {
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let mut row = locked(work).await?;
                let before = json!(row.settings);
                let (key, overrides) = (row.settings.key.clone(), row.settings.overrides.clone());
                let mut warnings = Vec::new();
                row.settings = row.settings.changed(&change).map_err(|error| wrong(&error))?;
                if row.settings.key != key {
                    check_key(&row)?;
                    // Serials are counted by the author who has the key.
                    row.serial = 0;
                }
                if let Some(patch) = &change.overrides {
                    warnings = override_now(work, &mut row, &at_once(&overrides, patch)).await?;
                }
                if before != json!(row.settings) {
                    row.plan = None;
                    row.next_check_at = looked_at(&row, work.act.at);
                    installs::save(work.tx, &mut row).await?;
                    let after = Some(json!(row.settings));
                    work.event(EventKind::InstallChanged, &subject(&row), Some(before), after);
                }
                Ok((install_view(work.tx, &work.app, row).await?, warnings))
            })
        })
        .await
    }

    /// Stops upgrades. A hold that is there is replaced.
    pub async fn install_hold(&self, app: &AppName, actor: &str, hold: HoldInstall) -> Result<Install> {
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let mut row = locked(work).await?;
                let before = json!(row.brakes);
                let until = hold.until_above.map_or(HoldUntil::Lifted, HoldUntil::Above);
                let reason = if hold.reason.is_empty() { format!("by {}", work.act.actor) } else { hold.reason };
                row.brakes.hold = Some(Hold { until, reason, since: None });
                brake(work, row, EventKind::InstallHeld, before).await
            })
        })
        .await
    }

    /// Lets upgrades go on: the hold goes, and all versions that were skipped, or the one that is named.
    pub async fn install_lift(&self, app: &AppName, actor: &str, lift: LiftInstall) -> Result<Install> {
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let mut row = locked(work).await?;
                let before = json!(row.brakes);
                match &lift.version {
                    Some(version) if !row.brakes.skipped.contains(version) => {
                        let message = format!("`{version}` is not skipped by app `{}`.", work.app.name);
                        let hint = "`milepost install status` shows what is held and skipped";
                        return Err(Refusal::new(Code::InvalidRequest, message).hint(hint).into());
                    }
                    Some(version) => {
                        row.brakes.skipped.retain(|skipped| skipped != version);
                        // The hold that its rollback left is about it.
                        let about = |hold: &Hold| matches!(&hold.until, HoldUntil::Above(bad) if bad == version);
                        row.brakes.hold = row.brakes.hold.take().filter(|hold| !about(hold));
                    }
                    None => row.brakes = milepost_model::channel::Brakes::default(),
                }
                brake(work, row, EventKind::InstallLifted, before).await
            })
        })
        .await
    }

    /// The app stays as it is and belongs to nobody's channel any more.
    pub async fn install_detach(&self, app: &AppName, actor: &str) -> Result<Install> {
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let row = locked(work).await?;
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
    Refusal::new(Code::InvalidRequest, format!("{error}."))
        .hint("`milepost install policy --help` shows the forms")
        .into()
}

/// What comes straight from a registry has no index that could be signed.
fn check_key(row: &InstallRow) -> Result<()> {
    if row.channel.is_some() || row.settings.key.is_none() {
        return Ok(());
    }
    let message = "This app comes straight from a registry, where nothing is signed, so a public key has no use.";
    Err(Refusal::new(Code::InvalidRequest, message)
        .hint("leave the key out, or install the app from its author's channel")
        .into())
}

async fn locked(work: &mut Work<'_>) -> Result<InstallRow> {
    let row = installs::lock(work.tx, work.app.id).await?;
    row.ok_or_else(|| not_installed(&work.app.name).into())
}

async fn brake(work: &mut Work<'_>, mut row: InstallRow, kind: EventKind, before: Value) -> Result<Install> {
    if before != json!(row.brakes) {
        row.plan = None;
        row.next_check_at = looked_at(&row, work.act.at);
        installs::save(work.tx, &mut row).await?;
        work.event(kind, &subject(&row), Some(before), Some(json!(row.brakes)));
    }
    install_view(work.tx, &work.app, row).await
}

/// What a change of overrides makes of the configuration now. Only what was overridden goes away with its override: all else
/// is the author's, and stays.
fn at_once(overrides: &Value, patch: &Value) -> Value {
    let Some(patch) = patch.as_object() else { return patch.clone() };
    let mut now = Map::new();
    for (name, to) in patch {
        let before = overrides.get(name);
        let to = match (to, before) {
            (Value::Null, None) => continue,
            (Value::Null, Some(before)) => without(before),
            (Value::Object(fields), before) => match at_once(before.unwrap_or(&Value::Null), to) {
                Value::Object(left) if left.is_empty() && !fields.is_empty() => continue,
                left => left,
            },
            _ => to.clone(),
        };
        now.insert(name.clone(), to);
    }
    Value::Object(now)
}

/// The patch that takes away what an override had put.
fn without(before: &Value) -> Value {
    match before.as_object() {
        Some(fields) if !fields.is_empty() => {
            fields.iter().map(|(name, value)| (name.clone(), without(value))).collect()
        }
        _ => Value::Null,
    }
}

/// Names of what a patch takes away.
fn taken_away(patch: &Value, path: &str, found: &mut Vec<String>) {
    for (name, value) in patch.as_object().into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match value {
            Value::Null => found.push(path),
            _ => taken_away(value, &path, found),
        }
    }
}

/// Overrides take effect with the next upgrade by themselves; nobody wants to wait for that. What the author had under one
/// that goes is not known here: it stands in the artifact.
async fn override_now(work: &mut Work<'_>, row: &mut InstallRow, patch: &Value) -> Result<Vec<String>> {
    if patch.as_object().is_some_and(Map::is_empty) {
        return Ok(Vec::new());
    }
    let by_hand = changed_by_hand(work.tx, &work.app).await?;
    let name = UnitName::config();
    let mut document = json!({});
    if let Some(unit) = units::find(work.tx, work.app.id, UnitKind::Config, &name).await?
        && let Some(version) = unit.current_version_id
        && let Some(content) = versions::get(work.tx, version).await?.content_id
        && let UnitSpec::Config(config) = contents::get(work.tx, content).await?
    {
        document = config.document;
    }
    artifact::merge(&mut document, patch);
    let unit = UnitPut::Config(ConfigPut { document: Some(document), ..ConfigPut::default() });
    let put = Put { name, label: None, description: None, group: None, force: false, only: None, unit };
    let change = Change { message: "overrides".to_owned(), puts: vec![put], ..Change::default() };
    let input =
        ChangeInput { change, secrets: Default::default(), actor: work.act.actor.clone(), idempotency_key: None };
    let outcome = change::apply(work, &input).await?;
    // An override is not a change that the next upgrade overwrites.
    let held = installs::version_at(work.tx, work.app.id, work.app.head_seq).await?;
    if outcome.changed
        && by_hand.is_empty()
        && let Some((_, entry)) = held
    {
        installs::put_version(work.tx, work.app.id, work.app.head_seq, &entry).await?;
        if entry.version == row.entry.version {
            row.app_seq = work.app.head_seq;
        }
    }
    let (mut warnings, mut names) = (outcome.warnings, Vec::new());
    taken_away(patch, "", &mut names);
    if !names.is_empty() {
        warnings.push(format!(
            "no longer overridden: {}; what the author has there comes back with the next upgrade, and until then the \
             configuration has nothing there",
            names.join(", ")
        ));
    }
    Ok(warnings)
}
