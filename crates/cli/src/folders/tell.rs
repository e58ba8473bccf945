//! Messages about a folder and the result of its apply.

use milepost_client::source::Ignored;
use milepost_declared::apply::Applied;
use milepost_declared::{Declared, Problem};

use super::phrase::hint;
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
    for warning in &outcome.warnings {
        context.ui.warn(warning);
    }
    Ok(())
}

pub const UP_TO_DATE: &str = "Everything up to date.";
