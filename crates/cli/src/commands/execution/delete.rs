use clap::Args;

use crate::context::{Context, Unattended};
use crate::failure::Result;

/// Delete executions that have ended
#[derive(Debug, Args)]
pub struct DeleteArgs {
    /// Execution ids, from `execution list`
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
}

pub async fn run(context: &Context<'_>, args: DeleteArgs) -> Result<()> {
    let what = if args.ids.len() == 1 { "this execution".to_owned() } else { format!("{} executions", args.ids.len()) };
    context.confirm(&format!("Delete {what} of app {}?", context.app), Unattended::Proceed)?;
    for id in &args.ids {
        context.client.execution_delete(&context.app, id).await?;
        context.ui.say(&format!("Execution {id} deleted."));
    }
    Ok(())
}
