use std::collections::BTreeSet;

use clap::Args;
use milepost_client::api::App;
use milepost_model::check::CheckState;
use milepost_model::release::{LiveMode, Release, ReleaseState};
use milepost_model::snapshot::AppVersion;

use crate::context::Context;
use crate::failure::Result;
use crate::output::{git_short, local, printable};

/// List the app versions and their releases, newest first
#[derive(Debug, Args)]
pub struct ListVersionArgs {
    /// Maximum number of app versions to list
    #[arg(long, default_value_t = 20)]
    limit: i64,
    /// Start after the previous page, at the cursor that it printed
    #[arg(long)]
    cursor: Option<String>,
}

pub async fn run(context: &Context<'_>, args: ListVersionArgs) -> Result<()> {
    let app = context.client.app_get(&context.app).await?;
    let page = context.client.app_version_list(&context.app, args.limit, args.cursor.as_deref()).await?;
    context.ui.show(
        &page.items,
        |items| items.iter().map(|item| item.id.to_string()).collect(),
        |items| text(&app, items),
    )?;
    if let Some(next) = &page.next {
        context.ui.say(&format!("There are more: --cursor {next}"));
    }
    Ok(())
}

fn text(app: &App, items: &[AppVersion]) -> String {
    let mut lines = vec![format!("App name: {}", app.name)];
    let remotes: BTreeSet<&String> = items.iter().filter_map(|item| item.git.as_ref()?.remote.as_ref()).collect();
    lines.extend(remotes.into_iter().map(|remote| format!("Git remote: {}", printable(remote))));
    lines.push("App versions:".to_owned());
    let width = items.iter().map(|item| printable(&item.message).chars().count()).max().unwrap_or(0);
    for item in items {
        let release = item
            .release
            .as_ref()
            .map(|release| format!(" Release {}", release_text(release, app.live.mode)))
            .unwrap_or_default();
        let git = item.git.as_ref().map(|git| {
            // Without a message, the git subject becomes the message. Do not print it twice.
            let subject = git.subject.as_ref().filter(|subject| **subject != item.message);
            let subject = subject.map(|subject| format!(": {}", printable(subject))).unwrap_or_default();
            format!(" | git {}{subject}", git_short(git))
        });
        let line = format!("{} {} {:width$} |{release}", item.id, local(item.created_at), printable(&item.message));
        lines.push(line + &git.unwrap_or_default());
    }
    lines.join("\n")
}

/// `qwerty, latest, tag: beta, tag: live (following)`
pub fn release_text(release: &Release, mode: LiveMode) -> String {
    let mut parts = vec![release.id.clone()];
    if release.state == ReleaseState::Expired {
        parts.push("expired".to_owned());
    }
    match release.check.state {
        CheckState::Failed => parts.push("check failed".to_owned()),
        CheckState::Pending => parts.push("being checked".to_owned()),
        CheckState::None | CheckState::Passed | CheckState::Skipped => {}
    }
    if release.latest {
        parts.push("latest".to_owned());
    }
    parts.extend(release.tags.iter().map(|tag| format!("tag: {tag}")));
    if release.live {
        parts.push(match mode {
            LiveMode::Following => "tag: live (following)".to_owned(),
            LiveMode::Pinned => "tag: live (pinned)".to_owned(),
        });
    }
    parts.join(", ")
}
