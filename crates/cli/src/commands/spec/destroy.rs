use clap::Args;
use milepost_client::ClientError;
use milepost_declared::{apply, fission};
use milepost_model::change::{Declaration, UnitAction};

use super::FolderArgs;
use crate::args::Global;
use crate::commands::deploy::agreed_app;
use crate::commands::shared::{ChangeArgs, report_check};
use crate::context::{Context, Unattended};
use crate::failure::Result;
use crate::folders::mistakes;
use crate::output::{Ui, outcome_name, outcome_table, plan_text};
use crate::phrase;

/// Remove the units that a folder of specs created
///
/// One change removes all units of this folder from the app. Units of other deployments are kept,
/// and so are packages and environments that they still need. Active releases continue to serve the
/// removed units.
#[derive(Debug, Args)]
pub struct DestroyArgs {
    #[command(flatten)]
    folder: FolderArgs,
    /// Also remove secrets of the deployment
    #[arg(long)]
    prune_secrets: bool,
    #[command(flatten)]
    change: ChangeArgs,
}

pub async fn run(ui: &Ui, global: &Global, args: DestroyArgs) -> Result<()> {
    // Only the deployment is needed here: mistakes elsewhere in the folder are ignored.
    let (declared, errors) = fission::look_at_folder(&args.folder.specdir)?;
    if !errors.is_empty() && declared.is_unnamed {
        // The document that cannot be read may be the one that names the deployment.
        return Err(mistakes(errors, declared.warnings));
    }
    let context = Context::new(ui, &agreed_app(global, &declared)?)?;
    let mut change = args.change.change(Vec::new(), Vec::new());
    // A deployment that declares nothing: its units are removed.
    change.deployment = Some(Declaration {
        id: declared.deployment.id.clone(),
        name: declared.deployment.name.clone(),
        claims: Vec::new(),
        prune_secrets: args.prune_secrets,
        allow_conflicts: false,
    });
    change.git = apply::git_facts(&declared.folder, &[]).await;
    change.dry_run = true;
    let nothing = || ui.say(&format!("Deployment {} has no units in app {}.", declared.deployment.name, context.app));
    let plan = match context.client.change(&context.app, &change, None).await {
        Err(ClientError::Refused(problem)) if problem.code == "app_not_found" => {
            nothing();
            return Ok(());
        }
        plan => phrase::outcome(&context.app, plan?),
    };
    if args.change.dry_run {
        return ui.show(&plan, outcome_name, outcome_table);
    }
    if !plan.changed {
        plan.warnings.iter().for_each(|warning| ui.warn(warning));
        nothing();
        return Ok(());
    }
    if context.asks() {
        ui.say(&format!("Deployment {} in app {}:", declared.deployment.name, context.app));
        plan_text(&plan, ui);
    }
    let count = plan.versions.iter().filter(|unit| unit.action == UnitAction::Removed).count();
    let units = if count == 1 { "unit" } else { "units" };
    context.confirm(&format!("Remove {count} {units} from app {}?", context.app), Unattended::Refuse)?;
    change.dry_run = false;
    let outcome = context.change(&change).await?;
    ui.show(&outcome, outcome_name, outcome_table)?;
    outcome.warnings.iter().for_each(|warning| ui.warn(warning));
    report_check(&context, &outcome).await
}
