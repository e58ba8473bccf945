use clap::Args;

use super::{show, which};
use crate::context::Context;
use crate::failure::Result;

/// Show the state of an installed app and its next upgrade
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// The installed app [default: the only one]
    #[arg(value_name = "APP")]
    name: Option<String>,
}

pub async fn run(context: &Context<'_>, app: Option<&str>, args: StatusArgs) -> Result<()> {
    let app = which(context, args.name, app).await?;
    show::one(context, &context.client.install_get(&app).await?)
}
