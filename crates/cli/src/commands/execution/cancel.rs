use clap::Args;

use super::show;
use crate::context::Context;
use crate::failure::Result;

/// Cancel a queued or running execution
///
/// A queued execution ends at once. A running function is notified that no caller is waiting, and
/// its result is discarded.
#[derive(Debug, Args)]
pub struct CancelArgs {
    /// Execution id, from `execution list`
    #[arg(value_name = "ID")]
    id: String,
}

pub async fn run(context: &Context<'_>, args: CancelArgs) -> Result<()> {
    show::one(context, &context.client.execution_cancel(&context.app, &args.id).await?)
}
