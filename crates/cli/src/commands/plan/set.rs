use clap::Args;
use milepost_model::PlanName;

use crate::context::Context;
use crate::failure::Result;
use crate::phrase;

/// Change the app's plan
///
/// The limits of a smaller plan take effect with the next release.
#[derive(Debug, Args)]
pub struct SetArgs {
    /// The plan: free, standard or unlimited
    plan: PlanName,
}

pub async fn run(context: &Context<'_>, args: SetArgs) -> Result<()> {
    let done = context.client.app_set_plan(&context.app, args.plan).await?;
    context.ui.show(
        &done,
        |done| vec![done.app.plan.to_string()],
        |done| format!("App {} is on plan {}.", done.app.name, done.app.plan),
    )?;
    for warning in phrase::warnings(&context.app, &done.notices, &done.warnings) {
        context.ui.warn(&warning);
    }
    Ok(())
}
