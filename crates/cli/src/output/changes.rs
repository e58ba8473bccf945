//! What a change did, unit by unit.

use std::collections::BTreeMap;

use milepost_model::base::LeftOut;
use milepost_model::change::{UnitAction, UnitKey, UnitOutcome};
use milepost_model::{ChangeOutcome, UnitKind, UnitName};

use super::{Ui, printable, reason_lines};

/// Above this many, unchanged units are folded into one line.
const UNCHANGED: usize = 20;

fn key(unit: &UnitOutcome) -> String {
    UnitKey { kind: unit.kind, name: unit.name.clone() }.to_string()
}

pub fn outcome_name(outcome: &ChangeOutcome) -> Vec<String> {
    let created =
        outcome.versions.iter().filter(|unit| matches!(unit.action, UnitAction::Created | UnitAction::Updated));
    created.map(|unit| format!("{}/{}@{}", unit.kind, unit.name, unit.number.unwrap_or_default())).collect()
}

/// One line a unit, then the app version and the release.
pub fn outcome_table(outcome: &ChangeOutcome) -> String {
    plan_table(outcome, &BTreeMap::new())
}

/// The outcome of a dry run. `commands` holds the build command of each package that has one.
pub fn plan_table(outcome: &ChangeOutcome, commands: &BTreeMap<UnitName, String>) -> String {
    let mut lines = Vec::new();
    let is_unchanged = |unit: &&UnitOutcome| unit.action == UnitAction::Unchanged;
    let unchanged = outcome.versions.iter().filter(is_unchanged).count();
    let folds = !outcome.dry_run && unchanged > UNCHANGED;
    let listed: Vec<&UnitOutcome> = outcome.versions.iter().filter(|unit| !(folds && is_unchanged(unit))).collect();
    let width = listed.iter().map(|unit| key(unit).chars().count()).max().unwrap_or(0);
    for unit in listed {
        let version = unit.number.map(|number| format!("version {number}")).unwrap_or_default();
        // The uid of a dry run is not shown: the real change gets a different one.
        let is_new = matches!(unit.action, UnitAction::Created | UnitAction::Updated);
        let uid = unit.uid.as_ref().filter(|_| !(outcome.dry_run && is_new));
        let uid = uid.map(|uid| format!(" (uid {uid})")).unwrap_or_default();
        let label = unit.label.as_ref().map(|label| format!(" {label}")).unwrap_or_default();
        let verb = match (unit.action, outcome.dry_run) {
            (UnitAction::Created, false) => "created",
            (UnitAction::Created, true) => "would be created:",
            (UnitAction::Updated, false) => "new",
            (UnitAction::Updated, true) => "would get a new",
            (UnitAction::Unchanged, _) => "unchanged at",
            (UnitAction::Removed, false) => "removed",
            (UnitAction::Removed, true) => "would be removed",
            (UnitAction::Deleted, false) => "deleted",
            (UnitAction::Deleted, true) => "would lose",
            (UnitAction::Reverted, false) => "back at",
            (UnitAction::Reverted, true) => "would go back to",
        };
        lines.push(format!("{:width$}  {verb} {version}{label}{uid}", key(unit)).trim_end().to_owned());
        if outcome.dry_run {
            lines.extend(reason_lines(unit.kind, &unit.reasons).into_iter().map(|line| format!("    {line}")));
            lines.extend(build_line(outcome, unit, commands));
        }
    }
    if folds {
        lines.push(format!("{unchanged} units unchanged"));
    }
    if !outcome.changed {
        lines.push(if outcome.dry_run { "Everything up to date." } else { "Nothing changed." }.to_owned());
        return lines.join("\n");
    }
    if outcome.dry_run {
        lines.push("This was a dry run: nothing was changed.".to_owned());
    } else if let Some(app_version) = &outcome.app_version {
        lines.push(match &outcome.release {
            Some(release) => {
                let live = if release.live { ", live" } else { "" };
                format!("App version {app_version}, release {}{live}", release.id)
            }
            None => format!("App version {app_version}, not released"),
        });
    }
    lines.extend(left_out(outcome));
    if !outcome.expired.is_empty() {
        let verb = if outcome.dry_run { "Would expire" } else { "Expired" };
        lines.push(format!("{verb}: release {}", outcome.expired.join(", ")));
    }
    lines.join("\n")
}

/// Differences between head and live that a change on live does not include.
fn left_out(outcome: &ChangeOutcome) -> Vec<String> {
    if outcome.left_out.is_empty() {
        return Vec::new();
    }
    let head = if outcome.dry_run { "Would be left out (not live):" } else { "Left out (not live):" };
    let line = |left: &LeftOut| {
        let key = UnitKey { kind: left.kind, name: left.name.clone() };
        match (left.head, left.live) {
            (Some(head), Some(live)) => format!("  {key} version {head} (live has version {live})"),
            (Some(head), None) => format!("  {key} version {head} (not in live)"),
            (None, live) => format!("  the removal of {key} (live has version {})", live.unwrap_or_default()),
        }
    };
    std::iter::once(head.to_owned()).chain(outcome.left_out.iter().map(line)).collect()
}

fn build_line(outcome: &ChangeOutcome, unit: &UnitOutcome, commands: &BTreeMap<UnitName, String>) -> Option<String> {
    if unit.kind != UnitKind::Package || !outcome.builds.contains(&unit.name) {
        return None;
    }
    let command = commands.get(&unit.name).map_or("with the build command of its environment", String::as_str);
    Some(format!("    would be built: {}", printable(command)))
}

/// Prints the effects of a removal, before the confirmation.
pub fn plan_text(outcome: &ChangeOutcome, ui: &Ui) {
    for unit in &outcome.versions {
        let what = key(unit);
        let number = unit.number.unwrap_or_default();
        match unit.action {
            UnitAction::Deleted => ui.say(&format!("  {what} version {number} is deleted")),
            UnitAction::Reverted => ui.say(&format!("  {what} goes back to version {number}")),
            UnitAction::Removed => ui.say(&format!("  {what} is removed from the app")),
            _ => {}
        }
    }
    for release in &outcome.expired {
        ui.say(&format!("  release {release} expires"));
    }
}
