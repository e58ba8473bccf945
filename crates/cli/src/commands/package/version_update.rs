use clap::Args;

use super::KIND;
use super::put::PackageArgs;
use crate::commands::shared::{ChangeArgs, NameArgs};
use crate::context::Context;
use crate::failure::Result;
use crate::folders;

/// Create a new version, changing only what is given
///
/// Functions stay on the package version that they are pinned to. Move them with `milepost function
/// version update --pkg`.
#[derive(Debug, Args)]
pub struct UpdateArgs {
    #[command(flatten)]
    name: NameArgs,
    #[command(flatten)]
    package: PackageArgs,
    #[command(flatten)]
    change: ChangeArgs,
}

pub async fn run(context: &Context<'_>, args: UpdateArgs) -> Result<()> {
    let (put, files) = args.package.put(args.name.key(KIND)?.name, true).await?;
    folders::send(context, args.change.change(vec![put], Vec::new()), files).await
}
