use clap::Args;
use milepost_client::api::NewToken;
use milepost_model::{AppName, Role};

use crate::context::Context;
use crate::failure::Result;

/// Create a token
///
/// It is printed once; the server keeps only its hash.
#[derive(Debug, Args)]
pub struct CreateArgs {
    /// A name to know it by
    name: String,
    /// reader, invoker, operator (moves pointers), deployer (changes code) or admin
    #[arg(long, value_name = "ROLE")]
    role: Role,
    /// Good for this app only
    #[arg(long, value_name = "APP")]
    only: Option<AppName>,
}

pub async fn run(context: &Context<'_>, args: CreateArgs) -> Result<()> {
    let token = context.client.token_create(&NewToken { name: args.name, role: args.role, app: args.only }).await?;
    context.ui.show(
        &token,
        |token| token.token.clone().into_iter().collect(),
        |token| token.token.clone().unwrap_or_default(),
    )?;
    context.ui.say("Keep it: it is not shown again.");
    Ok(())
}
