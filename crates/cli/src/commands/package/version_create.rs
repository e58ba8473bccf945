use clap::Args;

use super::KIND;
use super::put::PackageArgs;
use crate::commands::shared::{ChangeArgs, NameArgs};
use crate::context::Context;
use crate::failure::Result;
use crate::folders;

/// Create a version, and the package if it does not exist
///
/// Creates a version even if nothing changed.
#[derive(Debug, Args)]
pub struct CreateArgs {
    #[command(flatten)]
    name: NameArgs,
    #[command(flatten)]
    package: PackageArgs,
    #[command(flatten)]
    change: ChangeArgs,
}

pub async fn run(context: &Context<'_>, args: CreateArgs) -> Result<()> {
    let (put, files) = args.package.put(args.name.key(KIND)?.name, false).await?;
    folders::send(context, args.change.change(vec![put], Vec::new()), files).await
}
