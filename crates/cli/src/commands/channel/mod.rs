//! The author's side of channels. `publish`, `unpublish` and `bundle` share `place.rs`.

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
    Key(key::KeyArgs),
    Show(show::ShowArgs),
    List(list::ListArgs),
}

pub async fn run(ui: &Ui, global: &Global, command: ChannelCommand) -> Result<()> {
    match command {
        ChannelCommand::Key(args) => key::run(ui, args),
        ChannelCommand::Show(args) => show::run(ui, global, args).await,
        ChannelCommand::List(args) => list::run(ui, global, args).await,
    }
}
