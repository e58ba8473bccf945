use clap::Args;
use milepost_model::GitFacts;
use milepost_model::release::Release;
use serde::Serialize;

use crate::commands::app::release_text;
use crate::commands::checked;
use crate::context::Context;
use crate::failure::Result;
use crate::output::{git_whole, local, printable};

/// Show a release
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// A release, a tag, `live`, `latest`, or the uid of an app version
    release: String,
}

/// A release, with message and git facts of its app version.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    release: Release,
    message: String,
    git: Option<GitFacts>,
}

pub async fn run(context: &Context<'_>, args: ShowArgs) -> Result<()> {
    let live = context.client.live_get(&context.app).await?;
    let release = context.client.release_get(&context.app, &args.release).await?;
    let version = context.client.app_version_get(&context.app, &release.app_version).await?;
    let shown = Shown { release, message: version.message, git: version.git };
    context.ui.show(
        &shown,
        |shown| vec![shown.release.id.clone()],
        |Shown { release, message, git }| {
            let mut lines = vec![
                format!("Release:     {}", release_text(release, live.mode)),
                format!("App version: {}: {}", release.app_version, printable(message)),
                format!("Created:     {} by {}", local(release.created_at), release.created_by),
            ];
            if !release.check.is_none() {
                lines.push(format!("Check:       {}", release.check.state.as_str()));
                lines.extend(checked::lines(&release.check).iter().map(|line| format!("  {line}")));
            }
            lines.extend(git.as_ref().map(|git| format!("Git:         {}", git_whole(git))));
            lines.extend(release.expired_at.map(|at| format!("Expired:     {}", local(at))));
            lines.extend(release.urls.iter().map(|url| format!("URL:         {url}")));
            lines.join("\n")
        },
    )
}
