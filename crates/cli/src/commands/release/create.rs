use clap::Args;

use crate::commands::checked::{self, CheckArgs};
use crate::context::Context;
use crate::failure::Result;
use crate::phrase;

/// Release an app version under a new id
///
/// Also releases an app version whose earlier release expired.
#[derive(Debug, Args)]
pub struct CreateArgs {
    /// An app version, or a release of it [default: the newest app version]
    version: Option<String>,
    /// The reason, for the history
    #[arg(short = 'm', long, default_value = "", hide_default_value = true)]
    why: String,
    #[command(flatten)]
    check: CheckArgs,
}

pub async fn run(context: &Context<'_>, args: CreateArgs) -> Result<()> {
    let done = context.client.release_create(&context.app, args.version, args.why, !args.check.no_check).await?;
    context.ui.show(
        &done,
        |done| vec![done.release.id.to_string()],
        |done| {
            let live = if done.release.live { ", live" } else { "" };
            let expired = if done.expired.is_empty() {
                String::new()
            } else {
                format!("\nExpired: release {}", done.expired.join(", "))
            };
            format!("Release {} of app version {}{live}{expired}", done.release.id, done.release.app_version)
        },
    )?;
    for warning in phrase::warnings(&context.app, &done.notices, &done.warnings) {
        context.ui.warn(&warning);
    }
    checked::tell(context, &done.release.check, Some(&done.release.id), true).await
}
