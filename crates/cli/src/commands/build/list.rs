use clap::Args;

use super::{length, state};
use crate::context::Context;
use crate::failure::Result;
use crate::output::{Table, age, printable};

/// List the builds of the app, newest first
///
/// A build is kept for 30 days after its last use.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Maximum number of builds to list
    #[arg(long, default_value_t = 20)]
    limit: i64,
    /// Start after the previous page, at the cursor that it printed
    #[arg(long)]
    cursor: Option<String>,
}

pub async fn run(context: &Context<'_>, args: ListArgs) -> Result<()> {
    let page = context.client.build_list(&context.app, args.limit, args.cursor.as_deref()).await?;
    let now = context.ui.now();
    let empty = format!("App {} has no builds.", context.app);
    context.ui.show(
        &page.items,
        |builds| builds.iter().map(|build| build.id.clone()).collect(),
        |builds| {
            let mut table = Table::new(["ID", "PACKAGE", "STATE", "TOOK", "AGE", "COMMAND"], &empty);
            for build in builds {
                table.row([
                    build.id.clone(),
                    build.package.to_string(),
                    state(build).to_owned(),
                    length(build),
                    age(now, build.started_at),
                    printable(&build.command),
                ]);
            }
            table.render()
        },
    )?;
    if let Some(next) = &page.next {
        context.ui.say(&format!("There are more: --cursor {next}"));
    }
    Ok(())
}
