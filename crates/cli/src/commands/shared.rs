//! Options and helpers shared by many commands.

use clap::Args;
use milepost_model::base::Base;
use milepost_model::change::{Change, UnitKey};
use milepost_model::snapshot::Unit;
use milepost_model::spec::FunctionPermission;
use milepost_model::unit_put::{Put, UnitPut};
use milepost_model::{ChangeOutcome, Label, UnitKind, UnitName};

use super::checked::{self, CheckArgs};
use crate::context::{Context, Unattended, unit_key};
use crate::failure::Result;
use crate::output::{Table, age, outcome_name, outcome_table};

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
        Change {
            message: self.message.clone().unwrap_or_default(),
            git: None,
            expect: self.expect.clone(),
            expect_live: None,
            on: self.on.unwrap_or_default(),
            release: !self.no_release,
            check: !self.check.no_check,
            dry_run: self.dry_run,
            puts,
            removes,
            deployment: None,
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
    if on == Base::Head {
        return Ok(Some("latest".to_owned()));
    }
    let live = context.client.app_version_get(&context.app, "live").await?;
    let held = live.objects.iter().find(|object| object.kind == key.kind && object.name == key.name);
    Ok(held.map(|object| object.number.to_string()))
}

/// The name of a unit, as an argument or as `--name`.
#[derive(Debug, Clone, Args)]
#[group(required = true, multiple = false)]
pub struct NameArgs {
    /// The name
    #[arg(value_name = "NAME")]
    pub positional: Option<String>,
    /// The name, as an option
    #[arg(long = "name", value_name = "NAME")]
    pub named: Option<String>,
}

impl NameArgs {
    pub fn get(&self) -> &str {
        self.positional.as_deref().or(self.named.as_deref()).unwrap_or_default()
    }

    pub fn key(&self, kind: UnitKind) -> Result<UnitKey> {
        unit_key(kind, self.get())
    }
}

pub fn put(name: UnitName, unit: UnitPut) -> Put {
    Put { name, label: None, description: None, group: None, force: false, only: None, unit }
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
    told_check(context, outcome).await
}

/// Shows the result of the release's check, below the outcome of the change.
pub async fn told_check(context: &Context<'_>, outcome: &ChangeOutcome) -> Result<()> {
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
    let mut found = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let page = context.client.unit_list(&context.app, Some(kind), 1000, cursor.as_deref()).await?;
        found.extend(page.items);
        cursor = page.next;
        if cursor.is_none() {
            return Ok(found);
        }
    }
}

/// Returns all units of the app, or none if the app does not exist.
pub async fn all_units(context: &Context<'_>) -> Result<Vec<Unit>> {
    let mut found = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let page = match context.client.unit_list(&context.app, None, 1000, cursor.as_deref()).await {
            Err(milepost_client::ClientError::Refused(problem)) if problem.code == "app_not_found" => return Ok(found),
            page => page?,
        };
        found.extend(page.items);
        cursor = page.next;
        if cursor.is_none() {
            return Ok(found);
        }
    }
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

/// `128Mi`, `1Gi`, `500M` or plain bytes; a bare number up to 65536 means MiB, as Fission's flags
/// do.
pub fn parse_memory(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let number: u64 =
        digits.parse().map_err(|_| format!("`{text}` is not an amount of memory; write it like `128Mi`"))?;
    let factor = match &text[digits.len()..] {
        "" if number <= 65_536 => 1 << 20,
        "" | "B" => 1,
        "K" | "k" => 1000,
        "Ki" => 1 << 10,
        "M" => 1_000_000,
        "Mi" => 1 << 20,
        "G" => 1_000_000_000,
        "Gi" => 1 << 30,
        other => return Err(format!("`{other}` is not a unit of memory; use Ki, Mi or Gi")),
    };
    number.checked_mul(factor).ok_or_else(|| format!("`{text}` is too large"))
}

/// `10s`, `500ms`, `5m`; a bare number means seconds.
pub fn parse_duration_ms(text: &str) -> Result<u64, String> {
    if let Ok(seconds) = text.parse::<u64>() {
        return Ok(seconds.saturating_mul(1000));
    }
    let length: jiff::SignedDuration =
        text.parse().map_err(|_| format!("`{text}` is not a duration; write it like `10s`"))?;
    u64::try_from(length.as_millis()).map_err(|_| format!("`{text}` is negative"))
}

/// `KEY=VALUE`
pub fn parse_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(format!("`{text}` is not a pair; write it like `KEY=VALUE`")),
    }
}

pub fn parse_permission(text: &str) -> Result<FunctionPermission, String> {
    match text {
        "public" => Ok(FunctionPermission::Public),
        "token" => Ok(FunctionPermission::Token),
        "internal" => Ok(FunctionPermission::Internal),
        _ => Err(format!("`{text}` is not a permission; use public, token or internal")),
    }
}
