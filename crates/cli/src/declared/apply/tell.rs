//! Messages of an apply other than its result.

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

/// How many ignored files are listed.
const NAMED: usize = 5;

/// The build command of each package that has to be built. Packages without one run their source,
/// and are removed from the builds.
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

/// Prints warnings about the folder.
pub fn warnings(ui: &Ui, declared: &Declared) {
    for warning in &declared.warnings {
        ui.warn(&format!("{}: {}", warning.place, warning.message));
        if let Some(hint) = &warning.hint {
            ui.hint(hint);
        }
    }
}

/// Prints the deployment of a folder that does not specify it.
pub fn unnamed(ui: &Ui, declared: &Declared) {
    if declared.is_unnamed {
        let (id, folder) = (printable(&declared.deployment.id), declared.origin.display());
        ui.say(&format!("No DeploymentConfig in `{folder}`; its units belong to deployment {id}."));
    }
}

/// A warning with its location and hint on one line.
pub fn in_a_line(Problem { place, message, hint }: &Problem) -> String {
    let hint = hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("{place}: {message}{hint}")
}

/// Prints how much was uploaded, and what was ignored.
pub fn sent(ui: &Ui, sent: &UploadSummary, trees: &Trees) {
    let UploadSummary { files_sent, bytes_sent, .. } = *sent;
    if files_sent > 0 {
        let files = if files_sent == 1 { "file" } else { "files" };
        ui.say(&format!("Uploaded {files_sent} {files} ({bytes_sent} bytes)"));
        ignored(ui, trees);
    }
}

/// Prints what ignore files excluded, on one line.
pub fn ignored(ui: &Ui, trees: &Trees) {
    let Ignored { count, first } = trees.ignored();
    if count > 0 {
        let named: Vec<String> = first.iter().take(NAMED).map(|path| printable(path)).collect();
        let more = count.saturating_sub(named.len() as u64);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        ui.say(&format!("Excluded by ignore files: {}{more}", named.join(", ")));
    }
}

/// The plan for an app that does not exist, made without the server.
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
    // The server creates the built-in environments that are used before these.
    let needs_one = |key: &UnitKey| matches!(key.kind, UnitKind::Package | UnitKind::Function);
    for Reference { key, .. } in &declared.references {
        if key.kind == UnitKind::Environment && !keys.contains(key) {
            let at = keys.iter().position(needs_one).unwrap_or(keys.len());
            keys.insert(at, key.clone());
        }
    }
    // A package with a deployment is not built.
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

/// Prints what an apply did or would do.
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

/// Adds the app option to the command in a hint of the server, which does not know the user's
/// default app.
fn about_the_app(warning: &str, option: &str) -> String {
    const COMMAND: &str = "`milepost secret set ";
    match warning.split_once(COMMAND).and_then(|(before, rest)| Some((before, rest.split_once('`')?))) {
        Some((before, (name, after))) if !name.contains("--app") => format!("{before}{COMMAND}{name}{option}`{after}"),
        _ => warning.to_owned(),
    }
}

pub const UP_TO_DATE: &str = "Everything up to date.";
