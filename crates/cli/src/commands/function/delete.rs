use clap::Args;
use milepost_model::change::UnitKey;
use milepost_model::pointer::Alias;

use super::KIND;
use crate::commands::shared::{self, ChangeArgs, NameArgs};
use crate::context::Context;
use crate::failure::Result;

/// Delete a function
///
/// Takes it out of the app with its aliases. Releases that hold it go on serving it, so that a mistake can be rolled back.
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
    // Which of them an active release still needs is decided with the change itself.
    if !aliases.is_empty() && (args.change.dry_run || context.asks()) {
        let points = |alias: &Alias| format!("{} (version {})", alias.name, alias.number);
        let list: Vec<String> = aliases.iter().map(points).collect();
        let how = if args.change.dry_run { "would go" } else { "go" };
        let but = "those that a route of an active release follows stay until it expires";
        context.ui.say(&format!("Its aliases {how} with it, {but}: {}", list.join(", ")));
    }
    shared::remove(context, vec![key.clone()], &args.change).await?;
    if !aliases.is_empty() && !args.change.dry_run {
        tell(context, &key, &aliases).await?;
    }
    Ok(())
}

/// Tells what became of the aliases, as the history has it.
async fn tell(context: &Context<'_>, key: &UnitKey, aliases: &[Alias]) -> Result<()> {
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
        context.ui.say(&format!("Its aliases went with it: {}", list(&gone)));
    }
    if !kept.is_empty() {
        context.ui.say(&format!("Kept until the releases expire whose routes follow them: {}", list(&kept)));
    }
    Ok(())
}
