use clap::Args;

use super::which;
use crate::context::Context;
use crate::failure::Result;

/// Keep the app as it is, and let go of its channel
///
/// It is an app like any other from then on, and nothing upgrades it.
#[derive(Debug, Args)]
pub struct DetachArgs {
    /// The app; the only one that is installed when left out
    #[arg(value_name = "APP")]
    name: Option<String>,
}

pub async fn run(context: &Context<'_>, app: Option<&str>, args: DetachArgs) -> Result<()> {
    let app = which(context, args.name, app).await?;
    let install = context.client.install_detach(&app).await?;
    context.ui.show(
        &install,
        |install| vec![install.app.to_string()],
        |install| format!("App {} stays at {} and follows nothing.", install.app, install.entry.version),
    )
}
