use clap::Args;
use milepost_client::ClientError;
use milepost_model::Code;

use crate::context::{Context, Unattended};
use crate::failure::{Failure, Result};

/// Delete an app with everything in it
#[derive(Debug, Args)]
pub struct DeleteArgs {
    /// The app
    name: String,
}

pub async fn run(context: &Context<'_>, args: DeleteArgs) -> Result<()> {
    let found = context.client.app_get(&args.name).await;
    if let Err(ClientError::Refused(problem)) = &found
        && problem.code == Code::AppNotFound.as_str()
        && problem.hint.as_ref().is_none_or(|hint| !hint.starts_with("did you mean"))
    {
        // Whoever deletes it does not want to create it.
        return Err(Failure::new(problem.detail.trim_end_matches('.')).hint("`milepost app list` shows what exists"));
    }
    found?;
    context.confirm(&format!("Delete app {} with all its versions and releases?", args.name), Unattended::Refuse)?;
    context.client.app_delete(&args.name).await?;
    context.ui.say(&format!("App {} deleted.", args.name));
    Ok(())
}
