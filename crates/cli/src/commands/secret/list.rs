use clap::Args;
use milepost_model::UnitKind;

use crate::commands::shared;
use crate::context::Context;
use crate::failure::Result;

/// List secrets, without their values
#[derive(Debug, Args)]
pub struct ListArgs {}

pub async fn run(context: &Context<'_>, _args: ListArgs) -> Result<()> {
    shared::list(context, UnitKind::Secret, "VALUE", |_| "(sealed)".to_owned()).await
}
