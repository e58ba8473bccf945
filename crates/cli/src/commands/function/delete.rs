use clap::Args;
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
    let tell = |how: &str| {
        let points = |alias: &Alias| format!("{} (version {})", alias.name, alias.number);
        if !aliases.is_empty() {
            let list: Vec<String> = aliases.iter().map(points).collect();
            let but = "but for those that a release still follows";
            context.ui.say(&format!("Its aliases {how} with it, {but}: {}", list.join(", ")));
        }
    };
    // Whoever is asked must know before; otherwise it is told when nothing refused it.
    let asks = context.asks() && !args.change.dry_run;
    if asks {
        tell("go");
    }
    shared::remove(context, vec![key], &args.change).await?;
    if !asks {
        tell(if args.change.dry_run { "would go" } else { "went" });
    }
    Ok(())
}
