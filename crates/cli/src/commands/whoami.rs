use clap::Args;

use crate::context::Context;
use crate::failure::Result;

/// Show the name and role of the current token, and the server
#[derive(Debug, Args)]
pub struct WhoamiArgs {}

pub async fn run(context: &Context<'_>, _args: WhoamiArgs) -> Result<()> {
    let who = context.client.whoami().await?;
    let server = context.client.server().origin().ascii_serialization();
    context.ui.show(
        &who,
        |who| vec![who.name.to_string()],
        |who| {
            let apps = who.app.as_ref().map_or_else(|| "all apps".to_owned(), |app| format!("app {app}"));
            format!("{} ({}) for {apps} at {server}, Milepost {}", who.name, who.role, who.server)
        },
    )
}
