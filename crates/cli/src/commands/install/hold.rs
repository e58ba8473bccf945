use clap::Args;
use milepost_model::channel::SemVer;
use milepost_model::install::HoldInstall;

use super::{show, which};
use crate::context::Context;
use crate::failure::{Failure, Result};

/// Hold upgrades
///
/// No version is installed automatically until `milepost install lift`, or until the channel has a
/// version above the one of `--until-above`.
#[derive(Debug, Args)]
pub struct HoldArgs {
    /// The installed app [default: the only one]
    #[arg(value_name = "APP")]
    name: Option<String>,
    /// End the hold when the channel has a version above this one
    #[arg(long, value_name = "VERSION")]
    until_above: Option<String>,
    /// The reason, shown by `install status`
    #[arg(short = 'm', long, default_value = "", value_name = "TEXT", hide_default_value = true)]
    reason: String,
}

pub async fn run(context: &Context<'_>, app: Option<&str>, args: HoldArgs) -> Result<()> {
    let until_above = args.until_above.map(|text| text.parse::<SemVer>()).transpose();
    let until_above = until_above.map_err(|error| Failure::usage(error.to_string()))?;
    let app = which(context, args.name, app).await?;
    let hold = HoldInstall { until_above, reason: args.reason };
    show::one(context, &context.client.install_hold(&app, &hold).await?)
}
