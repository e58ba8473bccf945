use clap::Args;
use milepost_client::api::NewToken;
use milepost_model::{AppName, Role};

use crate::commands::shared::NameArgs;
use crate::context::Context;
use crate::failure::{Failure, Result};

/// Create a token
///
/// The token is printed once; the server stores only its hash. With `--only APP` (or `--app APP`)
/// it has access to that app only, otherwise to all apps. `MILEPOST_APP` and the current folder are
/// ignored.
#[derive(Debug, Args)]
pub struct CreateArgs {
    #[command(flatten)]
    name: NameArgs,
    /// The role: reader, invoker, operator, deployer or admin
    ///
    /// An operator moves pointers, and a deployer changes code.
    #[arg(long, value_name = "ROLE")]
    role: Role,
    /// Give access to this app only
    #[arg(long, value_name = "APP")]
    only: Option<AppName>,
}

pub async fn run(context: &Context<'_>, args: CreateArgs) -> Result<()> {
    let app = confined_to(args.only, context.app_in_so_many_words.clone())?;
    let token =
        context.client.token_create(&NewToken { name: args.name.name().to_owned(), role: args.role, app }).await?;
    context.ui.show(
        &token,
        |token| token.token.clone().into_iter().collect(),
        |token| token.token.clone().unwrap_or_default(),
    )?;
    let scope = match &token.app {
        Some(app) => format!("for app {app}"),
        None => "for all apps (use `--only APP` to limit it to one)".to_owned(),
    };
    context.ui.say(&format!("Token {}, role {}, {scope}.", token.name, token.role));
    context.ui.say("Save it now: it is not shown again.");
    Ok(())
}

/// Treats `--app` like `--only`: a token created with `--app shop` must not give access to all
/// apps.
fn confined_to(only: Option<AppName>, app: Option<AppName>) -> Result<Option<AppName>> {
    match (only, app) {
        (Some(only), Some(app)) if only != app => {
            Err(Failure::usage(format!("`--only {only}` and `--app {app}` name different apps"))
                .hint("give only `--only`; a token is for one app or for all apps"))
        }
        (only, app) => Ok(only.or(app)),
    }
}
