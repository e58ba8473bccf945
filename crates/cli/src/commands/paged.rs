//! Paged lists.

use clap::Args;
use milepost_client::api::Page;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Result;
use crate::output::Table;

/// Selects a page of a list.
#[derive(Debug, Args)]
pub struct PageArgs {
    /// Maximum number of entries
    #[arg(long, default_value_t = 50)]
    pub limit: i64,
    /// Start after the previous page, at the cursor that it printed
    #[arg(long)]
    pub cursor: Option<String>,
}

/// Shows a page, and the cursor of the next one. `what` is the plural for the message of an empty
/// page.
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
