use clap::Args;

use crate::context::Context;
use crate::failure::Result;
use crate::output::{Table, local};

/// List tokens
#[derive(Debug, Args)]
pub struct ListArgs {}

pub async fn run(context: &Context<'_>, _args: ListArgs) -> Result<()> {
    let tokens = context.client.token_list().await?;
    context.ui.show(
        &tokens,
        |tokens| tokens.iter().map(|token| token.name.to_string()).collect(),
        |tokens| {
            let mut table = Table::new(["NAME", "ROLE", "APP", "CREATED", "BY"], "There are no tokens.");
            for token in tokens {
                let app = token.app.clone().unwrap_or_else(|| "(all)".to_owned());
                table.row([
                    token.name.clone(),
                    token.role.to_string(),
                    app,
                    local(token.created_at),
                    token.created_by.clone(),
                ]);
            }
            table.render()
        },
    )
}
