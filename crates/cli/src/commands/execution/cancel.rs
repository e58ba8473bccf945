use clap::Args;

use super::show;
use crate::context::Context;
use crate::failure::Result;

/// End an execution that is queued or runs
///
/// A queued one ends at once. The function of a running one is told that nobody waits any more, and its result does not count.
#[derive(Debug, Args)]
pub struct CancelArgs {
    /// Its id, as `execution list` has it
    #[arg(value_name = "ID")]
    id: String,
}

pub async fn run(context: &Context<'_>, args: CancelArgs) -> Result<()> {
    show::one(context, &context.client.execution_cancel(&context.app, &args.id).await?)
}
