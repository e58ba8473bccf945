//! Versions of the configuration. Unlike for other units there is no name: an app has one
//! configuration.

use clap::{Args, Subcommand};
use milepost_model::UnitKind;

use crate::commands::version::{describe, get, list};
use crate::context::{Context, unit_key};
use crate::failure::Result;

#[derive(Debug, Subcommand)]
pub enum VersionCommand {
    /// List the versions, newest first
    List(list::PageArgs),
    /// Show a version
    Get(OneArgs),
    /// Edit the description of a version
    Describe(DescribeArgs),
}

#[derive(Debug, Args)]
pub struct OneArgs {
    /// Version: `latest`, a number, a uid, a label or `sha256:…`
    #[arg(long, value_name = "VERSION", default_value = "latest")]
    version: String,
}

#[derive(Debug, Args)]
pub struct DescribeArgs {
    #[command(flatten)]
    one: OneArgs,
    /// New description
    #[arg(long, value_name = "TEXT")]
    description: String,
}

pub async fn run(context: &Context<'_>, command: VersionCommand) -> Result<()> {
    let key = unit_key(UnitKind::Config, "config")?;
    match command {
        VersionCommand::List(args) => list::show(context, &key, args).await,
        VersionCommand::Get(args) => {
            let version = context.client.version_get(&context.app, &key, &args.version).await?;
            get::show(context, &version, |version| version.number.to_string())
        }
        VersionCommand::Describe(args) => describe::edit(context, &key, &args.one.version, &args.description).await,
    }
}
