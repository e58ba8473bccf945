use clap::Args;

use crate::context::Context;
use crate::failure::Result;
use crate::folders::spinner;

/// Delete unreferenced data now
///
/// The server does this automatically every hour.
#[derive(Debug, Args)]
pub struct SweepArgs {}

pub async fn run(context: &Context<'_>, _args: SweepArgs) -> Result<()> {
    let waiting = spinner(context.ui, "Looking for data that nothing uses");
    let swept = context.client.storage_sweep().await;
    drop(waiting);
    let swept = swept?;
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
