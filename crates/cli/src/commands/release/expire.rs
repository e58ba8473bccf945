use clap::Args;

use crate::context::{Context, Unattended};
use crate::failure::Result;

/// Expire a release that is neither live nor tagged
#[derive(Debug, Args)]
pub struct ExpireArgs {
    /// The release
    release: String,
    /// The reason, for the history
    #[arg(short = 'm', long, default_value = "", hide_default_value = true)]
    why: String,
}

pub async fn run(context: &Context<'_>, args: ExpireArgs) -> Result<()> {
    context.confirm(&format!("Expire release {}?", args.release), Unattended::Proceed)?;
    let release = context.client.release_expire(&context.app, &args.release, args.why).await?;
    context.ui.show(
        &release,
        |release| vec![release.id.to_string()],
        |release| format!("Expired release {}.", release.id),
    )
}
