use clap::Args;

use crate::commands::app::release_text;
use crate::context::Context;
use crate::failure::Result;
use crate::output::local;

/// Show a release
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// A release, a tag, `live`, `latest`, or the uid of an app version
    release: String,
}

pub async fn run(context: &Context<'_>, args: ShowArgs) -> Result<()> {
    let live = context.client.live_get(&context.app).await?;
    let release = context.client.release_get(&context.app, &args.release).await?;
    context.ui.show(
        &release,
        |release| vec![release.id.to_string()],
        |release| {
            let expired = release.expired_at.map(|at| format!("\nExpired:     {}", local(at))).unwrap_or_default();
            format!(
                "Release:     {}\nApp version: {}\nCreated:     {} by {}{expired}",
                release_text(release, live.mode),
                release.app_version,
                local(release.created_at),
                release.created_by
            )
        },
    )
}
