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
    /// Create a URL that runs a function
    Create(create::CreateArgs),
    /// List webhooks
    List(list::ListArgs),
    /// Show a webhook
    Get(get::GetArgs),
    /// Change what a webhook runs, or whether calls must be signed
    Update(update::UpdateArgs),
    /// Replace the secret of a webhook
    Rotate(rotate::RotateArgs),
    /// Delete a webhook, but not the executions that it started
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
