//! Versions of the configuration. Unlike for other units there is no name: an app has one
//! configuration.

use clap::{Args, Subcommand};
use milepost_model::UnitKind;

use crate::args::slots::ConfigVersionArgs;
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
    #[command(flatten)]
    version: ConfigVersionArgs,
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
            let version = context.client.version_get(&context.app, &key, args.version.version()).await?;
            get::show(context, &version, |version| version.number.to_string())
        }
        VersionCommand::Describe(args) => {
            describe::edit(context, &key, args.one.version.version(), &args.description).await
        }
    }
}
