use clap::Args;
use milepost_model::change::UnitKey;
use milepost_model::pointer::Alias;

use super::KIND;
use crate::commands::shared::{self, ChangeArgs, NameArgs};
use crate::context::Context;
use crate::failure::Result;

/// Delete a function and its aliases; existing releases keep serving it
///
/// Removes the function from the app. Releases that contain it are not affected, so a mistaken
/// delete can be rolled back.
#[derive(Debug, Args)]
pub struct DeleteArgs {
    #[command(flatten)]
    name: NameArgs,
    #[command(flatten)]
    change: ChangeArgs,
}

pub async fn run(context: &Context<'_>, args: DeleteArgs) -> Result<()> {
    let key = args.name.key(KIND)?;
    let aliases = context.client.alias_list(&context.app, key.name.as_str()).await?;
    // Only the change itself decides which aliases an active release still needs.
    if !aliases.is_empty() && (args.change.dry_run || context.asks()) {
        let points = |alias: &Alias| format!("{} (version {})", alias.name, alias.number);
        let list: Vec<String> = aliases.iter().map(points).collect();
        let how = if args.change.dry_run { "would be deleted" } else { "are deleted" };
        let but = "an alias that a route of an active release follows is kept until the release expires";
        context.ui.say(&format!("Its aliases {how} too: {} ({but})", list.join(", ")));
    }
    shared::remove(context, vec![key.clone()], &args.change).await?;
    if !aliases.is_empty() && !args.change.dry_run {
        report_aliases(context, &key, &aliases).await?;
    }
    Ok(())
}

/// Reports which aliases were deleted and which were kept, from the app's history.
async fn report_aliases(context: &Context<'_>, key: &UnitKey, aliases: &[Alias]) -> Result<()> {
    let most = i64::try_from(aliases.len()).unwrap_or(i64::MAX).saturating_add(100).min(1000);
    let events = context.client.event_list(&context.app, most, None).await?.items;
    let is_gone = |alias: &&Alias| {
        let subject = format!("alias {} of {key}", alias.name);
        let newest = events.iter().find(|event| event.subject == subject);
        newest.is_some_and(|event| event.kind == "alias.deleted")
    };
    let (gone, kept): (Vec<&Alias>, Vec<&Alias>) = aliases.iter().partition(is_gone);
    let list = |aliases: &[&Alias]| {
        let points: Vec<String> =
            aliases.iter().map(|alias| format!("{} (version {})", alias.name, alias.number)).collect();
        points.join(", ")
    };
    if !gone.is_empty() {
        context.ui.say(&format!("Aliases deleted with it: {}", list(&gone)));
    }
    if !kept.is_empty() {
        context.ui.say(&format!("Aliases kept until the releases whose routes follow them expire: {}", list(&kept)));
    }
    Ok(())
}
