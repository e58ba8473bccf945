use clap::Args;
use milepost_model::UnitKind;
use milepost_model::change::UnitKey;

use crate::commands::shared::NameArgs;
use crate::context::Context;
use crate::failure::Result;
use crate::output::{Table, age};

/// List versions, newest first
#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    name: NameArgs,
    #[command(flatten)]
    page: PageArgs,
}

#[derive(Debug, Args)]
pub struct PageArgs {
    /// Maximum number of entries
    #[arg(long, default_value_t = 50)]
    limit: i64,
    /// Start after the previous page, at the cursor that it printed
    #[arg(long)]
    cursor: Option<String>,
}

pub async fn run(context: &Context<'_>, kind: UnitKind, args: ListArgs) -> Result<()> {
    show(context, &args.name.key(kind)?, args.page).await
}

pub async fn show(context: &Context<'_>, key: &UnitKey, args: PageArgs) -> Result<()> {
    let page = context.client.version_list(&context.app, key, args.limit, args.cursor.as_deref()).await?;
    let live = if context.ui.is_table() { number_in_live(context, key).await } else { None };
    let now = context.ui.now();
    context.ui.show(
        &page.items,
        |versions| versions.iter().map(|version| version.number.to_string()).collect(),
        |versions| {
            let mut table = Table::new(
                ["NUMBER", "UID", "LABEL", "DIGEST", "AGE", "ALIASES", "RELEASES", "DESCRIPTION"],
                "There are no versions.",
            );
            for version in versions {
                let dash = |text: String| if text.is_empty() { "-".to_owned() } else { text };
                let mut aliases: Vec<String> = version.aliases.iter().map(ToString::to_string).collect();
                if version.latest {
                    aliases.insert(0, "latest".to_owned());
                }
                if Some(version.number) == live {
                    aliases.insert(0, "live".to_owned());
                }
                table.row([
                    version.number.to_string(),
                    version.uid.clone(),
                    dash(version.label.as_ref().map(ToString::to_string).unwrap_or_default()),
                    version.digest.short(),
                    age(now, version.created_at),
                    dash(aliases.join(",")),
                    dash(version.releases.join(",")),
                    version.description.clone(),
                ]);
            }
            table.render()
        },
    )?;
    if let Some(next) = &page.next {
        context.ui.say(&format!("There are more: --cursor {next}"));
    }
    Ok(())
}

/// The version that users get now. Best effort: an app without a live release has none.
async fn number_in_live(context: &Context<'_>, key: &UnitKey) -> Option<i64> {
    let live = context.client.app_version_get(&context.app, "live").await.ok()?;
    let held = live.objects.iter().find(|object| object.kind == key.kind && object.name == key.name);
    held.map(|object| object.number)
}
