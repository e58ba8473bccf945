use clap::Args;

use crate::context::Context;
use crate::failure::Result;

/// Delete unreferenced data now
///
/// The server does this automatically every hour.
#[derive(Debug, Args)]
pub struct SweepArgs {}

pub async fn run(context: &Context<'_>, _args: SweepArgs) -> Result<()> {
    let swept = context.client.storage_sweep().await?;
    context.ui.show(
        &swept,
        |_| Vec::new(),
        |swept| {
            format!(
                "Deleted {} finished executions, {} retired versions, {} contents, {} blobs ({} bytes), {} packs, and {} \
                 packages from this server's cache.",
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
