mod create;
mod expire;
mod history;
mod list;
mod live;
mod show;
mod tag;
mod untag;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Result;

#[derive(Debug, Subcommand)]
pub enum ReleaseCommand {
    /// List releases, newest first
    List(list::ListArgs),
    /// Show a release
    Show(show::ShowArgs),
    /// Pin live to a release, or let live follow new releases
    Live(live::LiveArgs),
    /// Put a tag on a release
    Tag(tag::TagArgs),
    /// Remove a tag
    Untag(untag::UntagArgs),
    /// Release an app version under a new id
    Create(create::CreateArgs),
    /// Expire a release
    #[command(visible_alias = "delete")]
    Expire(expire::ExpireArgs),
    /// Show the moves of live, latest or a tag
    History(history::HistoryArgs),
}

pub async fn run(context: &Context<'_>, command: ReleaseCommand) -> Result<()> {
    match command {
        ReleaseCommand::List(args) => list::run(context, args).await,
        ReleaseCommand::Show(args) => show::run(context, args).await,
        ReleaseCommand::Live(args) => live::run(context, args).await,
        ReleaseCommand::Tag(args) => tag::run(context, args).await,
        ReleaseCommand::Untag(args) => untag::run(context, args).await,
        ReleaseCommand::Create(args) => create::run(context, args).await,
        ReleaseCommand::Expire(args) => expire::run(context, args).await,
        ReleaseCommand::History(args) => history::run(context, args).await,
    }
}
