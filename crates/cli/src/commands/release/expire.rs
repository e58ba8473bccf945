use clap::Args;

use crate::context::{Context, Unattended};
use crate::failure::Result;

/// Expire a release that nothing protects
#[derive(Debug, Args)]
pub struct ExpireArgs {
    /// The release
    release: String,
    /// Why, for the history
    #[arg(short = 'm', long, default_value = "")]
    why: String,
}

pub async fn run(context: &Context<'_>, args: ExpireArgs) -> Result<()> {
    context.confirm(&format!("Expire release {}?", args.release), Unattended::Proceed)?;
    let release = context.client.release_expire(&context.app, &args.release, args.why).await?;
    context.ui.show(
        &release,
        |release| vec![release.id.to_string()],
        |release| format!("Release {} has expired.", release.id),
    )
}
