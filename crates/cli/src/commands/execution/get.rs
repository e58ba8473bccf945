use clap::Args;

use super::show;
use crate::context::Context;
use crate::failure::Result;

/// Show an execution
#[derive(Debug, Args)]
pub struct GetArgs {
    /// Execution id, from `execution list`
    #[arg(value_name = "ID")]
    id: String,
}

pub async fn run(context: &Context<'_>, args: GetArgs) -> Result<()> {
    show::one(context, &context.client.execution_get(&context.app, &args.id).await?)
}
