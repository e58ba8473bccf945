//! Lists that come in pages.

use clap::Args;
use milepost_client::api::Page;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Result;
use crate::output::Table;

/// Which part of a list is wanted.
#[derive(Debug, Args)]
pub struct PageArgs {
    /// How many
    #[arg(long, default_value_t = 50)]
    pub limit: i64,
    /// Where the page before ended
    #[arg(long)]
    pub cursor: Option<String>,
}

/// Shows a page in the form that was asked for, and how to go on. `what` is what the app has none of when the page is empty.
pub fn show<T: Serialize, const N: usize>(
    context: &Context<'_>,
    page: &Page<T>,
    what: &str,
    headers: [&str; N],
    name: impl Fn(&T) -> String,
    row: impl Fn(&T) -> [String; N],
) -> Result<()> {
    context.ui.show(
        &page.items,
        |items| items.iter().map(name).collect(),
        |items| {
            let mut table = Table::new(headers, &format!("App {} has no {what}.", context.app));
            items.iter().for_each(|item| table.row(row(item)));
            table.render()
        },
    )?;
    if let Some(next) = &page.next {
        context.ui.say(&format!("There are more: --cursor {next}"));
    }
    Ok(())
}
