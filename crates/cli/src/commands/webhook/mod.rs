mod create;
mod delete;
mod get;
mod list;
mod rotate;
mod secret;
mod show;
mod update;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Result;

#[derive(Debug, Subcommand)]
pub enum WebhookCommand {
    /// Make an address that starts a function
    Create(create::CreateArgs),
    /// List webhooks
    List(list::ListArgs),
    /// Show a webhook
    Get(get::GetArgs),
    /// Change what a webhook runs, or whether calls are signed
    Update(update::UpdateArgs),
    /// Give a webhook a new secret
    Rotate(rotate::RotateArgs),
    /// Delete a webhook; what it has started stays
    Delete(delete::DeleteArgs),
}

pub async fn run(context: &Context<'_>, command: WebhookCommand) -> Result<()> {
    match command {
        WebhookCommand::Create(args) => create::run(context, args).await,
        WebhookCommand::List(args) => list::run(context, args).await,
        WebhookCommand::Get(args) => get::run(context, args).await,
        WebhookCommand::Update(args) => update::run(context, args).await,
        WebhookCommand::Rotate(args) => rotate::run(context, args).await,
        WebhookCommand::Delete(args) => delete::run(context, args).await,
    }
}
