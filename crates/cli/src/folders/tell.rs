//! Messages about a folder and the result of its apply.

use milepost_client::source::Ignored;
use milepost_declared::apply::Applied;
use milepost_declared::{Declared, Problem};

use super::phrase::{app_option, hint};
use crate::context::Context;
use crate::failure::Result;
use crate::output::{Ui, outcome_name, plan_table, printable};

/// How many ignored files are listed.
const NAMED: usize = 5;

/// Prints warnings about the folder.
pub fn warnings(ui: &Ui, declared: &Declared) {
    for warning in &declared.warnings {
        ui.warn(&format!("{}: {}", warning.place, warning.message));
        if let Some(hint) = hint(warning) {
            ui.hint(&hint);
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
pub fn in_a_line(problem: &Problem) -> String {
    let Problem { place, message, .. } = problem;
    let hint = hint(problem).map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("{place}: {message}{hint}")
}

/// Prints what ignore files excluded, on one line.
pub fn ignored(ui: &Ui, Ignored { count, first }: &Ignored) {
    if *count > 0 {
        let named: Vec<String> = first.iter().take(NAMED).map(|path| printable(path)).collect();
        let more = count.saturating_sub(named.len() as u64);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        ui.say(&format!("Excluded by ignore files: {}{more}", named.join(", ")));
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
