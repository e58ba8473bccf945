use clap::Args;
use milepost_client::api::SetLive;

use crate::commands::app::live_text;
use crate::context::Context;
use crate::failure::Result;

/// Pin live to a release, or let live follow new releases
#[derive(Debug, Args)]
pub struct LiveArgs {
    /// A release, a tag or `latest`; without it, show what is live
    release: Option<String>,
    /// Let live follow the newest release again
    #[arg(long, conflicts_with = "release")]
    follow: bool,
    /// Put the release live even if its functions did not load or are still being checked
    #[arg(long, requires = "release")]
    force: bool,
    /// The reason, for the history
    #[arg(short = 'm', long, default_value = "", hide_default_value = true)]
    why: String,
}

pub async fn run(context: &Context<'_>, args: LiveArgs) -> Result<()> {
    let live = if args.release.is_none() && !args.follow {
        context.client.live_get(&context.app).await?
    } else {
        let target = SetLive { release: args.release, follow: args.follow, force: args.force, why: args.why };
        context.client.live_set(&context.app, &target).await?
    };
    let name =
        |live: &milepost_model::release::Live| live.release.iter().map(|release| release.id.to_string()).collect();
    context.ui.show(&live, name, |live| format!("Live: {}", live_text(live)))
}
