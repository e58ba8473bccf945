use clap::Args;
use milepost_model::UnitKind;
use milepost_model::change::UnitKey;

use crate::args::slots::VersionArgs;
use crate::context::Context;
use crate::failure::Result;

/// Edit the description of a version, its only editable field
#[derive(Debug, Args)]
pub struct DescribeArgs {
    #[command(flatten)]
    version: VersionArgs,
    /// The new description
    #[arg(long, value_name = "TEXT")]
    description: String,
}

pub async fn run(context: &Context<'_>, kind: UnitKind, args: DescribeArgs) -> Result<()> {
    edit(context, &args.version.key(kind)?, args.version.version(), &args.description).await
}

pub async fn edit(context: &Context<'_>, key: &UnitKey, version: &str, description: &str) -> Result<()> {
    let version = context.client.version_describe(&context.app, key, version, description).await?;
    super::get::show(context, &version, |version| version.number.to_string())
}
