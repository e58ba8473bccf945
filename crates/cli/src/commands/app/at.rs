use clap::Args;
use milepost_client::api::AtMoment;

use crate::context::Context;
use crate::failure::Result;
use crate::output::{Table, git_whole, local, parse_moment};

/// Show the exact versions that were live at a point in time
#[derive(Debug, Args)]
pub struct AtArgs {
    /// Time: `now`, `2h ago`, `2026-11-10 12:00` (local) or `2026-11-10T12:00:00Z`
    #[arg(required = true, num_args = 1..)]
    time: Vec<String>,
}

pub async fn run(context: &Context<'_>, args: AtArgs) -> Result<()> {
    let moment = parse_moment(&args.time.join(" "), context.ui.now())?;
    let found = context.client.at(&context.app, &moment.to_string()).await?;
    context.ui.show(&found, |found| vec![found.release.id.to_string()], text)
}

fn text(found: &AtMoment) -> String {
    let mut lines = vec![format!(
        "At {} release {} was live, since {}.",
        local(found.at),
        found.release.id,
        local(found.live_since)
    )];
    let version = &found.app_version;
    lines.push(format!(
        "App version {} of {} by {}: {}",
        version.id,
        local(version.created_at),
        version.created_by,
        version.message
    ));
    if let Some(git) = &version.git {
        lines.push(format!("Git {}", git_whole(git)));
    }
    let mut table = Table::new(["TYPE", "NAME", "VERSION", "NUMBER", "DIGEST"], "The app had no units.");
    for object in &found.objects {
        table.row([
            object.kind.to_string(),
            object.name.to_string(),
            object.version.clone(),
            object.number.to_string(),
            object.digest.short(),
        ]);
    }
    lines.push(table.render());
    for alias in &found.aliases {
        lines.push(format!("Alias {} of {} pointed at version {}", alias.name, alias.function, alias.number));
    }
    lines.join("\n")
}
