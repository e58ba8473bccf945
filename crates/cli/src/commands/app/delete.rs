use clap::Args;
use milepost_client::ClientError;
use milepost_model::{Code, Next};

use crate::args::slots::NameArgs;
use crate::context::Context;
use crate::failure::{Failure, Result};

/// Delete an app with all its versions and releases
#[derive(Debug, Args)]
pub struct DeleteArgs {
    #[command(flatten)]
    name: NameArgs,
}

pub async fn run(context: &Context<'_>, args: DeleteArgs) -> Result<()> {
    let found = context.client.app_get(args.name.name()).await;
    if let Err(ClientError::Refused(problem)) = &found
        && problem.code == Code::AppNotFound.as_str()
        && !problem.next.iter().any(|next| matches!(next, Next::DidYouMean { .. }))
    {
        // The server suggests creating the app, which does not fit a delete.
        return Err(Failure::new(&problem.detail).hint("run `milepost app list` to see the apps on this server"));
    }
    found?;
    let name = args.name.name();
    context.confirm_by_name(&format!("This deletes app {name} with all its versions and releases, for good."), name)?;
    context.client.app_delete(name).await?;
    context.ui.say(&format!("App {name} deleted."));
    Ok(())
}
