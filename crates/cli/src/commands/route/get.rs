use clap::Args;
use milepost_model::UnitKind;

use crate::commands::shared::{self, NameArgs};
use crate::context::Context;
use crate::failure::Result;

/// Show a route
#[derive(Debug, Args)]
pub struct GetArgs {
    #[command(flatten)]
    name: NameArgs,
}

pub async fn run(context: &Context<'_>, args: GetArgs) -> Result<()> {
    shared::get(context, &args.name.key(UnitKind::Route)?).await
}
