use clap::Args;

use crate::context::Context;
use crate::failure::Result;

/// Sweep now what nothing refers to
///
/// The server does this by itself every hour.
#[derive(Debug, Args)]
pub struct SweepArgs {}

pub async fn run(context: &Context<'_>, _args: SweepArgs) -> Result<()> {
    let swept = context.client.storage_sweep().await?;
    context.ui.show(
        &swept,
        |_| Vec::new(),
        |swept| {
            format!(
                "Swept {} ended executions, {} retired versions, {} contents, {} blobs ({} bytes), {} packs, and from this \
                 server's cache {} packages.",
                swept.executions,
                swept.versions,
                swept.contents,
                swept.blobs,
                swept.bytes,
                swept.packs,
                swept.packages
            )
        },
    )
}
