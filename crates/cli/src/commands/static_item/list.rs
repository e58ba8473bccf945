use clap::Args;
use milepost_model::UnitKind;

use crate::commands::shared::{self, cell};
use crate::context::Context;
use crate::failure::Result;

/// List static items
#[derive(Debug, Args)]
pub struct ListArgs {}

pub async fn run(context: &Context<'_>, _args: ListArgs) -> Result<()> {
    shared::list(context, UnitKind::Static, "TREE", |spec| cell(&spec["tree"]).chars().take(19).collect()).await
}
