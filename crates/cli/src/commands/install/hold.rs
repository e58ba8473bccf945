use clap::Args;
use milepost_model::channel::SemVer;
use milepost_model::install::HoldInstall;

use super::{show, which};
use crate::context::Context;
use crate::failure::{Failure, Result};

/// Hold upgrades
///
/// Nothing is installed by itself until `milepost install lift`, or until there is a version above the one that is given.
#[derive(Debug, Args)]
pub struct HoldArgs {
    /// The app; the only one that is installed when left out
    #[arg(value_name = "APP")]
    name: Option<String>,
    /// Until the channel has a version above this one
    #[arg(long, value_name = "VERSION")]
    until_above: Option<String>,
    /// Why, for those who wonder
    #[arg(short = 'm', long, default_value = "", value_name = "TEXT")]
    reason: String,
}

pub async fn run(context: &Context<'_>, app: Option<&str>, args: HoldArgs) -> Result<()> {
    let until_above = args.until_above.map(|text| text.parse::<SemVer>()).transpose();
    let until_above = until_above.map_err(|error| Failure::usage(error.to_string()))?;
    let app = which(context, args.name, app).await?;
    let hold = HoldInstall { until_above, reason: args.reason };
    show::one(context, &context.client.install_hold(&app, &hold).await?)
}
