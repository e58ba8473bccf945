use clap::Args;

use super::{show, which};
use crate::context::Context;
use crate::failure::Result;

/// Show how an installed app stands, and what happens next
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// The app; the only one that is installed when left out
    #[arg(value_name = "APP")]
    name: Option<String>,
}

pub async fn run(context: &Context<'_>, app: Option<&str>, args: StatusArgs) -> Result<()> {
    let app = which(context, args.name, app).await?;
    show::one(context, &context.client.install_get(&app).await?)
}
