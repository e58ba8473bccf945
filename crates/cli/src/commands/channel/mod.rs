//! Channels from the author's side. `publish`, `unpublish` and `bundle` stand beside this and share `place.rs`.

mod key;
mod list;
pub mod place;
mod show;
pub mod tell_app;

use clap::Subcommand;

use crate::args::Global;
use crate::failure::Result;
use crate::output::Ui;

#[derive(Debug, Subcommand)]
pub enum ChannelCommand {
    /// Make the key that signs your channels, or show its public half
    Key(key::KeyArgs),
    /// List the versions of a channel, newest first
    Show(show::ShowArgs),
    /// List the channels of a server, a folder or a bucket
    #[command(visible_alias = "ls")]
    List(list::ListArgs),
}

pub async fn run(ui: &Ui, global: &Global, command: ChannelCommand) -> Result<()> {
    match command {
        ChannelCommand::Key(args) => key::run(ui, args),
        ChannelCommand::Show(args) => show::run(ui, global, args).await,
        ChannelCommand::List(args) => list::run(ui, global, args).await,
    }
}
