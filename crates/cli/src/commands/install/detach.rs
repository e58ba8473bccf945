use clap::Args;

use super::which;
use crate::context::Context;
use crate::failure::Result;

/// Stop following the channel and keep the app
///
/// The app stays as it is and is no longer an install: nothing upgrades it.
#[derive(Debug, Args)]
pub struct DetachArgs {
    /// The installed app [default: the only one]
    #[arg(value_name = "APP")]
    name: Option<String>,
}

pub async fn run(context: &Context<'_>, app: Option<&str>, args: DetachArgs) -> Result<()> {
    let app = which(context, args.name, app).await?;
    let install = context.client.install_detach(&app).await?;
    context.ui.show(
        &install,
        |install| vec![install.app.to_string()],
        |install| format!("App {} stays at {} and no longer follows a channel.", install.app, install.entry.version),
    )
}
