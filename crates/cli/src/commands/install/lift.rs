use clap::Args;
use milepost_model::channel::SemVer;
use milepost_model::install::LiftInstall;

use super::{show, which};
use crate::context::Context;
use crate::failure::{Failure, Result};

/// Lift a hold and allow skipped versions again
#[derive(Debug, Args)]
pub struct LiftArgs {
    /// The installed app [default: the only one]
    #[arg(value_name = "APP")]
    name: Option<String>,
    /// Only this version, and the hold that its rollback caused
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
}

pub async fn run(context: &Context<'_>, app: Option<&str>, args: LiftArgs) -> Result<()> {
    let version = args.version.map(|text| text.parse::<SemVer>()).transpose();
    let version = version.map_err(|error| Failure::usage(error.to_string()))?;
    let app = which(context, args.name, app).await?;
    show::one(context, &context.client.install_lift(&app, &LiftInstall { version }).await?)
}
