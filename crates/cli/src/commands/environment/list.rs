use clap::Args;
use milepost_model::UnitKind;
use milepost_model::spec::BUILT_IN_ENVIRONMENTS;

use crate::commands::shared::{self, cell};
use crate::context::Context;
use crate::failure::Result;

/// List the environments of the app
#[derive(Debug, Args)]
pub struct ListArgs {}

pub async fn run(context: &Context<'_>, _args: ListArgs) -> Result<()> {
    shared::list(context, UnitKind::Environment, "RUNTIME", |spec| cell(&spec["runtime"])).await?;
    let built_in: Vec<String> = BUILT_IN_ENVIRONMENTS.iter().map(|(name, _)| (*name).to_owned()).collect();
    context.ui.say(&format!("Built in, added to the app on first use: {}", built_in.join(", ")));
    Ok(())
}
