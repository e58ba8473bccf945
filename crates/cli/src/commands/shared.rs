//! Options and helpers shared by many commands.

use clap::Args;
use milepost_declared::apply::ChangeOptions;
use milepost_model::base::Base;
use milepost_model::change::{Change, UnitKey};
use milepost_model::snapshot::Unit;
use milepost_model::unit_put::Put;
use milepost_model::{ChangeOutcome, Label, UnitKind, UnitName};

pub use crate::args::slots::{MaybeNameArgs, NameArgs};

use super::checked::{self, CheckArgs};
use crate::context::{Context, Unattended};
use crate::failure::Result;
use crate::folders::Terminal;
use crate::output::{Table, age, outcome_name, outcome_table};

pub use milepost_declared::put;
pub use milepost_declared::values::{parse_duration_ms, parse_memory, parse_permission};

/// Options of commands that change units.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Change options")]
pub struct ChangeArgs {
    /// Describe this change, for the history
    #[arg(short, long, value_name = "TEXT")]
    pub message: Option<String>,
    /// Create an app version, but do not release it
    #[arg(long)]
    pub no_release: bool,
    /// Apply the change to `live`, what users get now, not to the newest app version
    #[arg(long, value_name = "BASE", value_parser = parse_base)]
    pub on: Option<Base>,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub check: CheckArgs,
    /// Fail unless this is still the app's newest app version
    #[arg(long, value_name = "UID")]
    pub expect: Option<String>,
}

impl ChangeArgs {
    pub fn change(&self, puts: Vec<Put>, removes: Vec<UnitKey>) -> Change {
        self.options().change(puts, removes)
    }

    pub fn options(&self) -> ChangeOptions {
        ChangeOptions {
            message: self.message.clone(),
            no_release: self.no_release,
            no_check: self.check.no_check,
            on: self.on.unwrap_or_default(),
            dry_run: self.dry_run,
            expect: self.expect.clone(),
        }
    }
}

pub fn parse_base(text: &str) -> Result<Base, String> {
    match text {
        "live" => Ok(Base::Live),
        "head" => Ok(Base::Head),
        _ => Err(format!("`{text}` is not a valid base; use live or head")),
    }
}

/// Returns the version of a unit that a change on this base starts from, or none if the base does
/// not have the unit.
pub async fn version_on(context: &Context<'_>, key: &UnitKey, on: Base) -> Result<Option<String>> {
    Ok(Terminal::new(context).session().version_on(key, on).await?)
}

pub fn parse_label(text: Option<&str>) -> Result<Option<Label>> {
    Ok(text.map(str::parse).transpose()?)
}

/// Sends a change and shows the outcome.
pub async fn send(context: &Context<'_>, change: &Change) -> Result<()> {
    show(context, &context.change(change).await?).await
}

pub async fn show(context: &Context<'_>, outcome: &ChangeOutcome) -> Result<()> {
    context.ui.show(outcome, outcome_name, outcome_table)?;
    for warning in &outcome.warnings {
        context.ui.warn(warning);
    }
    report_check(context, outcome).await
}

/// Shows the result of the release's check, below the outcome of the change.
pub async fn report_check(context: &Context<'_>, outcome: &ChangeOutcome) -> Result<()> {
    if outcome.dry_run {
        return Ok(());
    }
    let release = outcome.release.as_ref().map(|release| release.id.as_str());
    checked::tell(context, &outcome.check, release, outcome.changed).await
}

/// Removes units from the app, after a confirmation.
pub async fn remove(context: &Context<'_>, keys: Vec<UnitKey>, args: &ChangeArgs) -> Result<()> {
    if !args.dry_run {
        let names: Vec<String> = keys.iter().map(ToString::to_string).collect();
        context.confirm(&format!("Remove {} from app {}?", names.join(", "), context.app), Unattended::Proceed)?;
    }
    send(context, &args.change(Vec::new(), keys)).await
}

/// Returns all units of a kind.
pub async fn units(context: &Context<'_>, kind: UnitKind) -> Result<Vec<Unit>> {
    Ok(Terminal::new(context).session().units(kind).await?)
}

/// Returns all units of the app, or none if the app does not exist.
pub async fn all_units(context: &Context<'_>) -> Result<Vec<Unit>> {
    Ok(Terminal::new(context).session().all_units().await?)
}

/// Lists units, with one column that is specific to the kind.
pub async fn list(
    context: &Context<'_>,
    kind: UnitKind,
    column: &str,
    cell: impl Fn(&serde_json::Value) -> String,
) -> Result<()> {
    let found = units(context, kind).await?;
    let now = context.ui.now();
    let empty = format!("App {} has no {kind}.", context.app);
    context.ui.show(
        &found,
        |units| units.iter().map(|unit| unit.name.to_string()).collect(),
        |units| {
            let mut table = Table::new(["NAME", "VERSION", "UID", "VERSIONS", "AGE", column], &empty);
            for unit in units {
                table.row([
                    unit.name.to_string(),
                    unit.current.number.to_string(),
                    unit.current.uid.clone(),
                    unit.versions.to_string(),
                    age(now, unit.current.created_at),
                    cell(&unit.current.spec),
                ]);
            }
            table.render()
        },
    )
}

/// Shows the current version of a unit.
pub async fn get(context: &Context<'_>, key: &UnitKey) -> Result<()> {
    let unit = context.client.unit_get(&context.app, key).await?;
    super::version::get::show(context, &unit.current, |version| version.name.to_string())
}

/// A JSON value as the text of a table cell.
pub fn cell(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Null => String::new(),
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The function that a trigger runs, and the selector of its version.
#[derive(Debug, Clone, Args)]
pub struct TargetArgs {
    /// The function to run
    #[arg(long, value_name = "FUNCTION")]
    pub function: String,
    /// The version to run: `latest`, a number, uid, label, `@alias` or digest
    ///
    /// For routes and timers, `latest` is the version in the release. For jobs and webhooks, it is
    /// the newest version.
    #[arg(long, value_name = "VERSION", conflicts_with = "alias")]
    pub version: Option<String>,
    /// Run the version that this alias points to
    #[arg(long, value_name = "ALIAS")]
    pub alias: Option<String>,
}

impl TargetArgs {
    pub fn target(&self) -> Result<milepost_model::unit_put::TargetPut> {
        let function = UnitName::for_kind(UnitKind::Function, &self.function)?;
        let version = match (&self.alias, &self.version) {
            (Some(alias), _) => milepost_model::Selector::Alias(alias.parse()?),
            (None, Some(version)) => version.parse()?,
            (None, None) => milepost_model::Selector::Latest,
        };
        Ok(milepost_model::unit_put::TargetPut { function, version })
    }
}

/// `KEY=VALUE`
pub fn parse_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(format!("`{text}` is not a pair; write it like `KEY=VALUE`")),
    }
}
