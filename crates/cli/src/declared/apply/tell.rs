//! What an apply says besides what it did.

use std::collections::BTreeMap;

use milepost_client::UploadSummary;
use milepost_client::source::Ignored;
use milepost_model::change::{Change, UnitAction, UnitKey, UnitOutcome};
use milepost_model::check::ReleaseCheck;
use milepost_model::{ChangeOutcome, plan::Reason};
use milepost_model::{UnitKind, UnitName};

use super::environments::Environments;
use super::scan::Trees;
use super::{Applied, draft};
use crate::context::Context;
use crate::declared::{Declared, Problem, Reference, app_option};
use crate::failure::Result;
use crate::output::{Ui, outcome_name, plan_table, printable};

/// What ignore files left out is named as long as it is so few.
const NAMED: usize = 5;

/// What would build each package that has to be built. Where there is nothing to run, the source is what runs, and nothing is
/// told to be built.
pub fn commands(
    plan: &mut ChangeOutcome,
    change: &Change,
    trees: &Trees,
    environments: &Environments,
) -> BTreeMap<UnitName, String> {
    let mut commands = BTreeMap::new();
    for name in &plan.builds {
        let Some((package, Some(source))) = draft::package(&change.puts, name) else { continue };
        let Some(scanned) = trees.with_root(source) else { continue };
        if let Some(command) = draft::command(package, environments, &scanned.source) {
            commands.insert(name.clone(), command);
        }
    }
    plan.builds.retain(|name| commands.contains_key(name));
    commands
}

/// What was read and is not as it should be, but stops nothing.
pub fn warnings(ui: &Ui, declared: &Declared) {
    for warning in &declared.warnings {
        ui.warn(&format!("{}: {}", warning.place, warning.message));
        if let Some(hint) = &warning.hint {
            ui.hint(hint);
        }
    }
}

/// For whom a folder speaks that does not say it itself.
pub fn unnamed(ui: &Ui, declared: &Declared) {
    if declared.is_unnamed {
        let (id, folder) = (printable(&declared.deployment.id), declared.origin.display());
        ui.say(&format!("No DeploymentConfig in `{folder}`: what it makes belongs to deployment {id}."));
    }
}

/// A warning with its place and what to do, for those who print warnings as they are.
pub fn in_a_line(Problem { place, message, hint }: &Problem) -> String {
    let hint = hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("{place}: {message}{hint}")
}

/// How much was sent, and what was not.
pub fn sent(ui: &Ui, sent: &UploadSummary, trees: &Trees) {
    let UploadSummary { files_sent, bytes_sent, .. } = *sent;
    if files_sent > 0 {
        let files = if files_sent == 1 { "file" } else { "files" };
        ui.say(&format!("{files_sent} {files} sent ({bytes_sent} bytes)"));
        ignored(ui, trees);
    }
}

/// What ignore files left out, in a line.
pub fn ignored(ui: &Ui, trees: &Trees) {
    let Ignored { count, first } = trees.ignored();
    if count > 0 {
        let named: Vec<String> = first.iter().take(NAMED).map(|path| printable(path)).collect();
        let more = count.saturating_sub(named.len() as u64);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        ui.say(&format!("Left out by ignore files: {}{more}", named.join(", ")));
    }
}

/// The plan for an app that does not exist: nobody to ask, and nothing to compare with.
pub fn all_new(declared: &Declared, change: &Change) -> ChangeOutcome {
    let created = |key: UnitKey| UnitOutcome {
        kind: key.kind,
        name: key.name,
        action: UnitAction::Created,
        number: Some(1),
        uid: None,
        label: None,
        digest: None,
        reasons: vec![Reason::New],
    };
    let mut keys: Vec<UnitKey> = declared.keys().collect();
    // The server makes the built-in environments that something names, before that.
    let needs_one = |key: &UnitKey| matches!(key.kind, UnitKind::Package | UnitKind::Function);
    for Reference { key, .. } in &declared.references {
        if key.kind == UnitKind::Environment && !keys.contains(key) {
            let at = keys.iter().position(needs_one).unwrap_or(keys.len());
            keys.insert(at, key.clone());
        }
    }
    // What comes with what runs is not built.
    let is_source = |name: &UnitName| {
        let found = draft::package(&change.puts, name);
        found.is_some_and(|(package, source)| source.is_some() && package.deployment.is_none())
    };
    let packages = declared.keys().filter(|key| key.kind == UnitKind::Package);
    ChangeOutcome {
        changed: true,
        dry_run: true,
        app_version: None,
        versions: keys.into_iter().map(created).collect(),
        release: None,
        check: ReleaseCheck::default(),
        expired: Vec::new(),
        builds: packages.map(|key| key.name).filter(is_source).collect(),
        taken_over: Vec::new(),
        left_out: Vec::new(),
        hand_edits: Vec::new(),
        warnings: Vec::new(),
    }
}

/// Prints what an apply did, or would do.
pub fn outcome(context: &Context<'_>, applied: &Applied, more: impl FnOnce() -> Vec<String>) -> Result<()> {
    let outcome = &applied.outcome;
    context.ui.show(outcome, outcome_name, |_| {
        if !outcome.changed && !outcome.dry_run {
            return UP_TO_DATE.to_owned();
        }
        let mut lines = vec![plan_table(outcome, &applied.commands)];
        lines.extend(more());
        lines.join("\n")
    })?;
    let option = app_option(&context.app);
    for warning in &outcome.warnings {
        context.ui.warn(&about_the_app(warning, &option));
    }
    Ok(())
}

/// The server does not know what the user's next command would be about: its hint gets the option that names the app.
fn about_the_app(warning: &str, option: &str) -> String {
    const COMMAND: &str = "`milepost secret set ";
    match warning.split_once(COMMAND).and_then(|(before, rest)| Some((before, rest.split_once('`')?))) {
        Some((before, (name, after))) if !name.contains("--app") => format!("{before}{COMMAND}{name}{option}`{after}"),
        _ => warning.to_owned(),
    }
}

pub const UP_TO_DATE: &str = "Everything up to date.";
