//! Names of the jobs and webhooks that started executions.

use std::collections::{BTreeSet, HashMap};

use milepost_model::execution::{CauseKind, Execution};

use crate::db::{Tx, Val, placeholders};
use crate::error::Result;

/// Rows per statement.
const CHUNK: usize = 400;
/// Maximum number of characters shown of a webhook's description, which may be long.
const SHOWN: usize = 60;

/// Fills in the names of causes that have one and still exist.
pub(super) async fn with_names(tx: &mut Tx, executions: &mut [Execution]) -> Result<()> {
    for (kind, sql) in [
        (CauseKind::Job, "SELECT id, name FROM jobs WHERE name <> '' AND id IN"),
        (CauseKind::Webhook, "SELECT id, description FROM webhooks WHERE description <> '' AND id IN"),
    ] {
        let of_kind = executions.iter().filter(|execution| execution.cause.kind == kind);
        let ids: BTreeSet<&str> = of_kind.filter_map(|execution| execution.cause.id.as_deref()).collect();
        let ids: Vec<Val> = ids.into_iter().map(Val::from).collect();
        let mut names: HashMap<String, String> = HashMap::new();
        for chunk in ids.chunks(CHUNK) {
            for row in tx.query(&format!("{sql} ({})", placeholders(chunk.len(), 1)), chunk).await? {
                names.insert(row.text(0)?, short(&row.text(1)?));
            }
        }
        for execution in executions.iter_mut().filter(|execution| execution.cause.kind == kind) {
            execution.cause.name = execution.cause.id.as_ref().and_then(|id| names.get(id).cloned());
        }
    }
    Ok(())
}

/// Returns the first line, shortened.
fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_descriptions_are_cut_to_their_first_line() {
        assert_eq!(short("pushes of the shop\nsee the wiki"), "pushes of the shop");
        assert_eq!(short(&"ü".repeat(61)), format!("{}…", "ü".repeat(60)));
        assert_eq!(short(&"ü".repeat(60)), "ü".repeat(60));
    }
}
