use clap::Args;
use milepost_model::{AppName, PlanName};

use crate::args::slots::AppNameArgs;
use crate::context::Context;
use crate::failure::Result;

/// Create an app
#[derive(Debug, Args)]
pub struct CreateArgs {
    #[command(flatten)]
    name: AppNameArgs,
    /// Plan: free, standard or unlimited
    #[arg(long, default_value = "standard")]
    plan: PlanName,
}

pub async fn run(context: &Context<'_>, args: CreateArgs) -> Result<()> {
    let name: AppName = args.name.name().parse()?;
    let app = context.client.app_create(&name, args.plan).await?;
    context.ui.show(
        &app,
        |app| vec![app.name.to_string()],
        |app| format!("App {} created, plan {}.", app.name, app.plan),
    )
}
