use clap::Args;
use milepost_model::install::InstallChange;

use super::settings::SettingsArgs;
use super::{show, which};
use crate::context::Context;
use crate::failure::Result;

/// Change when upgrades come, and other settings
///
/// What is not given stays. An empty `--window ''`, `--deny ''`, `--health ''` or `--key ''` takes it away. Without options
/// it shows what is set.
#[derive(Debug, Args)]
pub struct PolicyArgs {
    /// The app; the only one that is installed when left out
    #[arg(value_name = "APP")]
    name: Option<String>,
    #[command(flatten)]
    settings: SettingsArgs,
}

pub async fn run(context: &Context<'_>, app: Option<&str>, args: PolicyArgs) -> Result<()> {
    let app = which(context, args.name, app).await?;
    let install = context.client.install_get(&app).await?;
    if args.settings.is_empty() {
        return show::one(context, &install);
    }
    let settings = args.settings.over(install.settings)?;
    let change = InstallChange {
        policy: Some(settings.policy),
        windows: Some(settings.windows),
        rollback_holds: Some(settings.rollback_holds),
        health: Some(settings.health.map_or_else(String::new, |health| health.to_string())),
        health_deadline_s: Some(settings.health_deadline_s),
        poll_s: Some(settings.poll_s),
        key: args.settings.key()?,
        overrides: args.settings.overrides()?,
    };
    show::one(context, &context.client.install_change(&app, &change).await?)
}
