use clap::Args;

use super::list::table;
use crate::context::Context;
use crate::failure::Result;

/// Show the app's plan
#[derive(Debug, Args)]
pub struct GetArgs {}

pub async fn run(context: &Context<'_>, _args: GetArgs) -> Result<()> {
    let limits = context.client.app_get(&context.app).await?.plan.limits();
    context.ui.show(&limits, |limits| vec![limits.plan.to_string()], |limits| table(std::slice::from_ref(limits)))
}
