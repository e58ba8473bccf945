use clap::Args;
use milepost_model::release::LiveMode;
use milepost_model::snapshot::AppVersion;

use crate::context::Context;
use crate::failure::Result;
use crate::output::{Table, git_whole, local, printable};

/// Show an app version with all its units
///
/// Shows the git commit, the release, and each unit with its version.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// App version (uid or number), release, tag, `live`, `latest` or `head`
    #[arg(default_value = "head")]
    version: String,
}

pub async fn run(context: &Context<'_>, args: ShowArgs) -> Result<()> {
    let found = context.client.app_version_get(&context.app, &args.version).await?;
    let mode = context.client.live_get(&context.app).await?.mode;
    context.ui.show(&found, |found| vec![found.id.to_string()], |found| text(found, mode))
}

fn text(found: &AppVersion, mode: LiveMode) -> String {
    let mut lines = vec![format!("App version {} (number {})", found.id, found.number)];
    lines.push(format!("Created {} by {}: {}", local(found.created_at), found.created_by, printable(&found.message)));
    if let Some(git) = &found.git {
        lines.push(format!("Git     {}", git_whole(git)));
    }
    if let Some(release) = &found.release {
        lines.push(format!("Release {}", super::list_version::release_text(release, mode)));
    }
    let mut table = Table::new(["TYPE", "NAME", "VERSION", "NUMBER", "LABEL", "DIGEST"], "No units.");
    for object in &found.objects {
        let label = object.label.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
        table.row([
            object.kind.to_string(),
            object.name.to_string(),
            object.version.clone(),
            object.number.to_string(),
            label,
            object.digest.short(),
        ]);
    }
    lines.push(table.render());
    lines.join("\n")
}
