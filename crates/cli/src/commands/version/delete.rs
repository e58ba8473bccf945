use clap::Args;
use milepost_model::UnitKind;

use crate::args::slots::DeletedArgs;
use crate::commands::checked::CheckArgs;
use crate::context::{Context, Unattended};
use crate::failure::Result;
use crate::output::{outcome_name, outcome_table, plan_text};
use crate::phrase;

/// Delete a version, or all versions
///
/// Fails while an alias, a tagged release, a pinned live or a pinned trigger uses the version.
/// Untagged releases with this version expire. If it is the app's current version, the app goes
/// back to the newest remaining one.
#[derive(Debug, Args)]
pub struct DeleteArgs {
    #[command(flatten)]
    version: DeletedArgs,
    /// Show what would be deleted, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    check: CheckArgs,
}

pub async fn run(context: &Context<'_>, kind: UnitKind, args: DeleteArgs) -> Result<()> {
    let key = args.version.key(kind)?;
    let plan = context.client.version_delete(&context.app, &key, args.version.version(), true, false).await?;
    if args.dry_run {
        return context.ui.show(&plan, outcome_name, outcome_table);
    }
    if !context.yes && context.ui.can_ask() {
        context.ui.say("Deleting has these effects:");
        plan_text(&plan, context.ui);
    }
    context.confirm("Continue?", Unattended::Proceed)?;
    let outcome =
        context.client.version_delete(&context.app, &key, args.version.version(), false, args.check.no_check).await?;
    let outcome = phrase::outcome(&context.app, outcome);
    context.ui.show(&outcome, outcome_name, outcome_table)?;
    for warning in &outcome.warnings {
        context.ui.warn(warning);
    }
    Ok(())
}
