use clap::Args;

use super::KIND;
use crate::commands::shared::{self, NameArgs};
use crate::context::Context;
use crate::failure::Result;

/// Show a package
#[derive(Debug, Args)]
pub struct GetArgs {
    #[command(flatten)]
    name: NameArgs,
}

pub async fn run(context: &Context<'_>, args: GetArgs) -> Result<()> {
    shared::get(context, &args.name.key(KIND)?).await
}
