use clap::Args;
use milepost_client::ClientError;

use crate::context::Context;
use crate::failure::Result;
use crate::output::{Lines, write_data};

/// Show the output of a build
#[derive(Debug, Args)]
pub struct LogArgs {
    /// Build id, from `build list`
    #[arg(value_name = "ID")]
    id: String,
}

pub async fn run(context: &Context<'_>, args: LogArgs) -> Result<()> {
    let mut response = context.client.build_log(&context.app, &args.id).await?;
    let mut lines = Lines::default();
    while let Some(chunk) = response.chunk().await.map_err(ClientError::Broken)? {
        if !write_data(lines.push(&chunk).as_bytes())? {
            return Ok(());
        }
    }
    let rest = lines.end();
    if !rest.is_empty() {
        write_data(format!("{rest}\n").as_bytes())?;
    }
    Ok(())
}
