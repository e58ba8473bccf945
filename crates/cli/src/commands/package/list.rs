use clap::Args;

use super::KIND;
use crate::commands::shared::{self, cell};
use crate::context::Context;
use crate::failure::Result;

/// List packages
#[derive(Debug, Args)]
pub struct ListArgs {}

pub async fn run(context: &Context<'_>, _args: ListArgs) -> Result<()> {
    shared::list(context, KIND, "ENVIRONMENT", |spec| cell(&spec["environment"]["name"])).await
}
