//! Selects the installed app that a command applies to.

use crate::context::Context;
use crate::failure::{Failure, Result};

const SHOWN: i64 = 20;
const PAGE: i64 = 200;

/// Returns the named app, or the only installed one.
pub async fn which(context: &Context<'_>, positional: Option<String>, global: Option<&str>) -> Result<String> {
    if let Some(named) = positional.or_else(|| global.map(str::to_owned)) {
        return Ok(named);
    }
    let page = context.client.install_list(SHOWN, None).await?;
    match page.items.as_slice() {
        [] => {
            Err(Failure::new("there are no installed apps").hint("install one with `milepost install --channel URL`"))
        }
        [only] => Ok(only.app.to_string()),
        several => {
            let names: Vec<String> = several.iter().map(|install| install.app.to_string()).collect();
            let (mut next, mut more) = (page.next, 0);
            while let Some(cursor) = next {
                let page = context.client.install_list(PAGE, Some(&cursor)).await?;
                more += page.items.len();
                next = page.next;
            }
            let rest = if more == 0 { String::new() } else { format!(" and {more} more") };
            Err(Failure::usage(format!("several apps are installed: {}{rest}", names.join(", ")))
                .hint("name one of them; run `milepost install list` to see all"))
        }
    }
}
